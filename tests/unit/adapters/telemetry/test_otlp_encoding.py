"""The bytes for a collector, read back with the protocol's own types."""

from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from blazar.adapters.telemetry.metrics import PrometheusMeter
from blazar.adapters.telemetry.otlp_encoding import Sender, metric_bytes, span_bytes
from blazar.application.ports.recollection import Kept
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import a_served

SENDER = Sender("box", "1.2.3", 500.0)
PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def spans(*served: Any) -> list[Any]:
    message = ExportTraceServiceRequest.FromString(span_bytes(SENDER, [Kept(1000.0, one) for one in served]))
    (resource,) = message.resource_spans
    assert values(resource.resource.attributes) == {"service.name": "box", "service.version": "1.2.3"}
    return list(resource.scope_spans[0].spans)


def a_long_one(**changes: Any) -> Any:
    facts = {"instance": "tiny", "engine": "b1", "work": "tool", "child_status": 200, "parent": PARENT}
    return a_served(seconds=10.0, load_seconds=4.0, queue_seconds=1.0, first_byte_seconds=6.0, **{**facts, **changes})


def test_a_request_and_its_parts():
    """One trace: the request below its caller's span, and in it the load, the time in line, and the answer, end to end."""
    whole, load, queue, answer = spans(a_long_one())
    assert {one.trace_id.hex() for one in (whole, load, queue, answer)} == {"0af7651916cd43dd8448eb211c80319c"}
    assert whole.parent_span_id.hex() == "b7ad6b7169203331"
    assert {one.parent_span_id for one in (load, queue, answer)} == {whole.span_id}
    times = [
        (one.start_time_unix_nano // 10**9, one.end_time_unix_nano // 10**9) for one in (whole, load, queue, answer)
    ]
    assert times == [(990, 1000), (990, 994), (994, 995), (995, 1000)]
    assert [event.name for event in answer.events] == ["first byte"]
    assert answer.events[0].time_unix_nano == 996 * 10**9
    assert (whole.name, load.name, queue.name, answer.name) == ("POST /v1/chat/completions", "load", "queue", "answer")
    facts = values(whole.attributes)
    assert facts["gen_ai.request.model"] == "tiny"
    assert (facts["gen_ai.usage.input_tokens"], facts["gen_ai.usage.output_tokens"]) == (12, 34)
    assert (facts["http.response.status_code"], facts["blazar.trace"], facts["blazar.work"]) == (
        200,
        "plm-0011-1",
        "tool",
    )


def test_without_a_caller_each_is_a_trace_of_its_own():
    """And one that came to no child has no parts, nor a name that a path would make."""
    one, other = spans(
        a_served(parent=b"", model="", path="/v1/responses/resp_1"), a_served(parent=b"junk", status=503)
    )
    assert one.trace_id != other.trace_id
    assert (one.parent_span_id, one.name) == (b"", "POST")
    assert other.status.code == 2
    assert values(other.attributes)["error.type"] == "503"


def test_nobody_learns_who_asked_from_where():
    """Neither addresses nor sentences leave; a text that has no bytes does not stop the rest."""
    data = span_bytes(SENDER, [Kept(1.0, a_long_one(peer="10.9.8.7", refusal="a secret", model="\udc80"))])
    assert b"10.9.8.7" not in data
    assert b"a secret" not in data


def test_every_counter_is_told():
    """Under its name in /metrics; sums that only grow, gauges, and histograms with their buckets."""
    meter = PrometheusMeter(FakeClock(), "1.2.3")
    meter.on_served(a_served())
    meter.on_spawn("tiny", 700.0)
    message = ExportMetricsServiceRequest.FromString(metric_bytes(SENDER, meter.families(), 1000.0))
    found = {metric.name: metric for metric in message.resource_metrics[0].scope_metrics[0].metrics}
    requests = found["blazar_requests_total"].sum
    assert (requests.is_monotonic, requests.aggregation_temporality) == (True, 2)
    (point,) = requests.data_points
    assert values(point.attributes) == {"dialect": "openai", "model": "tiny", "status": "200"}
    assert (point.as_int, point.start_time_unix_nano, point.time_unix_nano) == (1, 500 * 10**9, 1000 * 10**9)
    assert found["blazar_uptime_seconds"].WhichOneof("data") == "gauge"
    (spawn,) = found["blazar_spawn_seconds"].histogram.data_points
    assert (spawn.count, spawn.sum, spawn.bucket_counts[-1]) == (1, 700.0, 1)
    assert len(spawn.bucket_counts) == len(spawn.explicit_bounds) + 1
    assert found["blazar_spawn_seconds"].unit == "s"
    assert "blazar_evictions_total" not in found
