"""Bodies of the management routes, which are checked, and what those routes answer, which is only described."""

from typing import Annotated, Any

from pydantic import Field

from blazar.adapters.http.schema.wire import Wire

Name = Annotated[str, Field(min_length=1)]


class LoadBody(Wire):
    """POST /api/load."""

    model: Name
    """A model, or with its projector `model@vision`. It runs as one child: `model#N` is refused."""
    keep_alive: int | float | str | None = None
    """Seconds or a duration such as "10m" to stay when idle; -1 stays, 0 leaves after the first request."""


class EvictBody(Wire):
    """POST /api/evict."""

    model: Name
    """A model, one replica (`model#N`), or its child only if that has a projector (`model@vision`)."""
    force: bool = False
    """Do not wait for requests in flight."""


class FitBody(Wire):
    """POST /api/fit. What is left out is as configured, and as this machine is."""

    model: Name | None = None
    """A model of the catalog, an absolute path (callers on the daemon's machine only, through no proxy), `hf:owner/repo[:QUANT]` or `ollama:name[:tag]`."""
    target: Name | None = None
    """The same; `model` wins."""
    ctx: int | None = None
    """Window of one request in tokens."""
    slots: int | None = None
    """Requests at the same time, each with such a window."""
    kv: str | None = None
    """Cache type, or two for keys and values with a comma between them: "q8_0", "q8_0,q4_0"."""
    gpu: list[int | float] | None = None
    """Sizes in GiB of empty cards to imagine; an empty list is a machine without. Main memory stays as it is."""
    ram: int | float | None = None
    """Main memory to imagine, in GiB, all of it free. Cards stay as they are."""


class ResetBody(Wire):
    """POST /api/ps, an extension of ours: what `blazar ps --reset` sends."""

    reset: bool
    """Must be true: closes every open crash breaker, so that the next request for its model starts an engine at once."""


class Health(Wire):
    """GET /health."""

    status: str
    version: str | None = None
    uptime_secs: int | None = None


class Version(Wire):
    """GET /api/version."""

    version: str


class Evicted(Wire):
    """The children that were stopped."""

    evicted: list[str]


class Reset(Wire):
    """The children whose breaker was open."""

    reset: list[str]


class EngineRow(Wire):
    """One installed engine build."""

    tag: str
    kind: str
    provenance: str
    version: str
    active: bool
    server_path: str
    installed_at: float
    release: str
    source: str
    digest: str
    pinned: bool
    architectures: list[str]
    used_at: float
    superseded_at: float


class EngineUpdate(Wire):
    """What the last look for newer builds of a kind found; `trouble` says why it found nothing."""

    kind: str
    active: str
    newest: str
    available: bool
    back: bool
    """The stable channel has an older build than the active one."""
    same: bool
    """What the channel has is the very file of the active build, under another name."""
    pinned: bool
    """The active build is pinned: no update replaces it."""
    stable: str
    """The stable release that stamps the active build."""
    newest_stable: str
    trouble: str
    checked_at: float


class Engines(Wire):
    """GET /api/engines."""

    engines: list[EngineRow]
    updates: list[EngineUpdate]


class Check(Wire):
    """One line of the doctor."""

    check: str
    status: str
    detail: str
    remedy: str | None = None


class Section(Wire):
    """One group of checks."""

    name: str
    rows: list[Check]


class Doctor(Wire):
    """GET /api/doctor."""

    sections: list[Section]


class NativeErrorBody(Wire):
    """What is inside `error`."""

    message: str
    type: str
    code: int
    param: str | None = None


class NativeError(Wire):
    """Errors of OpenAI and native routes."""

    error: NativeErrorBody


class FitQuant(Wire):
    """One quantisation; bytes and tokens. `estimated`: worked out from its size and another one's header."""

    quant: str
    size: int
    files: int
    outcome: str
    """As the verdict's; also `unreadable`, `incomplete` (shards lack) and `not-read`, whose figures are 0."""
    sentence: str
    whole: bool
    """No layer stays in main memory (on a machine without accelerators: it fits)."""
    gpu_layers: int
    """How many of `layers` lie on accelerators; the output counts as one."""
    layers: int
    slots: int
    """Requests at a time, the same for all of them."""
    ctx: int
    ctx_up_to: int
    """The largest window with which it still fits; 0: none."""
    cache_type_k: str
    cache_type_v: str
    exact_bytes: int
    floor_bytes: int
    admission_bytes: int
    estimated: bool
    take: bool


class FitDevice(Wire):
    """An accelerator; bytes. A `total` of 0: it reports none and is not used. `shared`: its memory is the machine's."""

    name: str
    kind: str
    total: int
    free: int
    label: str
    shared: bool


class FitMachine(Wire):
    """What it was judged for; bytes, 0 where unknown."""

    imagined: bool
    imagined_parts: list[str]
    """Which parts are not this machine's: `gpu`, `ram`."""
    ram_total: int
    ram_available: int
    devices: list[FitDevice]


class FitCache(Wire):
    """One cache that the engine makes; `k` and `v` are the bytes of its keys and values."""

    name: str
    cells: int
    streams: int
    layers: int
    k: int
    v: int


