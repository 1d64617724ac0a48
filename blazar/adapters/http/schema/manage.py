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


class Explanation(Wire):
    """GET /api/explain: how a model would be run, and why."""

    model: str | None = None
    argv: list[str] | None = None
    notes: list[Any] | None = None
