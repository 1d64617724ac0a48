"""Finished requests as spans and counters as metrics, in the bytes that an OpenTelemetry collector takes. Sends nothing.

Imported when an address is configured, and by the thread that sends: the library takes a tenth of a second.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics import export as shapes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from blazar.adapters.telemetry.metrics import Family, Histogram
from blazar.application.ports.recollection import Kept
from blazar.domain.tracing import parent_of

LONGEST_PATH: Final = 200
_SHORTEST: Final = 0.001
"""Seconds; a wait below has no span of its own."""
_UNITS: Final = (("_seconds", "s"), ("_bytes", "By"), ("_ratio", "1"))
_CUMULATIVE: Final = shapes.AggregationTemporality.CUMULATIVE


class Sender(NamedTuple):
    """Who sends, as a collector sees it. `since` is Unix time: what is counted began then."""

    service: str
    version: str
    since: float

    @property
    def resource(self) -> Resource:
        """Nothing of the machine or of our environment beside these."""
        return Resource({"service.name": self.service, "service.version": self.version})

    @property
    def scope(self) -> InstrumentationScope:
        return InstrumentationScope("blazar", self.version)


def span_bytes(sender: Sender, requests: Sequence[Kept]) -> bytes:
    """One export request with the spans of these."""
    resource, scope = sender.resource, sender.scope
    spans = [span for kept in requests for span in _spans(kept, resource, scope)]
    data: bytes = encode_spans(spans).SerializeToString()
    return data


def metric_bytes(sender: Sender, families: Sequence[Family], now: float) -> bytes:
    """One export request with everything that is counted."""
    metrics = [_metric(family, _nanos(sender.since), _nanos(now)) for family in families if family.points]
    scoped = shapes.ScopeMetrics(sender.scope, metrics, "")
    told = shapes.MetricsData([shapes.ResourceMetrics(sender.resource, [scoped], "")])
    data: bytes = encode_metrics(told).SerializeToString()
    return data


def _spans(kept: Kept, resource: Resource, scope: InstrumentationScope) -> Iterator[ReadableSpan]:
    """The request, and in it the load it waited for, its time in line, and its answer."""
    served, begun, ended = kept.served, kept.at, kept.ended
    parent = parent_of(served.parent)
    trace = parent.trace if parent is not None else random.getrandbits(128) or 1
    own = _context(trace)
    above = SpanContext(trace, parent.span, is_remote=True, trace_flags=_FLAGS) if parent is not None else None

    def span(name: str, stretch: tuple[float, float], **rest: Any) -> ReadableSpan:
        start, end = map(_nanos, stretch)
        return ReadableSpan(
            name, resource=resource, instrumentation_scope=scope, start_time=start, end_time=end, **rest
        )

    failed = Status(StatusCode.ERROR) if served.status >= 500 else Status()
    about = _about(kept)
    # Only paths of the lane are few; others hold the names of things.
    name = f"{served.method} {about['url.path']}" if served.instance else served.method
    yield span(name, (begun, ended), context=own, parent=above, kind=SpanKind.SERVER, status=failed, attributes=about)
    if not served.placed and served.queue_seconds >= _SHORTEST:
        yield span("queue", (begun, begun + served.queue_seconds), context=_context(trace), parent=own)  # in vain
    if not served.placed or not served.instance:
        return
    loaded = begun + served.load_seconds
    granted = loaded + served.queue_seconds
    if served.load_seconds >= _SHORTEST:
        yield span("load", (begun, loaded), context=_context(trace), parent=own)
    if served.queue_seconds >= _SHORTEST:
        yield span("queue", (loaded, granted), context=_context(trace), parent=own)
    first = begun + served.first_byte_seconds
    events = [Event("first byte", timestamp=_nanos(first))] if served.first_byte_seconds else []
    facts = {"blazar.child_status": served.child_status}
    answer = (min(granted, ended), ended)
    yield span("answer", answer, context=_context(trace), parent=own, events=events, attributes=facts)


_FLAGS: Final = TraceFlags(TraceFlags.SAMPLED)


def _context(trace: int) -> SpanContext:
    span = random.getrandbits(64) or 1
    return SpanContext(trace, span, is_remote=False, trace_flags=_FLAGS)


def _about(kept: Kept) -> dict[str, str | int | float | bool]:
    """By OpenTelemetry's names where it has some. Neither who asked from where, nor a word of what."""
    served = kept.served
    facts: dict[str, str | int | float | bool] = {
        "http.request.method": served.method,
        "url.path": served.path.partition("?")[0][:LONGEST_PATH],
        "http.response.status_code": served.status,
        "blazar.trace": served.trace,
        "blazar.dialect": served.dialect,
        "blazar.priority": served.priority,
        "blazar.stream": served.stream,
        "blazar.outcome": served.outcome,
    }
    if served.model:
        facts["gen_ai.request.model"] = served.model
    if served.key:
        facts["blazar.key"] = served.key
    if served.engine:
        facts |= {"blazar.engine": served.engine, "blazar.instance": served.instance, "blazar.work": served.work}
    if served.prompt_tokens or served.completion_tokens:
        facts |= {
            "gen_ai.usage.input_tokens": served.prompt_tokens,
            "gen_ai.usage.output_tokens": served.completion_tokens,
        }
    if served.status >= 400:
        facts["error.type"] = str(served.status)
    return {name: _sendable(value) if isinstance(value, str) else value for name, value in facts.items()}


def _sendable(text: str) -> str:
    """A lone surrogate, which a client can send in a name, has no bytes."""
    return text.encode(errors="replace").decode()


def _metric(family: Family, since: int, now: int) -> shapes.Metric:
    """Under the name that /metrics has for it, so that both can be read side by side."""
    unit = next((unit for end, unit in _UNITS if family.name.endswith(end)), "")
    return shapes.Metric(family.name, family.told, unit, _data(family, since, now))


def _data(family: Family, since: int, now: int) -> Any:
    if family.kind == "histogram":
        return shapes.Histogram([_buckets(point, since, now) for point in family.points], _CUMULATIVE)
    points = [
        shapes.NumberDataPoint(_named(point.labels), since, now, point.value)
        for point in family.points
        if not isinstance(point.value, Histogram)
    ]
    return shapes.Sum(points, _CUMULATIVE, is_monotonic=True) if family.kind == "counter" else shapes.Gauge(points)


def _buckets(point: Any, since: int, now: int) -> shapes.HistogramDataPoint:
    histogram: Histogram = point.value
    unknown: Any = None  # the smallest and the largest are not counted
    counts, bounds = list(histogram.counts), list(histogram.bounds)
    return shapes.HistogramDataPoint(
        _named(point.labels), since, now, sum(counts), histogram.total, counts, bounds, unknown, unknown
    )


def _named(labels: Any) -> dict[str, str]:
    return {name: _sendable(value) for name, value in labels}


def _nanos(unix: float) -> int:
    return max(0, int(unix * 1e9))  # a clock that was set back puts nothing before 1970
