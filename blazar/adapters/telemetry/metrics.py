"""Counters behind /metrics: plain integers and bisected histograms, put into words only when somebody asks.

Labels are bounded: a model gets its own series when it first succeeds or is spawned, and only the first hundred do; names
that clients make up all count as "other". Nothing here is ever decremented but what is read at scrape time.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter, Served
from blazar.application.supervise.views import InstanceView
from blazar.domain.instance.machine import GONE, State

MODELS_CAP: Final = 100
OTHER: Final = "other"

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds of request times: from a cached answer to a long generation."""
LOAD_SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 180.0, 600.0)
"""Upper bounds of load times: from a toy model to the absolute caps (D34)."""

Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One row of a family; `suffix` is what a histogram adds to the name."""

    labels: Labels
    value: float
    suffix: str = ""


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

    __slots__ = ("completion", "crashes", "first_byte", "prompt", "queue", "seconds", "spawns")

    def __init__(self) -> None:
        self.seconds = Histogram(SECONDS)
        self.queue = Histogram(SECONDS)
        self.first_byte = Histogram(SECONDS)
        self.prompt = self.completion = self.crashes = self.spawns = 0


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

    def watch_children(self, read: Callable[[], Iterable[InstanceView]]) -> None:
        """Where to look for live children at scrape time."""
        self._children = read

    def watch_total(self, name: str, told: str, read: Callable[[], int]) -> None:
        """A further counter, kept by somebody else and read at scrape time (`blazar_…_total`)."""
        self._totals.append((name, told, read))

    def on_served(self, served: Served) -> None:
        model = self._label(served.model, known=served.status < 400)
        key = (served.dialect, model, served.status)
        self._requests[key] = self._requests.get(key, 0) + 1
        row = self._row(model)
        row.seconds.observe(served.seconds)
        if served.model:
            row.queue.observe(served.queue_seconds)
            if served.first_byte_seconds > 0:
                row.first_byte.observe(served.first_byte_seconds)
            row.prompt += served.prompt_tokens
            row.completion += served.completion_tokens

    def on_spawn(self, model: str, seconds: float) -> None:
        self._row(self._label(model, known=True)).spawns += 1
        self._spawn_seconds.observe(seconds)

    def on_evicted(self, model: str, cause: str) -> None:  # noqa: ARG002 - the series is by cause alone
        # Causes come from our own code, but the label stays bounded whoever calls.
        label = cause if cause in self._evictions or len(self._evictions) < MODELS_CAP else OTHER
        self._evictions[label] = self._evictions.get(label, 0) + 1

    def on_crashed(self, model: str) -> None:
        self._row(self._label(model, known=True)).crashes += 1

    def exposition(self) -> bytes:
        return "".join(line for family in self._families() for line in family).encode(errors="replace")

    def _label(self, model: str, *, known: bool) -> str:
        if model in self._models or not model:
            return model
        return model if known and len(self._models) < MODELS_CAP else OTHER

    def _row(self, label: str) -> _ModelRow:
        row = self._models.get(label)
        if row is None:
            row = self._models[label] = _ModelRow()
        return row

    def _families(self) -> Iterator[Iterator[str]]:
        rows = sorted(self._models.items())
        requests = (
            Sample((("dialect", dialect), ("model", model), ("status", str(status))), count)
            for (dialect, model, status), count in sorted(self._requests.items())
        )
        yield _family("blazar_requests_total", "counter", "Finished requests.", requests)
        for name, told, pick in _HISTOGRAMS:
            samples = (sample for model, row in rows for sample in pick(row).samples((("model", model),)))
            yield _family(name, "histogram", told, samples)
        for name, told, count_of in _COUNTS:
            yield _family(name, "counter", told, (Sample((("model", model),), count_of(row)) for model, row in rows))
        told = "Seconds from the decision to load a model until it served."
        yield _family("blazar_spawn_seconds", "histogram", told, self._spawn_seconds.samples(()))
        evictions = (Sample((("cause", cause),), count) for cause, count in sorted(self._evictions.items()))
        yield _family("blazar_evictions_total", "counter", "Models unloaded, by cause.", evictions)
        for name, told, read in self._totals:
            yield _family(name, "counter", told, [Sample((), read())])
        yield from self._child_families()
        uptime = self._clock.now() - self._started
        yield _family("blazar_uptime_seconds", "gauge", "Seconds since the daemon started.", [Sample((), uptime)])
        build = Sample((("version", self._version),), 1)
        yield _family("blazar_build_info", "gauge", "Which Blazar this is; always 1.", [build])

    def _child_families(self) -> Iterator[Iterator[str]]:
        views = tuple(self._children())
        states = [view.state for view in views]
        # Every state, so that one that emptied is told as 0 and not as a series that vanished.
        counts = (Sample((("state", state),), states.count(state)) for state in _STATES)
        yield _family("blazar_children", "gauge", "Engine processes, by state.", counts)
        for name, told, read in _GAUGES:
            samples = (Sample((("instance", view.key),), read(view)) for view in views)
            yield _family(name, "gauge", told, samples)


_HISTOGRAMS: tuple[tuple[str, str, Callable[[_ModelRow], Histogram]], ...] = (
    ("blazar_request_seconds", "Seconds from a request's arrival to the end of its answer.", lambda row: row.seconds),
    ("blazar_queue_wait_seconds", "Seconds a request waited for a slot.", lambda row: row.queue),
    (
        "blazar_first_byte_seconds",
        "Seconds from a request's arrival to the first byte of its answer.",
        lambda row: row.first_byte,
    ),
)
_COUNTS: tuple[tuple[str, str, Callable[[_ModelRow], int]], ...] = (
    ("blazar_prompt_tokens_total", "Tokens of prompts, cached ones included.", lambda row: row.prompt),
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
)

_STATES = tuple(state.value for state in State if state not in GONE)

_ESCAPES: Mapping[int, str] = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def _family(name: str, kind: str, told: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {told}\n# TYPE {name} {kind}\n"
    for labels, value, suffix in samples:
        inner = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels)
        number = str(value) if isinstance(value, int) else repr(round(value, 6))
        yield f"{name}{suffix}{{{inner}}} {number}\n" if inner else f"{name}{suffix} {number}\n"
