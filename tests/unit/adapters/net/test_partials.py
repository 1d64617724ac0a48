"""Files while they are incomplete."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from blazar.adapters.net import partials
from blazar.adapters.net.partials import (
    NOTE,
    PART,
    PIECE_LEAST,
    PIECE_MOST,
    SAVE_SECS,
    Partial,
    discard,
    piece_of,
    told_of,
)
from blazar.domain.errors import Conflict

SIZE = 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "file.bin"


def opened(path: Path) -> Partial:
    return Partial(path, "file.bin")


def test_a_note_is_its_owners_alone(path: Path) -> None:
    """An address in it may hold what lets anybody have the file; also where a process died over one that was not so."""
    path.parent.mkdir()
    path.with_name(path.name + NOTE + ".new").write_text("{")
    begun(path)
    assert path.with_name(path.name + NOTE).stat().st_mode & 0o077 == 0


def begun(path: Path, *, count: int = 2) -> None:
    partial = opened(path)
    partial.plan(SIZE, count, '"e"', "id")
    partial.write(partial.spans[0], b"a" * 100)
    partial.save()
    partial.close()


@pytest.mark.parametrize("count", [1, 3, 7, 999, 1000])
def test_a_plan_covers_every_byte_once(path: Path, count: int) -> None:
    """Spans meet end to end."""
    partial = opened(path)
    partial.plan(SIZE, count, "", "id")
    edges = [edge for span in partial.spans for edge in (span.start, span.end)]
    assert (edges[0], edges[-1]) == (0, SIZE)
    assert edges[1:-1:2] == edges[2::2]
    partial.close()


def test_the_note_is_no_older_than_a_second(path: Path) -> None:
    """A process that is ended by a signal saves nothing: what it had written down by then is what remains."""
    now = [0.0]
    partial = Partial(path, "file.bin", lambda: now[0])
    partial.plan(SIZE, 1, "", "id")
    partial.write(partial.spans[0], b"a" * 100)
    assert not path.with_name(path.name + NOTE).exists()
    partial.save_if_due()
    assert not path.with_name(path.name + NOTE).exists()
    now[0] = SAVE_SECS
    partial.write(partial.spans[0], b"a" * 100)
    partial.save_if_due()
    partial.write(partial.spans[0], b"a" * 100)
    partial.save_if_due()
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
    partial.plan(3, 1, "", "id")
    partial.write(partial.spans[0], b"abc")
    partial.save()
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


@pytest.mark.parametrize(
    ("size", "connections", "piece"),
    [
        (1 << 20, 1, 1 << 20),
        (1 << 20, 8, 1 << 17),
        (1 << 30, 8, 16 << 20),
        (1 << 37, 8, PIECE_MOST),
        (1 << 37, 1, 1 << 37),
        (100 << 20, 8, PIECE_LEAST),
    ],
)
def test_pieces_are_worth_a_request_and_hold_nobody_up(size: int, connections: int, piece: int) -> None:
    """At least one for each connection, several of a large file, none of more than a bound; a single connection takes all."""
    assert piece_of(size, connections) == piece


def test_a_cut_span_leaves_no_gap_in_the_note(path: Path) -> None:
    """The rest has a span of its own, and both are taken up."""
    partial = opened(path)
    partial.plan(SIZE, 1, "", "id")
    first = partial.spans[0]
    partial.write(first, b"a" * 100)
    rest = partial.cut(first, 600)
    partial.write(rest, b"b" * 50)
    partial.save()
    partial.close()
    later = opened(path)
    assert later.resume(SIZE, "id")
    assert [(span.start, span.end, span.at) for span in later.spans] == [(0, 600, 100), (600, SIZE, 650)]
    assert (later.done, later.read(600, 50)) == (150, b"b" * 50)
    later.close()


def test_who_waits_reads_the_note(path: Path) -> None:
    """How far the one who has the lock has come; nothing where there is no note."""
    assert told_of(path) == (0, 0)
    begun(path)
    assert told_of(path) == (100, SIZE)


def test_a_file_that_was_published_meanwhile_is_not_taken_for_a_partial(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened, then renamed by its owner, then locked: it would be cut to nothing as a partial of another file."""
    path.parent.mkdir(parents=True)
    real, part = partials.lock, path.with_name(path.name + PART)

    def late(file: int, name: str) -> None:
        if not path.exists():
            part.write_bytes(b"whole")
            part.replace(path)
        real(file, name)

    monkeypatch.setattr(partials, "lock", late)
    partial = opened(path)
    partial.forget()
    partial.close()
    assert path.read_bytes() == b"whole"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_writers_wait_for_a_slow_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no note knows of is bounded, however fast it comes."""
    slow, ended = Event(), Event()
    monkeypatch.setattr(partials, "SAVE_LEAST", 100)
    monkeypatch.setattr(partials.os, "fsync", lambda _: slow.wait(10))
    partial = opened(path)
    partial.plan(SIZE, 1, "", "id")
    with ThreadPoolExecutor(2) as pool:
        keeping = pool.submit(partial.keep, ended)
        while not partial._kept:
            pass
        writing = pool.submit(lambda: [partial.write(partial.spans[0], b"a" * 50) for _ in range(SIZE // 50)])
        while partial.done < 200:
            pass
        assert not writing.done()
        assert partial.done == 200
        slow.set()
        writing.result(10)
        ended.set()
        partial.wake()
        keeping.result(10)
    assert partial.done == SIZE
    partial.close()


def test_h8_a_note_that_finds_no_room_leaves_the_one_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is still true; nothing half-written lies beside it."""
    begun(path)
    partial = opened(path)
    assert partial.resume(SIZE, "id")
    partial.write(partial.spans[0], b"b" * 100)

    def full(_: Path, __: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space"):
            partial.save()
    partial.close()
    assert told_of(path) == (100, SIZE)
    assert len(list(path.parent.iterdir())) == 2


def test_h9_a_file_is_on_the_disk_before_it_has_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes, then the name, then the folder that has the name: after a power cut no name is of bytes that never came."""
    begun(path)
    partial = opened(path)
    order = list[str]()
    fsync, replace, sync_folder = partials.os.fsync, Path.replace, partials.sync_folder

    def synced(file: int) -> None:
        order.append("bytes")
        fsync(file)

    def renamed(source: Path, target: Path) -> Path:
        order.append("name")
        assert not target.exists()
        return replace(source, target)

    def listed(folder: Path) -> None:
        order.append("folder")
        assert (folder, path.exists()) == (path.parent, True)
        with monkeypatch.context() as patched:
            patched.setattr(partials.os, "fsync", fsync)
            sync_folder(folder)

    monkeypatch.setattr(partials.os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(partials, "sync_folder", listed)
    partial.publish()
    partial.close()
    assert order == ["bytes", "name", "folder"]
