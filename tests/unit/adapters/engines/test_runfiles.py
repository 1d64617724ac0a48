"""The files of one child in the run folder."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from blazar.adapters.engines import runfiles
from blazar.adapters.engines.runfiles import PidRecord, RunFiles, pid_records, read_pid_file
from blazar.domain import teaching
from blazar.domain.full_disks import says_full

RECORD = PidRecord(7, "5", "b1", "m")


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(tmp_path, "m")


def names(files: RunFiles) -> list[str]:
    return sorted(path.name for path in files.folder.iterdir())


def test_any_key_is_a_file_name_of_its_own(tmp_path: Path) -> None:
    """Slashes and colons are spelled out, and a model called `daemon` does not write into the daemon's log."""
    assert RunFiles(tmp_path, "org/model:tag").log.name == "org%2Fmodel%3Atag.log"
    assert RunFiles(tmp_path, "daemon").log.name == "%64aemon.log"


def test_a_key_is_for_its_owner_alone(files: RunFiles) -> None:
    """Mode 0600 from the first moment, whatever lay there and whatever the umask."""
    before = os.umask(0)
    try:
        files.key_file.write_text("old")
        files.key_file.chmod(0o666)
        files.write_key("secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE(files.key_file.stat().st_mode) == 0o600
    assert files.key_file.read_text() == "secret\n"


def test_a_run_folder_that_somebody_deleted_is_made_anew(tmp_path: Path) -> None:
    """Clean-up tools do not know that a daemon lives in it; the next child must start all the same, as private as ever."""
    files = RunFiles(tmp_path / "data" / "run", "m")
    files.write_key("secret")
    files.write_pid(RECORD)
    assert read_pid_file(files.pid_file) == RECORD
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700


def test_a_pidfile_is_whole_or_not_there(files: RunFiles) -> None:
    """It comes back as it was written, and no draft of it stays."""
    files.write_pid(RECORD)
    files.write_pid(RECORD._replace(pid=8))
    assert read_pid_file(files.pid_file) == RECORD._replace(pid=8)
    assert names(files) == ["m.pid"]


@pytest.mark.parametrize("text", ["", "7", "{}", "[]", '{"pid": "x"}', '{"pid": 7, "start": "5", "tag": "b1"}'])
def test_foreign_pidfiles_are_passed_over(files: RunFiles, text: str) -> None:
    """Other programs write pidfiles too; one of them must not stop the daemon from starting."""
    (files.folder / "a.pid").write_text(text)
    files.write_pid(RECORD)
    assert read_pid_file(files.folder / "a.pid") is None
    assert list(pid_records(files.folder)) == [RECORD]


def test_a_successors_files_are_left_alone(files: RunFiles) -> None:
    """Closing a dead child late does not delete what its successor wrote under the same key."""
    files.write_key("new")
    files.write_pid(RECORD)
    files.remove(1, "old")
    assert names(files) == ["m.apikey", "m.pid"]
    files.remove(RECORD.pid, "new")
    files.remove(RECORD.pid, "new")
    assert names(files) == []


def test_an_orphans_key_goes_with_it(files: RunFiles) -> None:
    """Nobody knows what its key was: whatever lies there is deleted."""
    files.write_key("unknown")
    files.write_pid(RECORD)
    files.remove(RECORD.pid, "")
    assert names(files) == []


def test_a_log_is_fresh_and_the_previous_one_is_kept(files: RunFiles) -> None:
    """One older generation, and what is written lands at the end even after a cut."""
    for text in (b"first", b"second", b"third"):
        handle = files.open_log()
        os.write(handle, text)
        os.close(handle)
    assert (files.log.read_text(), files.old_log.read_text()) == ("third", "second")
    assert names(files) == ["m.log", "m.log.1"]


def test_a_log_that_grew_too_large_is_cut_to_its_tail(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end becomes the old log; the child writes on at the new end."""
    monkeypatch.setattr(runfiles, "LOG_CAP", 100)
    handle = files.open_log()
    os.write(handle, b"x" * 90)
    assert files.trim_log() == 0
    os.write(handle, b"\nthe end\n\n" * 10)
    assert files.trim_log() == 190
    assert files.last_lines(1) == []
    assert files.old_log.read_text().endswith("the end\n\n")
    os.write(handle, b"on\n")
    os.close(handle)
    assert files.log.read_bytes() == b"on\n"
    assert (files.log_size(), files.last_lines(5)) == (3, ["on"])


def test_a_log_can_be_read_on_from_where_it_was_left(files: RunFiles) -> None:
    """A byte is a character, so that a place in the text is a place in the file, whatever a child prints."""
    files.log.write_bytes(b"one\xfftwo")
    assert files.head(0, 4) == "one\xff"
    assert files.head(4, 100) == "two"
    assert files.head(100, 100) == ""
    files.log.unlink()
    assert files.head(0, 100) == ""


def test_a_log_without_room_says_so(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the child said last is not in it: the disk is why, and counts as its last line."""
    files.log.write_text("one\ntwo\n", encoding="utf-8")
    full = shutil.disk_usage(files.folder)._replace(free=0)
    monkeypatch.setattr(runfiles.shutil, "disk_usage", lambda _: full)
    assert files.last_lines(2) == ["two", teaching.log_no_room(str(files.folder))]
    assert says_full(files.last_lines(1))
    assert files.last_lines(0) == []


def test_without_a_log_there_is_nothing_to_say(files: RunFiles) -> None:
    """No size, no tail, no lines, nothing to trim."""
    assert (files.log_size(), files.tail(), files.last_lines(3), files.trim_log()) == (0, "", [], 0)
