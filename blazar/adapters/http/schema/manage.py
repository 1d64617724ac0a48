"""Bodies of the management routes, which are checked, and what those routes answer, which is only described."""

from typing import Annotated, Any

from pydantic import Field

from blazar.adapters.http.schema.wire import Wire

Name = Annotated[str, Field(min_length=1)]


class LoadBody(Wire):
    """POST /api/load."""

    model: Name
    """A model. It runs as one child: `model#N` and `model@vision` are refused."""
    keep_alive: int | float | str | None = None
    """Seconds or a duration such as "10m" to stay when idle; -1 stays, 0 leaves after the first request."""


class EvictBody(Wire):
    """POST /api/evict."""

    model: Name
    """A model, one replica (`model#N`) or its vision child (`model@vision`)."""
    force: bool = False
    """Do not wait for requests in flight."""


class FitBody(Wire):
    """POST /api/fit. What is left out is as configured, and as this machine is."""

    model: Name | None = None
    """A model of the catalog, an absolute path (callers on the daemon's machine only), `hf:owner/repo[:QUANT]` or `ollama:name[:tag]`."""
    target: Name | None = None
    """The same; `model` wins."""
    ctx: int | None = None
    """Window of one request in tokens."""
    slots: int | None = None
    """Requests at the same time."""
    kv: str | None = None
    """Cache type, or two for keys and values with a comma between them: "q8_0", "q8_0,q4_0"."""
    gpu: list[int | float] | None = None
    """Sizes in GiB of empty cards to imagine; an empty list is a machine without."""
    ram: int | float | None = None
    """Main memory to imagine, in GiB."""


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


class Engines(Wire):
    """GET /api/engines."""

    engines: list[EngineRow]


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
    sentence: str
    whole: bool
    """No layer stays in main memory (on a machine without accelerators: it fits)."""
    gpu_layers: int
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


class FitMachine(Wire):
    """What it was judged for; bytes, 0 where unknown."""

    imagined: bool
    ram_total: int
    ram_available: int
    devices: list[dict[str, Any]]


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
    """The quantisation to take; null when none can be loaded."""
    verdict: dict[str, Any]
    """Outcome, sentence, sums, the part of every device, what was chosen, levers."""
    quants: list[FitQuant]
    alternatives: list[FitQuant]
    """Smaller quantisations of a model that is here and does not fit wholly, by estimate; they have no files."""
    notes: list[str]


class Explanation(Wire):
    """GET /api/explain: how a model would be run, and why."""

    model: str | None = None
    argv: list[str] | None = None
    notes: list[Any] | None = None
