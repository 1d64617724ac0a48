"""What GET /api/why answers, declared."""

from typing import Any

from blazar.adapters.http.schema.wire import Wire


class StoryLane(Wire):
    """Who served a request. `kind`, `why` and `serving_since` are null where its start is not remembered any more."""

    instance: str
    engine: str
    kind: str | None
    why: str | None
    serving_since: str | None


class StoryFit(Wire):
    """What that child was planned with."""

    planned: int | None
    ctx: int | None
    slots: int | None


class StoryTimings(Wire):
    """Seconds; null for what did not happen. Of a buffered answer nobody knows how long a token took."""

    load: float | None
    queue: float
    first_byte: float | None
    total: float
    per_token: float | None


class StoryTokens(Wire):
    """`cached` are those of `prompt` that the engine still had."""

    prompt: int
    cached: int
    completion: int


class Story(Wire):
    """One request that has ended: names, figures and sentences of the gateway, never what was asked or answered."""

    trace: str
    at: str
    method: str
    path: str
    dialect: str
    model: str
    key: str
    stream: bool
    status: int
    outcome: str
    refusal: str | None
    priority: str
    work: str | None
    queue_depth: int
    lane: StoryLane | None
    fit: StoryFit | None
    child_status: int | None
    timings: StoryTimings
    tokens: StoryTokens
    warnings: list[str]
    notes: list[dict[str, Any]]
    events: list[dict[str, Any]]
    story: list[str]


class Stories(Wire):
    """GET /api/why: newest first."""

    requests: list[Story]
