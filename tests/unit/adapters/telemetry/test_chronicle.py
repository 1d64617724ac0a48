"""What is remembered of events: the last of everything, and of each model for longer."""

import asyncio

from blazar.adapters.telemetry.chronicle import KINDS, LATELY, MODELS, Chronicle
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.telemetry import MemoryEvents


def after(clock: FakeClock, seconds: float) -> None:
    asyncio.run(clock.advance(seconds))


def test_events_are_found_by_time():
    """Both ends count, and whoever listened before still hears."""
    clock, inner = FakeClock(), MemoryEvents()
    chronicle = Chronicle(inner, clock)
    for model in ("a", "b", "c"):
        chronicle.emit("loading", model=model)
        after(clock, 1.0)
    assert [told.facts["model"] for told in chronicle.between(EPOCH, EPOCH + 1)] == ["a", "b"]
    assert len(inner.emitted) == 3


def test_the_last_of_each_kind_is_known_however_long_ago():
    """A model that serves for a week was loaded for some reason; what came after the moment that is asked about does not count."""
    clock = FakeClock()
    chronicle = Chronicle(MemoryEvents(), clock)
    chronicle.emit("serving", model="old", engine="b1")
    after(clock, 1.0)
    for _ in range(LATELY + 1):
        chronicle.emit("noise")
    (told,) = chronicle.last("old", EPOCH + 2)
    assert (told.kind, told.facts["engine"]) == ("serving", "b1")
    after(clock, 1.0)
    chronicle.emit("serving", model="young", engine="b1")
    after(clock, 1.0)
    chronicle.emit("serving", model="young", engine="b2")
    assert [told.facts["engine"] for told in chronicle.last("young", EPOCH + 2.5)] == ["b1"]
    assert chronicle.last("young", EPOCH + 1) == []


def test_memory_is_bounded():
    """Models, kinds of one model, and events."""
    chronicle = Chronicle(MemoryEvents(), FakeClock())
    for number in range(MODELS + 10):
        chronicle.emit("serving", model=f"m{number}")
    for number in range(KINDS + 10):
        chronicle.emit(f"kind{number}", model="m")
    for _ in range(LATELY):
        chronicle.emit("noise")
    assert chronicle.last("m0", EPOCH) == []
    assert len(chronicle.last("m", EPOCH)) == KINDS
    assert len(chronicle.between(0, EPOCH + 1)) == LATELY