class FitMemory(Wire):
    """The load counted as if one device held it; bytes."""

    weights: int
    kv: int
    recurrent: int
    compute: int
    projector: int
    draft: int
    lora: int
    total: int
    caches: list[FitCache]
    upper_bound: bool
    """The architecture is unknown: all figures are meant to be too high."""
    refused: str | None


class FitShare(Wire):
    """What lies on one device (`host`: main memory); bytes."""

    device: str
    total: int
    free: int
    used: int
    """All that the load takes there."""
    weights: int
    kv: int
    recurrent: int
    compute: int
    projector: int
    draft: int
    lora: int
    margin: int
    """Kept free on purpose."""
    mapped: int
    """Weights among `weights` that the system may drop and read again."""
    headroom: int
    """What stays free beyond the margin; negative: so much is missing."""
    floor: int
    """The least that is charged for these weights on a card."""


class FitChosen(Wire):
    """The settings with nothing left open, by the configuration's names."""

    ctx: int
    """Tokens of one request."""
    ctx_size: int
    """Tokens of all requests together, as the engine is told."""
    slots: int
    kv_unified: bool
    cache_type_k: str
    cache_type_v: str
    batch_size: int
    ubatch_size: int
    cpu_moe_n: int
    cpu_ffn_n: int
    tensor_split: list[float]
    devices: list[str]
    gpu_layers: int


class FitVerdict(Wire):
    """Whether it fits, where each byte lies, and what to turn if it does not."""

    outcome: str
    """`fits`, `fits-from-disk`, `fits-after-eviction`, `never` or `refused`."""
    fits: bool
    sentence: str
    exact_bytes: int
    """Needed: the counted sum."""
    floor_bytes: int
    admission_bytes: int
    """Charged: needed and margins, on each card at least its floor."""
    memory: FitMemory
    devices: list[FitShare]
    chosen: FitChosen
    pins: list[str]
    """Devices that the child is held to; empty: the engine chooses."""
    evict: list[str]
    """Idle models that would leave first."""
    levers: list[str]
    notes: list[str]


class FitAnswer(Wire):
    """POST /api/fit."""

    target: str
    source: str
    """`catalog`, `file`, `hf` or `ollama`."""
    model: str
    machine: FitMachine
    quant: str
    """Which of `quants` the verdict is about: the one asked for, else the one to take."""
    take: str | None
    """The quantisation to take, which was read itself; null when none can be loaded."""
    verdict: FitVerdict
    quants: list[FitQuant]
    alternatives: list[FitQuant]
    """Smaller quantisations of a model that is here and does not fit wholly, by estimate; they have no files."""
    notes: list[str]


class ConfigOrigin(Wire):
    """Who set a key: `layer` is file, environment or command line, `where` a line or a variable."""

    layer: str
    where: str


class ConfigRefused(Wire):
    """What is wrong with the file as it is now, and since when; what was read before holds."""

    since: str
    problems: list[str]


class Configuration(Wire):
    """GET /api/config: what holds now. Secrets are stars."""

    path: str
    behind: bool
    """The file has changed since it was read: it is read again within seconds."""
    values: dict[str, Any]
    origins: dict[str, ConfigOrigin]
    """Keys that are not at their defaults."""
    restart_needed: list[str]
    """Keys that the file says otherwise and that only a restart can change."""
    refused: ConfigRefused | None


class Decision(Wire):
    """One choice on a command line. No words: it was left out, and the reason says why."""

    words: list[str]
    key: str
    """The setting behind it; empty for what is always said."""
    reason: str


class ChangedFlag(Wire):
    """A flag that the running child was told otherwise."""

    flag: str
    was: str
    now: str = Field(alias="is")


class ChangedEnvironment(Wire):
    """Variables by name."""

    added: list[str]
    removed: list[str]
    changed: list[str]


class ChangedEngine(Wire):
    """The build that runs, and the one that would."""

    was: str
    now: str = Field(alias="is")


class Difference(Wire):
    """What a child started now would be told otherwise than the one that runs."""

    pid: int
    added: list[str]
    removed: list[str]
    changed: list[ChangedFlag]
    env: ChangedEnvironment
    engine: ChangedEngine | None


class Routing(Wire):
    """What decides which engine serves a model, beside its weights. `engine` is its own override, empty where it has none."""

    mode: str
    policy: str
    engine: str
    arch: str


class RejectedLane(Wire):
    """An engine kind or a build that does not serve the model."""

    lane: str
    reason: str
    lane_class: str | None = Field(default=None, alias="class")
    """Of a build: mainstream or fork."""


class RunningChild(Wire):
    """A child that runs, and the build that it runs on."""

    pid: int
    engine: str


class Explanation(Wire):
    """GET /api/explain: how a model would be run, and why."""

    model: str | None = None
    routing: Routing | None = None
    why: str | None = None
    """Why this build serves it; null where none does."""
    rejected: list[RejectedLane] | None = None
    configuration: str | None = None
    """Why another configuration than the file's is explained; null where it is the file's."""
    argv: list[str] | None = None
    """Without the endpoint's words, which a child's start adds."""
    endpoint: list[Decision] | None = None
    """Those words; what is chosen at a start only is a word in capitals where no child runs."""
    decisions: list[Decision] | None = None
    notes: list[Any] | None = None
    difference: Difference | None = None
    """Null when no child of the model runs."""
    running: RunningChild | None = None
    """The child that runs, also where the next one would be refused."""
