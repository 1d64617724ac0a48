"""Keeping an answer, and what it costs when that does not go well."""

from collections.abc import Collection, Sequence

import pytest

from blazar.application.kept import keep_answer
from blazar.application.kept.keep_answer import LARGEST, KeepAnswer
from blazar.application.ports.saved import Keeping, Saved
from blazar.domain.errors import StoreTrouble
from tests.fakes.clock import FakeClock
from tests.fakes.saved import MemorySaved


def saved(id_: str, body: bytes = b"{}", status: str = "completed", kind: Keeping = Keeping.RESPONSE) -> Saved:
    return Saved(kind, id_, "", 0.0, "m", status, "{}", body)


class FullStore(MemorySaved):
    """Refuses while `full`."""

    full = True

    def add(self, saved: Saved) -> None:
        if self.full:
            raise StoreTrouble("no space left")
        super().add(saved)


class CountingStore(MemorySaved):
    """Counts how often room is made."""

    trims = 0

    def trim(self, kind: Keeping, most_bytes: int, now: float, spared: Collection[str] = ()) -> Sequence[str]:
        self.trims += 1
        return super().trim(kind, most_bytes, now, spared)


def test_an_answer_is_kept() -> None:
    """Without a warning."""
    store = MemorySaved()
    assert KeepAnswer(store, FakeClock())(saved("a")) == ""
    assert store.find(Keeping.RESPONSE, "a", "") is not None


def test_a_disk_that_will_not_is_a_warning() -> None:
    """Never an error; it is remembered until one was kept again."""
    store = FullStore()
    keep = KeepAnswer(store, FakeClock())
    assert keep(saved("a")).startswith("not_kept; the disk")
    assert keep.trouble
    store.full = False
    assert keep(saved("a")) == ""
    assert not keep.trouble


def test_an_answer_that_is_too_large_is_not_kept() -> None:
    """It would push out hundreds of others."""
    store = MemorySaved()
    assert "16 MiB" in KeepAnswer(store, FakeClock())(saved("a", b"x" * LARGEST))
    assert store.find(Keeping.RESPONSE, "a", "") is None


def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not those that are still being worked on; each kind has room of its own (A29)."""
    monkeypatch.setattr(keep_answer, "MOST_BYTES", 250)
    monkeypatch.setattr(keep_answer, "SLACK", 0)
    store = MemorySaved()
    keep = KeepAnswer(store, FakeClock())
    keep(saved("working", b"x" * 90, "in_progress"))
    keep(saved("chat", b"x" * 200, kind=Keeping.COMPLETION))
    for number in range(3):
        keep(saved(f"r{number}", b"x" * 90))
    left = [id_ for id_ in ("working", "r0", "r1", "r2") if store.find(Keeping.RESPONSE, id_, "")]
    assert left == ["working", "r1", "r2"]
    assert store.find(Keeping.COMPLETION, "chat", "") is not None


def test_room_is_not_looked_for_at_every_answer() -> None:
    """A look goes over all that is kept: at the first answer, and after so many bytes."""
    store = CountingStore()
    keep = KeepAnswer(store, FakeClock())
    for number in range(50):
        keep(saved(f"r{number}"))
    assert store.trims == 1
