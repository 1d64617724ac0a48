"""What every place of kept files and of batches' papers must do: the one in memory and the one on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.files.batch_papers import DiskBatchPapers
from blazar.adapters.files.kept import DiskKeptFiles
from blazar.application.ports.batch_papers import BatchPapers
from blazar.application.ports.kept_files import KeptFiles
from tests.fakes.batch_papers import MemoryPapers
from tests.fakes.disk import FakeDisk
from tests.fakes.entropy import CountingEntropy
from tests.fakes.kept_files import MemoryKeptFiles


class Place(NamedTuple):
    """Both sides of one disk."""

    files: KeptFiles
    papers: BatchPapers


def _memory(_folder: Path) -> Place:
    kept = MemoryKeptFiles()
    return Place(kept, MemoryPapers(kept))


def _disk(folder: Path) -> Place:
    kept = DiskKeptFiles(folder / "files", FakeDisk(), CountingEntropy())
    return Place(kept, DiskBatchPapers(folder / "files", kept))


@pytest.fixture(params=[_memory, _disk], ids=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    build: Callable[[Path], Place] = request.param
    return build(tmp_path)


def put(place: Place, id_: str, data: bytes) -> None:
    intake = place.files.begin(len(data))
    intake.write(data)
    intake.keep(id_)
    intake.discard()


def content(place: Place, id_: str) -> bytes | None:
    reading = place.files.open(id_)
    if reading is None:
        return None
    try:
        return reading.read(1_000_000)
    finally:
        reading.close()


def all_of(read: Callable[[str, int], object]) -> list[bytes]:
    """Every line, handful by handful."""
    found: list[bytes] = []
    at = 0
    while (handful := read("b1", at)).lines:  # type: ignore[attr-defined]
        found += handful.lines  # type: ignore[attr-defined]
        at = handful.following  # type: ignore[attr-defined]
    return found


def test_a_file_is_there_when_it_is_kept(place: Place) -> None:
    """Not before, and not when it was discarded."""
    intake = place.files.begin()
    intake.write(b"ab")
    intake.write(b"c")
    assert intake.size == 3
    assert content(place, "file-1") is None
    intake.keep("file-1")
    intake.discard()
    assert content(place, "file-1") == b"abc"
    place.files.begin().discard()
    assert content(place, "file-2") is None


def test_a_file_takes_anothers_place(place: Place) -> None:
    """Below the same id there is one."""
    put(place, "file-1", b"old")
    put(place, "file-1", b"new")
    assert content(place, "file-1") == b"new"


def test_removing(place: Place) -> None:
    """Twice is no error; who reads it reads on."""
    put(place, "file-1", b"abc")
    reading = place.files.open("file-1")
    assert reading is not None
    place.files.remove("file-1")
    place.files.remove("file-1")
    assert reading.read(10) == b"abc"
    reading.close()
    assert content(place, "file-1") is None


def test_sweeping_leaves_what_is_known(place: Place) -> None:
    """And papers of batches, which have a sweep of their own."""
    put(place, "file-1", b"1")
    put(place, "file-2", b"2")
    place.papers.write("b1", [b"x"])
    place.papers.write("b2", [b"x"])
    place.files.sweep({"file-2"})
    assert (content(place, "file-1"), content(place, "file-2")) == (None, b"2")
    place.papers.sweep({"b1"})
    assert place.papers.requests("b1").lines == (b"x",)
    place.papers.write("b2", [b"again"])


def test_a_file_becomes_requests(place: Place) -> None:
    """They stay when it goes; without it there are none."""
    put(place, "file-1", b"a\nb\r\n\nc")
    assert place.papers.take("b1", "file-1")
    place.files.remove("file-1")
    assert all_of(place.papers.requests) == [b"a", b"b", b"", b"c"]
    assert not place.papers.take("b2", "file-1")


def test_a_journal_holds_what_was_appended(place: Place) -> None:
    """In order, also over several handfuls."""
    place.papers.write("b1", [b"x"])
    assert place.papers.results("b1").lines == ()
    lines = [b"s%d" % n for n in range(10)]
    for line in lines:
        place.papers.append("b1", [line], durable=False)
    place.papers.append("b1", (), durable=True)
    assert all_of(place.papers.results) == lines


def test_results_are_published_by_their_marks(place: Place) -> None:
    """Without the mark; none of them, no file."""
    place.papers.write("b1", [b"x"])
    place.papers.append("b1", [b"s1", b"f2", b"s3", b"x4"], durable=True)
    assert place.papers.publish("b1", "s", "out") == len(b"1\n3\n")
    assert content(place, "out") == b"1\n3\n"
    assert place.papers.publish("b1", "fcx", "errors") == 4
    assert content(place, "errors") == b"2\n4\n"
    assert place.papers.publish("b1", "c", "none") == 0
    assert content(place, "none") is None
    place.papers.discard("b1")
    place.papers.discard("b1")
    assert content(place, "out") == b"1\n3\n"
