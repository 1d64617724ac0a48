"""The daemon's lock and note."""

import json
from pathlib import Path

import pytest

from blazar.adapters.files.daemonfiles import DaemonNote, DataDirLock
from blazar.domain.errors import DataDirLocked


def test_a_second_daemon_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    """The lock is exclusive while it is held, and free again after (D2)."""
    first, second = DataDirLock(tmp_path), DataDirLock(tmp_path)
    first.acquire()
    with pytest.raises(DataDirLocked, match="another daemon"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


def test_the_note_is_for_its_owner_alone_and_complete(tmp_path: Path) -> None:
    """Mode 0600, whole JSON, gone after the stop (D3)."""
    note = DaemonNote(tmp_path)
    note.write("http://127.0.0.1:1", 7, "9")
    path = tmp_path / "daemon.json"
    assert json.loads(path.read_text()) == {"url": "http://127.0.0.1:1", "pid": 7, "start_time": "9"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["daemon.json"]
    note.remove()
    note.remove()
    assert not path.exists()


def test_who_asks_is_told_whether_a_daemon_runs_and_where(tmp_path: Path) -> None:
    """Asking takes the lock from nobody, and a note that is none says nothing."""
    lock, note = DataDirLock(tmp_path), DaemonNote(tmp_path)
    assert not DataDirLock(tmp_path).is_held()
    lock.acquire()
    assert DataDirLock(tmp_path).is_held()
    lock.release()
    assert not DataDirLock(tmp_path).is_held()
    assert note.url() == ""
    note.write("http://127.0.0.1:1", 7, "9")
    assert note.url() == "http://127.0.0.1:1"
    for text in ("[]", "{", "{}"):
        (tmp_path / "daemon.json").write_text(text)
        assert note.url() == ""
