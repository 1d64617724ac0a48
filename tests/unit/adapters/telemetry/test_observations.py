"""What the sentinel observed as events."""

from typing import Any

from blazar.adapters.http.record import RequestRecord
from blazar.adapters.telemetry.observations import PAUSE_SECS, Observations
from blazar.application.ports.telemetry import Served
from tests.fakes.telemetry import MemoryEvents
from tests.unit.adapters.http.asgi_calls import StepClock


def served(*notes: tuple[str, dict[str, Any]]) -> Served:
    record = RequestRecord("plm-1-1", 0.0)
    record.model = "tiny"
    for code, facts in notes:
        record.note(0.0, code, **facts)
    return record.served("POST", "/api/chat", "ollama", "", 1.0)


EMPTY = ("sentinel", {"code": "empty_response", "detail": "the answer is empty"})
CUT = ("sentinel", {"code": "truncation", "detail": "cut"})


def test_what_a_callers_own_limit_cut_off_is_no_warning() -> None:
    """It got what it asked for: its story has it."""
    events = MemoryEvents()
    Observations(events, StepClock()).on_served(served((CUT[0], {**CUT[1], "own": True})))
    assert events.emitted == []


def test_a_model_that_answers_nothing_all_day_is_an_event_now_and_then() -> None:
    """Each code for itself; the first at once, the others counted with the next after a pause; other notes are none of its business."""
    events, clock = MemoryEvents(), StepClock()
    seen = Observations(events, clock)
    for _ in range(100):
        seen.on_served(served(EMPTY, ("asked_again", {})))
    seen.on_served(served(CUT))
    seen.on_served(served())
    clock.time += PAUSE_SECS
    seen.on_served(served(EMPTY))
    assert [(kind, facts["code"], facts["count"]) for kind, facts in events.emitted] == [
        ("sentinel_warning", "empty_response", 1),
        ("sentinel_warning", "truncation", 1),
        ("sentinel_warning", "empty_response", 100),
    ]
    assert events.emitted[0][1] == {"model": "tiny", "trace": "plm-1-1", "count": 1, **EMPTY[1]}
