"""Counters behind /metrics: plain integers and bisected histograms, put into words only when somebody asks.

Labels are bounded: a model of the catalog has one series however it is spelled, and only the first hundred have one; names that
clients make up all count as "other". Nothing here is ever decremented but what is read at scrape time.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter, Served
from blazar.application.supervise.views import InstanceView
from blazar.domain.admission.work import Priority, WorkClass
from blazar.domain.instance.machine import GONE, State
from blazar.domain.names import parse_ref

MODELS_CAP: Final = 100
OTHER: Final = "other"

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds of request times: from a cached answer to a long generation."""
TOKEN_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the time between two tokens: from a small model on a large card to a large one on a processor."""
LOAD_SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 180.0, 600.0)
"""Upper bounds of load times: from a toy model to the absolute caps (D34)."""

Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One row of a family; `suffix` is what a histogram adds to the name."""

    labels: Labels
    value: float
    suffix: str = ""


class Point(NamedTuple):
    """What one series of a family is now."""

    labels: Labels
    value: "float | Histogram"


class Family(NamedTuple):
    """All series of one name. `kind` is Prometheus's: counter, gauge, histogram."""

    name: str
    kind: str
    told: str
    points: Sequence[Point]


class Histogram:
    """Counts by upper bound, inclusive as Prometheus wants it."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Add one; about 0.2 µs."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def copy(self) -> "Histogram":
        """As it is now."""
        other = Histogram(self.bounds)
        other.counts, other.total = self.counts.copy(), self.total
        return other

    def samples(self, labels: Labels) -> Iterator[Sample]:
        """Cumulative buckets, sum and count."""
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            yield Sample((*labels, ("le", "+Inf" if bound == float("inf") else f"{bound:g}")), running, "_bucket")
        yield Sample(labels, self.total, "_sum")
        yield Sample(labels, running, "_count")


class _ModelRow:
    """What is counted a model."""

    __slots__ = (
        "cached",
        "completion",
        "crashes",
        "first_byte",
        "per_token",
        "prompt",
        "queue",
        "seconds",
        "spawns",
        "whole",
    )

    def __init__(self) -> None:
        self.seconds = Histogram(SECONDS)
        self.queue = Histogram(SECONDS)
        self.first_byte = Histogram(SECONDS)
        self.whole = Histogram(SECONDS)
        self.per_token = Histogram(TOKEN_SECONDS)
        self.prompt = self.cached = self.completion = self.crashes = self.spawns = 0


class PrometheusMeter(Meter):
    """All series. Called from the event loop only."""

    def __init__(self, clock: Clock, version: str) -> None:
        self._clock = clock
        self._started = clock.now()
        self._version = version
        self._requests: dict[tuple[str, str, int], int] = {}
        self._models: dict[str, _ModelRow] = {}
        self._spawn_seconds = Histogram(LOAD_SECONDS)
        self._evictions: dict[str, int] = {}
        self._children: Callable[[], Iterable[InstanceView]] = tuple
        self._totals: list[tuple[str, str, Callable[[], int]]] = []
        self._noted: dict[tuple[str, str], int] = {}

    def watch_children(self, read: Callable[[], Iterable[InstanceView]]) -> None:
        """Where to look for live children at scrape time."""
        self._children = read

    def watch_total(self, name: str, told: str, read: Callable[[], int]) -> None:
        """A further counter, kept by somebody else and read at scrape time (`blazar_…_total`)."""
        self._totals.append((name, told, read))

    def on_served(self, served: Served) -> None:
        # What is done in the background counts when it is done.
        model = "" if served.accepted else self._label(served.model, known=served.known)
        key = (served.dialect, model, served.status)
        self._requests[key] = self._requests.get(key, 0) + 1
        row = self._row(model)
        row.seconds.observe(served.seconds)
        if model:
            if served.placed or served.queue_seconds > 0:
                row.queue.observe(served.queue_seconds)
            if served.first_byte_seconds > 0:
                (row.first_byte if served.stream else row.whole).observe(served.first_byte_seconds)
            row.prompt += served.prompt_tokens
            row.cached += served.cached_tokens
            row.completion += served.completion_tokens
            if served.stream and served.completion_tokens > 1 and served.first_byte_seconds > 0:
                self._time_tokens(row, served)
        if served.notes:
            self._count_notes(served)

    def _time_tokens(self, row: _ModelRow, served: Served) -> None:
        """A buffered answer is told at once, and one of a single token has nothing between its tokens."""
        row.per_token.observe((served.seconds - served.first_byte_seconds) / (served.completion_tokens - 1))

    def _count_notes(self, served: Served) -> None:
        for _, code, facts in served.notes:
            if (label := _NOTED.get(code)) is not None:
                key = (code, str(facts.get(label, "")))
                key = key if key in self._noted or len(self._noted) < MODELS_CAP else (code, OTHER)
                self._noted[key] = self._noted.get(key, 0) + 1

    def on_spawn(self, model: str, seconds: float) -> None:
        self._row(self._label(parse_ref(model).model, known=True)).spawns += 1
        self._spawn_seconds.observe(seconds)

    def on_evicted(self, model: str, cause: str) -> None:  # noqa: ARG002 - the series is by cause alone
        # Causes come from our own code, but the label stays bounded whoever calls.
        label = cause if cause in self._evictions or len(self._evictions) < MODELS_CAP else OTHER
        self._evictions[label] = self._evictions.get(label, 0) + 1

    def on_crashed(self, model: str) -> None:
        self._row(self._label(parse_ref(model).model, known=True)).crashes += 1

    def exposition(self, models: Collection[str] | None = None) -> bytes:
        families: Iterable[Family] = self.families()
        if models is not None:
            families = (_limited(family, models) for family in families)
        return "".join(line for family in families for line in _written(family)).encode(errors="replace")

    def families(self) -> list[Family]:
        """Everything that is counted, as it is now. Histograms are those that are counted on with: whoever keeps them copies them."""
        return [*self._families(), *self._child_families()]

    def _label(self, model: str, *, known: bool) -> str:
        if model in self._models or not model:
            return model
        return model if known and len(self._models) < MODELS_CAP else OTHER

    def _row(self, label: str) -> _ModelRow:
        row = self._models.get(label)
        if row is None:
            row = self._models[label] = _ModelRow()
        return row

    def _families(self) -> Iterator[Family]:
        rows = sorted(self._models.items())
        requests = [
            Point((("dialect", dialect), ("model", model), ("status", str(status))), count)
            for (dialect, model, status), count in sorted(self._requests.items())
        ]
        yield Family("blazar_requests_total", "counter", "Finished requests.", requests)
        for name, told, pick in _HISTOGRAMS:
            yield Family(name, "histogram", told, [Point((("model", model),), pick(row)) for model, row in rows])
        firsts = [
            Point((("model", model), ("stream", stream)), histogram)
            for model, row in rows
            for stream, histogram in (("true", row.first_byte), ("false", row.whole))
        ]
        yield Family("blazar_first_byte_seconds", "histogram", _FIRST_BYTE, firsts)
        for name, told, count_of in _COUNTS:
            yield Family(name, "counter", told, [Point((("model", model),), count_of(row)) for model, row in rows])
        told = "Seconds from the decision to load a model until it served."
        yield Family("blazar_spawn_seconds", "histogram", told, [Point((), self._spawn_seconds)])
        evictions = [Point((("cause", cause),), count) for cause, count in sorted(self._evictions.items())]
        yield Family("blazar_evictions_total", "counter", "Models unloaded, by cause.", evictions)
        noted = sorted(self._noted.items())
        for code, label in _NOTED.items():
            name, told = _NOTED_FAMILIES[code]
            points = [Point(((label, value),), count) for (found, value), count in noted if found == code]
            yield Family(name, "counter", told, points)
        for name, told, read in self._totals:
            yield Family(name, "counter", told, [Point((), read())])
        uptime = self._clock.now() - self._started
        yield Family("blazar_uptime_seconds", "gauge", "Seconds since the daemon started.", [Point((), uptime)])
        build = Point((("version", self._version),), 1)
        yield Family("blazar_build_info", "gauge", "Which Blazar this is; always 1.", [build])

    def _child_families(self) -> Iterator[Family]:
        views = tuple(self._children())
        states = [view.state for view in views]
        # Every state, so that one that emptied is told as 0 and not as a series that vanished.
        counts = [Point((("state", state),), states.count(state)) for state in _STATES]
        yield Family("blazar_children", "gauge", "Engine processes, by state.", counts)
        loaded = len({view.model for view in views if view.state == State.SERVING})
        yield Family("blazar_models_loaded", "gauge", "Models that an engine serves now.", [Point((), loaded)])
        for name, told, read in _GAUGES:
            yield Family(name, "gauge", told, [Point((("instance", view.key),), read(view)) for view in views])
        for name, told, share in _SHARES:
            known = [(view.key, share(view)) for view in views]
            yield Family(
                name, "gauge", told, [Point((("instance", key),), value) for key, value in known if value is not None]
            )
        devices = [
            Point((("instance", view.key), ("device", device)), size) for view in views for device, size in view.devices
        ]
        yield Family("blazar_child_device_bytes", "gauge", "Memory of a child that lies on an accelerator.", devices)
        queued = [point for view in views for point in _queued(view)]
        yield Family("blazar_child_queued", "gauge", "Requests that wait for a child, by priority and class.", queued)


_HISTOGRAMS: tuple[tuple[str, str, Callable[[_ModelRow], Histogram]], ...] = (
    ("blazar_request_seconds", "Seconds from a request's arrival to the end of its answer.", lambda row: row.seconds),
    ("blazar_queue_wait_seconds", "Seconds a request waited for a slot, in vain or not.", lambda row: row.queue),
    (
        "blazar_time_per_token_seconds",
        "Seconds between two tokens of a streamed answer, on average.",
        lambda row: row.per_token,
    ),
)
_FIRST_BYTE: Final = "Seconds to the first byte of an answer; of a stream to its first token, comments aside."
_COUNTS: tuple[tuple[str, str, Callable[[_ModelRow], int]], ...] = (
    ("blazar_prompt_tokens_total", "Tokens of prompts, cached ones included.", lambda row: row.prompt),
    ("blazar_prompt_cached_tokens_total", "Tokens of prompts that an engine still had.", lambda row: row.cached),
    ("blazar_completion_tokens_total", "Tokens generated.", lambda row: row.completion),
    ("blazar_spawns_total", "Engine processes that came to serve.", lambda row: row.spawns),
    ("blazar_crashes_total", "Engine processes that ended unasked.", lambda row: row.crashes),
)
_GAUGES: tuple[tuple[str, str, Callable[[InstanceView], float]], ...] = (
    ("blazar_child_in_flight", "Requests a child works on.", lambda view: view.in_flight),
    ("blazar_child_waiting", "Requests that wait for a child's slot.", lambda view: view.waiting),
    ("blazar_child_slots", "Requests a child can work on at once.", lambda view: view.slots),
    ("blazar_child_resident_bytes", "Memory of a child that is in RAM.", lambda view: view.rss),
    ("blazar_child_planned_bytes", "Memory that a child was planned with.", lambda view: view.planned),
    ("blazar_child_measured_bytes", "Memory that a child uses, accelerators included.", lambda view: view.measured),
    (
        "blazar_sleeping",
        "Whether a child let its memory go until it is asked for again.",
        lambda view: int(view.sleeping),
    ),
)
_SHARES: tuple[tuple[str, str, Callable[[InstanceView], float | None]], ...] = (
    ("blazar_child_cache_hit_ratio", "Share of prompts that a child's cache held.", lambda view: view.cache_hint),
    ("blazar_child_accepted_ratio", "Share of what was guessed ahead that was right.", lambda view: view.spec_accept),
)
_NOTED: Final = {"over_quota": "limit", "sentinel": "code", "cache": "outcome"}
"""Codes in a request's notes that are counted, and the fact by which."""
_NOTED_FAMILIES: Final = {
    "over_quota": ("blazar_quota_refusals_total", "Requests beyond a limit of their key."),
    "sentinel": ("blazar_sentinel_observations_total", "What was wrong with answers, by observation."),
    "cache": ("blazar_semantic_cache_total", "Chats that were looked for in the semantic cache."),
}

