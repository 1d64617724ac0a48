"""What kept files are called, whose they are, how long they are kept."""

import asyncio

import pytest

from blazar.domain.errors import NotFound
from blazar.domain.wire.openai_batches import BATCH_FILE_LIFE
from blazar.domain.wire.paging import Page
from tests.fakes.clock import EPOCH, FakeClock
from tests.support.batching import Batches


def wait(batches: Batches, seconds: float) -> None:
    assert isinstance(batches.clock, FakeClock)
    asyncio.run(batches.clock.advance(seconds))


def test_a_file_is_kept_whole_and_described() -> None:
    """Its name is a name, whatever it looks like."""
    batches = Batches()
    intake = batches.kept.begin()
    intake.write(b"hello")
    note = batches.shelf.keep(intake, "me", "é.jsonl", "user_data", 0)
    assert (note.name, note.purpose, note.size, note.created_at, note.expires_at) == (
        "é.jsonl",
        "user_data",
        5,
        EPOCH,
        0,
    )
    assert batches.shelf.find(note.id, "me") == note
    found, reading = batches.shelf.open(note.id, "me")
    assert (found, reading.read(100)) == (note, b"hello")


def test_somebody_elses_file_is_none() -> None:
    """Not described, not read, not removed, not listed (A29)."""
    batches = Batches()
    note = batches.upload(b"x", "a")
    for wish in (batches.shelf.find, batches.shelf.open, batches.shelf.remove):
        with pytest.raises(NotFound):
            wish(note.id, "b")
    assert batches.shelf.page("b", Page()).files == ()


def test_a_file_for_batches_expires_as_the_api_has_it() -> None:
    """Others stay; a life that was named holds."""
    batches = Batches()
    note = batches.upload(b"x")
    assert note.expires_at == note.created_at + BATCH_FILE_LIFE
    intake = batches.kept.begin()
    short = batches.shelf.keep(intake, "", "n", "vision", 3600)
    wait(batches, 3600)
    with pytest.raises(NotFound):
        batches.shelf.find(short.id, "")
    assert [one.id for one in batches.shelf.page("", Page()).files] == [note.id]
    assert list(batches.shelf.expire()) == [short.id]
    assert set(batches.kept.files) == {note.id} == batches.shelf.known()


def test_a_removed_file_is_gone() -> None:
    """Its row and its bytes."""
    batches = Batches()
    note = batches.upload(b"x")
    batches.shelf.remove(note.id, "")
    assert batches.kept.files == {}
    with pytest.raises(NotFound):
        batches.shelf.find(note.id, "")


def test_a_file_whose_bytes_are_gone_is_a_404() -> None:
    """Somebody has tidied the folder."""
    batches = Batches()
    note = batches.upload(b"x")
    batches.kept.files.clear()
    with pytest.raises(NotFound):
        batches.shelf.open(note.id, "")


def test_a_listing_of_one_purpose_looks_through_all_pages() -> None:
    """And says whether there is more."""
    batches = Batches()
    wanted = [batches.upload(b"x", purpose="vision").id for _ in range(3)]
    for _ in range(150):
        batches.upload(b"x")
    found = batches.shelf.page("", Page(2), "vision")
    assert ([note.id for note in found.files], found.more) == (wanted[:0:-1], True)
    rest = batches.shelf.page("", Page(2, wanted[1], ascending=False), "vision")
    assert ([note.id for note in rest.files], rest.more) == (wanted[:1], False)
    oldest = batches.shelf.page("", Page(1, ascending=True))
    assert ([note.id for note in oldest.files], oldest.more) == (wanted[:1], True)
