"""Refused keys as events."""

from blazar.adapters.telemetry.refusals import PAUSE_SECS, KeyRefusals
from tests.fakes.telemetry import MemoryEvents
from tests.unit.adapters.http.asgi_calls import StepClock


def test_a_flood_is_one_event_and_a_count() -> None:
    """The first is told at once, the others with the next one after a pause."""
    events, clock = MemoryEvents(), StepClock()
    refused = KeyRefusals(events, clock)
    for _ in range(100):
        refused("10.0.0.1", "/v1/models")
    clock.time += PAUSE_SECS
    refused("10.0.0.2", "/x" * 500)
    assert events.emitted == [
        ("key_refused", {"peer": "10.0.0.1", "path": "/v1/models", "count": 1}),
        ("key_refused", {"peer": "10.0.0.2", "path": "/x" * 100, "count": 100}),
    ]