_STATES = tuple(state.value for state in State if state not in GONE)


def _queued(view: InstanceView) -> Iterator[Point]:
    """Every level, so that one that emptied is told as 0."""
    waiting = {(priority, kind): count for priority, kind, count in view.queued}
    for priority, kind in _LEVELS:
        labels = (("instance", view.key), ("priority", priority), ("work", kind))
        yield Point(labels, waiting.get((priority, kind), 0))


_LEVELS = tuple((priority.name.lower(), kind.name.lower()) for priority in Priority for kind in WorkClass)

_ESCAPES: Mapping[int, str] = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def _limited(family: Family, models: Collection[str]) -> Family:
    """Without series of other models. `other` may hold any of them, and goes; what is counted under no model is the server's and stays."""
    return family._replace(points=[point for point in family.points if _may_be_seen(point.labels, models)])


def _may_be_seen(labels: Labels, models: Collection[str]) -> bool:
    named = (parse_ref(text).model for label, text in labels if label in ("model", "instance"))
    return all(not name or name in models for name in named)


def _written(family: Family) -> Iterator[str]:
    name = family.name
    yield f"# HELP {name} {family.told}\n# TYPE {name} {family.kind}\n"
    for point in family.points:
        value = point.value
        samples = value.samples(point.labels) if isinstance(value, Histogram) else (Sample(point.labels, value),)
        for labels, figure, suffix in samples:
            inner = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels)
            number = str(figure) if isinstance(figure, int) else repr(round(figure, 6))
            yield f"{name}{suffix}{{{inner}}} {number}\n" if inner else f"{name}{suffix} {number}\n"
