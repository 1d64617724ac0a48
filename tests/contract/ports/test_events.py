"""What everybody who is told events must do."""

import logging

import pytest

from blazar.adapters.telemetry.chronicle import Chronicle
from blazar.adapters.telemetry.events import LogEvents
from blazar.adapters.telemetry.feed import Feed
from blazar.application.ports.telemetry import Events
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryEvents


def fed() -> Feed:
    """One that nobody listens to."""
    return Feed(LogEvents(), FakeClock())


def remembered() -> Chronicle:
    return Chronicle(LogEvents(), FakeClock())


@pytest.fixture(params=[LogEvents, MemoryEvents, fed, remembered])
def events(request: pytest.FixtureRequest) -> Events:
    made: Events = request.param()
    return made


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"model": "tiny", "pid": 7, "seconds": 1.5},
        {"why": "two\nlines", "error": None, "words": ("a", "b"), "raw": b"\xff", "odd": "\ud800"},
        {"why": "%s %d {x}"},
        {"why": "x" * 100_000},
    ],
)
def test_any_facts_are_taken(events: Events, facts: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    """Telling never raises, whatever a child printed or a client sent, at any log level."""
    for level in (logging.DEBUG, logging.CRITICAL):
        caplog.set_level(level)
        events.emit("failed", **facts)


def test_events_are_told_in_order(events: Events, caplog: pytest.LogCaptureFixture) -> None:
    """One record each."""
    caplog.set_level(logging.INFO)
    for kind in ("loading", "serving", "evicted"):
        events.emit(kind, model="tiny")
    kinds = [kind for kind, _ in events.emitted] if isinstance(events, MemoryEvents) else caplog.messages
    assert [text.split()[0] for text in kinds] == ["loading", "serving", "evicted"]
