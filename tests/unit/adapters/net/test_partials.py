"""Files while they are incomplete."""

import json
from pathlib import Path

import pytest

from blazar.adapters.net.partials import NOTE, PART, SAVE_SECS, Partial, discard
from blazar.domain.errors import Conflict

SIZE = 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "file.bin"


def opened(path: Path) -> Partial:
    return Partial(path, "file.bin")


def begun(path: Path, *, count: int = 2) -> None:
    partial = opened(path)
    partial.plan(SIZE, count, '"e"')
    partial.write(partial.spans[0], b"a" * 100, "id")
    partial.save("id")
    partial.close()


@pytest.mark.parametrize("count", [1, 3, 7, 999, 1000])
def test_a_plan_covers_every_byte_once(path: Path, count: int) -> None:
    """Spans meet end to end."""
    partial = opened(path)
    partial.plan(SIZE, count, "")
    edges = [edge for span in partial.spans for edge in (span.start, span.end)]
    assert (edges[0], edges[-1]) == (0, SIZE)
    assert edges[1:-1:2] == edges[2::2]
    partial.close()


def test_the_note_is_no_older_than_a_second(path: Path) -> None:
    """A process that is ended by a signal saves nothing: what it had written down by then is what remains."""
    now = [0.0]
    partial = Partial(path, "file.bin", lambda: now[0])
    partial.plan(SIZE, 1, "")
    partial.write(partial.spans[0], b"a" * 100, "id")
    assert not path.with_name(path.name + NOTE).exists()
    now[0] = SAVE_SECS
    partial.write(partial.spans[0], b"a" * 100, "id")
    partial.write(partial.spans[0], b"a" * 100, "id")
    partial.close()
    later = opened(path)
    assert later.resume(SIZE, "id")
    assert later.done == 200
    later.close()


def test_what_was_saved_is_taken_up(path: Path) -> None:
    """Size, entity and how far each span had come."""
    begun(path)
    partial = opened(path)
    assert partial.resume(SIZE, "id")
    assert (partial.size, partial.etag, partial.done) == (SIZE, '"e"', 100)
    partial.close()


@pytest.mark.parametrize(
    "note",
    [
        "",
        "[]",
        "no json",
        json.dumps({"identity": "id", "size": SIZE}),
        json.dumps({"identity": "id", "size": SIZE, "spans": [[0, 500, 600], [500, 1000, 500]]}),
        json.dumps({"identity": "id", "size": SIZE, "spans": [[0, 400, 0], [500, 1000, 500]]}),
        json.dumps({"identity": "id", "size": SIZE, "spans": [[0, 1000, 900]]}),
        json.dumps({"identity": "id", "size": "x", "spans": [[0]]}),
    ],
)
def test_a_note_that_cannot_be_true_is_forgotten(path: Path, note: str) -> None:
    """A crash, or somebody's hands: nothing of it is trusted, and the bytes are dropped."""
    begun(path)
    path.with_name(path.name + NOTE).write_text(note)
    partial = opened(path)
    assert not partial.resume(SIZE, "id")
    partial.close()
    assert not list(path.parent.iterdir())


def test_another_size_or_identity_is_another_file(path: Path) -> None:
    """It begins anew."""
    for size, identity in ((SIZE + 1, "id"), (SIZE, "other")):
        begun(path)
        partial = opened(path)
        assert not partial.resume(size, identity)
        partial.close()


def test_one_at_a_time(path: Path) -> None:
    """The second is refused; when the first is done, the next may."""
    partial = opened(path)
    with pytest.raises(Conflict, match="another process"):
        opened(path)
    partial.close()
    opened(path).close()


def test_publishing_is_a_rename(path: Path) -> None:
    """The file has its name, and nothing else is left."""
    partial = opened(path)
    partial.plan(3, 1, "")
    partial.write(partial.spans[0], b"abc", "id")
    assert partial.digest() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    partial.save("id")
    partial.publish()
    partial.close()
    assert [one.name for one in path.parent.iterdir()] == ["file.bin"]
    assert path.read_bytes() == b"abc"
    assert not path.with_name(path.name + PART).exists()


def test_a_crash_right_after_the_rename_leaves_no_note_behind(path: Path) -> None:
    """The file is whole, its note is still there: both go together, and what is not there is no error."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"abc")
    path.with_name(path.name + NOTE).write_text("{}")
    for _ in range(2):
        discard(path)
        assert list(path.parent.iterdir()) == []
