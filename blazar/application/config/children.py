"""Keys of the engine processes: memory and cache, slots and batches, processors, requests. Root-only (D26).

0, "" and absent leave a setting to the engine; which of them a build knows is decided when its command line is compiled.
"""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from blazar.application.config.knob import Keys, Knob, Words, shaped

CacheType = Literal["", "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _object(value: Any) -> Any:
    """A table, or its JSON as text; what is neither stays as it is and is refused for being no table."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


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
    ctx_checkpoints: Annotated[int, Field(ge=0)] = 0
    """Most states kept per slot to go back to, for models whose cache cannot be cut."""
    cache_idle_slots: bool = True
    """Keep what idle slots have computed in main memory."""
    keep_tokens: Annotated[int, Field(ge=-1)] = 0
    """Tokens at the beginning that survive when the oldest are dropped; -1: the whole prompt."""
    context_shift: bool = False
    """Drop the oldest tokens when the window is full instead of ending the answer."""
    load_mode: Literal["", "mmap", "mlock", "direct-io"] = ""
    """How weights get into memory: mapped, mapped and pinned, or read around the page cache."""
    lazy_mode: Annotated[Literal["auto", "on", "off"], Knob(per_model=True)] = "auto"
    """Read rows of very large tables from disk when they are needed; auto: only tables above 4 GiB."""
    check_tensors: bool = False
    """Look for damaged values while loading."""
    no_kv_offload: bool = False
    """Keep the cache in main memory although the model is on a GPU."""
    no_host: bool = False
    """Bypass the host buffer, so that other buffer kinds can be used for weights."""
    repack: bool = True
    """Lay weights out anew for the processor while loading."""


class SlotKeys(Keys):
    """How many requests a child works on, and in what portions."""

    title: ClassVar[str] = "Slots and batches"

    slots: Annotated[int, Field(ge=0), Knob(per_model=True)] = 0
    """Requests that one child computes at the same time; 0: chosen at load time."""
    deterministic: Annotated[bool, Knob(per_model=True)] = False
    """Compute one request at a time: several in one batch can tip a choice between near-equal tokens."""
    slot_prompt_similarity: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How much of a prompt must be in a slot already for that slot to be chosen."""
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
    """Threads that compute; 0: the physical cores that this process may use."""
    threads_batch: Annotated[int, Field(ge=0)] = 0
    """Threads that compute prompts; 0: as threads."""
    threads_http: Annotated[int, Field(ge=0)] = 0
    """Threads that a child answers requests with."""
    cpu_range: Annotated[str, shaped(r"\d+-\d+", "range")] = ""
    """Processors that may compute, such as `0-7`."""
    cpu_strict: bool = False
    """Bind each thread to a processor of its own."""
    prio: Annotated[int, Field(ge=-1, le=3)] = 0
    """Priority of computing threads, from -1 (low) to 3 (realtime)."""
    prio_batch: Annotated[int, Field(ge=0, le=3)] = 0
    """Priority of threads that compute prompts."""
    poll: Annotated[int, Field(ge=0, le=100)] = 0
    """How eagerly threads wait for work instead of sleeping, in percent."""
    poll_batch: Annotated[int, Field(ge=0, le=1)] | None = None
    """Whether threads that compute prompts wait eagerly (1) or sleep (0)."""
    reuse_port: bool = False
    """Let other processes of this user listen on an engine's port as well."""
    sse_ping_interval: Annotated[int, Field(ge=-1)] | None = None
    """Seconds between keep-alive comments in a silent stream, the engine's and ours (unset: 30 and 15); -1 turns them off."""
    engine_env: dict[EnvironmentName, str] = {}  # noqa: RUF012 - pydantic copies a default
    """Environment variables for engine processes and for asking them what they can do."""
    preload: Annotated[Words, Knob(env=("BLAZAR_PRELOAD",))] = ()
    """Models to load at start, one after the other; one that fails is reported and left out."""
    models_autoload: Words | None = None
    """More models to load at start, after those of preload."""
    chat_template_kwargs: Annotated[dict[str, Any], BeforeValidator(_object)] | None = None
    """Variables for chat templates, as a table or as JSON text; a request's own win."""
    samplers: str = ""
    """Samplers in their order, such as `top_k;top_p;temperature`."""
    embd_normalize: Annotated[int, Field(ge=-1)] = 0
    """Norm of embeddings: -1 none, 1 taxicab, 2 euclidean, above 2 that power."""
