"""Keys of the engine processes: memory and cache, slots and batches, threads, transport. Root-only (D26).

0, "" and absent leave a setting to the engine; which of them a build knows is decided when its command line is compiled.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from blazar.application.config.knob import Keys, Knob, Words

CacheType = Literal["", "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class MemoryKeys(Keys):
    """Key-value cache and how weights are read."""

    title: ClassVar[str] = "Memory and cache"

    cache_type: Annotated[CacheType, Knob(per_model=True)] = ""
    """Number format of the key-value cache."""
    cache_type_k: Annotated[CacheType, Knob(per_model=True)] = ""
    """Number format of the keys alone; wins over cache_type, and is used for the values too where nothing else is set."""
    cache_type_v: Annotated[CacheType, Knob(per_model=True)] = ""
    """Number format of the values alone; the counterpart of cache_type_k."""
    kv_unified: Annotated[bool | None, Knob(per_model=True)] = None
    """One cache shared by all slots instead of one a slot; unset: shared as soon as there is more than one slot."""
    swa_full: bool = False
    """Keep the full cache for layers with a sliding window, so that prompts can be reused at any position."""
    context_shift: bool = False
    """Drop the oldest tokens when the window is full instead of ending the answer."""
    load_mode: Literal["", "mmap", "mlock", "direct-io"] = ""
    """How weights get into memory: mapped, mapped and pinned, or read around the page cache."""


class SlotKeys(Keys):
    """How many requests a child works on, and in what portions."""

    title: ClassVar[str] = "Slots and batches"

    slots: Annotated[int, Field(ge=0), Knob(per_model=True)] = 0
    """Requests that one child computes at the same time; 0: chosen at load time."""
    batch_size: Annotated[int, Field(ge=0)] = 0
    """Most tokens in one logical batch of a prompt."""
    ubatch_size: Annotated[int, Field(ge=0)] = 0
    """Most tokens computed at once. More than the engine's own figure was measured to be slower; leave it alone."""
    cont_batching: bool | None = None
    """Whether new requests join a running batch."""
    warmup: Annotated[bool, Knob(per_model=True)] = True
    """Run one empty pass after loading, so that the first answer is not the slow one."""


class ProcessKeys(Keys):
    """Threads, environment and the private connection to a child."""

    title: ClassVar[str] = "Engine processes"

    threads: Annotated[int, Field(ge=0)] = 0
    """Threads that compute; 0: the physical cores that this process may use (D23)."""
    threads_batch: Annotated[int, Field(ge=0)] = 0
    """Threads that compute prompts; 0: as threads."""
    threads_http: Annotated[int, Field(ge=0)] = 0
    """Threads that a child answers requests with."""
    sse_ping_interval: Annotated[int, Field(ge=-1)] | None = None
    """Seconds between keep-alive comments in a silent stream, the engine's and ours (unset: 30 and 15); -1 turns them off."""
    engine_env: dict[EnvironmentName, str] = {}  # noqa: RUF012 - pydantic copies a default
    """Environment variables for engine processes and for asking them what they can do."""
    preload: Annotated[Words, Knob(env=("BLAZAR_PRELOAD",))] = ()
    """Models to load at start, one after the other; one that fails is reported and left out."""
