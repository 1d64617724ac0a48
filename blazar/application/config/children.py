"""Keys of the engine processes: memory and cache, slots and batches, processors, requests. Root-only (D26).

0, "" and absent leave a setting to the engine; which of them a build knows is decided when its command line is compiled.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from blazar.application.config.knob import LARGEST, JsonTable, Keys, Knob, Whole, refused, shaped
from blazar.domain import teaching
from blazar.domain.names import near

CacheType = Literal["", "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]
MOST_PROCESSORS = 512
"""As many as llama.cpp has room for."""
_PROCESSOR = r"0{0,3}(?:\d{1,2}|[1-4]\d\d|50\d|51[01])"  # below that, as a pattern
# Memory is set aside for each of them: tens of thousands end an engine as it starts.
Threads = Annotated[int, Field(ge=0, le=MOST_PROCESSORS)]


def _processors(text: str) -> str:
    """ODD: a range that runs backwards is refused: llama.cpp takes it, and binds its threads to nothing."""
    first, _, last = text.partition("-")
    if text and not int(first) <= int(last) < MOST_PROCESSORS:
        raise refused("range_order", MOST_PROCESSORS)
    return text


SAMPLERS = (
    *(
        "penalties",
        "dry",
        "top_n_sigma",
        "top_k",
        "typ_p",
        "top_p",
        "min_p",
        "xtc",
        "temperature",
        "infill",
        "adaptive_p",
    ),
    *("nucleus", "temp", "typ", "typical", "typical_p"),
)
"""Steps of a chain, as llama.cpp b11434 names them (common/sampling.cpp) and as the setup document does; - and nothing stand for _."""


def _chain(text: str) -> str:
    """The engine leaves a name out that it does not know, and samples with the rest."""
    known = {spelling for name in SAMPLERS for spelling in (name, name.replace("_", "-"), name.replace("_", ""))}
    for name in text.split(";") if text else ():
        if name.lower() not in known:
            why = teaching.config_unknown_step(name, near(name.lower(), SAMPLERS))
            raise PydanticCustomError("blazar", "{why}", {"why": why})
    return text


Processors = Annotated[
    str, shaped(r"[0-9]{1,4}-[0-9]{1,4}", "range", f"{_PROCESSOR}-{_PROCESSOR}"), AfterValidator(_processors)
]
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
    kv_unified_per_slot: Whole = 0
    """Most tokens that one slot may hold of a shared cache."""
    swa_full: bool = False
    """Keep the full cache for layers with a sliding window, so that prompts can be reused at any position."""
    ctx_checkpoints: Whole = 0
    """Most states kept per slot to go back to, for models whose cache cannot be cut; 0: as the engine does (its 0, none, by extra_args)."""
    cache_idle_slots: bool = True
    """Keep what idle slots have computed in main memory."""
    keep_tokens: Annotated[int, Field(ge=-1, le=LARGEST)] = 0
    """Tokens at the beginning that survive when the oldest are dropped; -1: the whole prompt."""
    context_shift: bool = False
    """Drop the oldest tokens when the window is full instead of ending the answer."""
    # The engine multiplies it with the window before, in 32 bits, and ends itself in the first answer where nothing is left of that.
    ctx_extend: Annotated[float, Field(ge=0, le=100), Knob(per_model=True)] = 0.0
    """Factor by which YaRN stretches the window beyond what a model was trained for; 0: not at all."""
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

    slots: Annotated[Whole, Knob(per_model=True)] = 0
    """Requests that one child computes at once, together in one window where they share a cache; 0: as many as fit, a window each."""
    deterministic: Annotated[bool, Knob(per_model=True)] = False
    """Compute one request at a time: several in one batch can tip a choice between near-equal tokens."""
    adaptive_slots: Annotated[bool, Knob(daemon=True)] = True
    """Give a model one slot more after a minute of several requests at once, up to four, where slots is left open."""
    slot_prompt_similarity: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How much of a prompt must be in a slot already for that slot to be chosen; 0: as the engine does (its 0, never, by extra_args)."""
    batch_size: Whole = 0
    """Most tokens in one logical batch of a prompt."""
    ubatch_size: Whole = 0
    """Most tokens computed at once. More than the engine's own figure was measured to be slower; leave it alone."""
    ubatch_auto: Annotated[bool, Knob(env=("BLAZAR_UBATCH_AUTO",), daemon=True)] = False
    """Raise ubatch_size, where it is left open, step by step while a model's queue is full, and lower it again when it is quiet."""
    cont_batching: bool | None = None
    """Whether new requests join a running batch."""
    warmup: Annotated[bool, Knob(per_model=True)] = True
    """Run one empty pass after loading, so that the first answer is not the slow one."""


class ProcessKeys(Keys):
    """Threads, environment, templates and the private connection to a child."""

    title: ClassVar[str] = "Engine processes"

    threads: Threads = 0
    """Threads that compute; 0: the physical cores that this process may use."""
    threads_batch: Threads = 0
    """Threads that compute prompts; 0: as threads."""
    threads_http: Threads = 0
    """Threads that a child answers requests with."""
    cpu_range: Processors = ""
    """Processors that may compute, such as `0-7`."""
    cpu_strict: bool = False
    """Bind each thread to a processor of its own."""
    prio: Annotated[int, Field(ge=-1, le=3)] = 0
    """Priority of computing threads, from -1 (low) to 3 (realtime)."""
    prio_batch: Annotated[int, Field(ge=0, le=3)] = 0
    """Priority of threads that compute prompts."""
    poll: Annotated[int, Field(ge=0, le=100)] = 0
    """How eagerly threads wait for work instead of sleeping, in percent; 0: as the engine does (its 0, no waiting, by extra_args)."""
    poll_batch: Annotated[int, Field(ge=0, le=1)] | None = None
    """Whether threads that compute prompts wait eagerly (1) or sleep (0)."""
    child_transport: Annotated[Literal["tcp", "unix"], Knob(env=("BLAZAR_CHILD_TRANSPORT",))] = "tcp"
    """How engines are reached: a port of this machine, or a socket file (not on Windows), which skips the network."""
    child_auth: bool | None = None
    """Whether engines ask for a secret of their own; unset: on a port they do, on a socket file they need not."""
    reuse_port: bool = False
    """Let other processes of this user listen on an engine's port as well."""
    sse_ping_interval: Annotated[int, Field(ge=-1, le=LARGEST)] | None = None
    """Seconds between keep-alive comments in a silent stream, the engine's and ours (unset: 30 and 15); -1 turns them off."""
    engine_env: Annotated[dict[EnvironmentName, str], Field(repr=False)] = {}  # noqa: RUF012 - pydantic copies a default
    """Environment variables for engine processes and for asking them what they can do."""
    chat_template_kwargs: JsonTable | None = None
    """Variables for chat templates, as a table or as JSON text; a request's own win."""
    lora_init_without_apply: bool = False
    """Load adapters without applying them; requests may apply them later."""
    samplers: Annotated[str, shaped(r"[A-Za-z_-]+(;[A-Za-z_-]+)*", "samplers"), AfterValidator(_chain)] = ""
    """Samplers in their order, such as `top_k;top_p;temperature`."""
