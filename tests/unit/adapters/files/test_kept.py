"""Kept files on disk: what a crash, a full disk and a hostile id make of them."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.files.kept import SPARE, DiskKeptFiles, sync_folder, translated, try_writing
from blazar.domain.errors import StoreTrouble, TooLarge
from tests.fakes.disk import FakeDisk
from tests.fakes.entropy import CountingEntropy


def kept_in(folder: Path, **disk: object) -> DiskKeptFiles:
    return DiskKeptFiles(folder, FakeDisk(**disk), CountingEntropy())  # type: ignore[arg-type]


@pytest.mark.parametrize("id_", ["../x", "a/b", "/etc/passwd", "", ".parts", "a\x00", "a" * 129, "a.b", "-a"])
def test_what_is_no_id_is_no_path(tmp_path: Path, id_: str) -> None:
    """Nothing outside the folder can be reached, whoever made the id (J6)."""
    kept = kept_in(tmp_path / "files")
    assert kept.path(id_) is None
    assert kept.open(id_) is None
    kept.remove(id_)


def test_a_file_that_does_not_fit_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    """Room for catalog and logs is left."""
    with pytest.raises(TooLarge, match="no room"):
        kept_in(tmp_path, room=SPARE + 99).begin(100)
    intake = kept_in(tmp_path, room=SPARE + 100).begin(100)
    intake.discard()


def test_nothing_of_an_upload_is_left_when_it_is_dropped(tmp_path: Path) -> None:
    """Nor can it be seen meanwhile."""
    intake = kept_in(tmp_path).begin()
    intake.write(b"abc")
    assert [path.name for path in tmp_path.iterdir()] == [".parts"]
    intake.discard()
    intake.discard()
    assert [*(tmp_path / ".parts").iterdir()] == []


def test_a_sweep_takes_what_a_killed_daemon_left(tmp_path: Path) -> None:
    """Parts, and files that no row knows."""
    kept = kept_in(tmp_path)
    left = kept.begin()
    left.write(b"x")
    (tmp_path / "file-9").write_bytes(b"orphan")
    (tmp_path / ".batches").mkdir()
    kept_in(tmp_path).sweep(())
    assert sorted(path.name for path in tmp_path.iterdir()) == [".batches", ".parts"]
    left.discard()


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    """What people send is private."""
    intake = kept_in(tmp_path).begin()
    intake.keep("file-1")
    assert (tmp_path / "file-1").stat().st_mode & 0o777 == 0o600


def test_what_the_disk_says_is_told_in_our_words(tmp_path: Path) -> None:
    """With the place and what to look at."""
    with pytest.raises(StoreTrouble, match="check free space"), translated(tmp_path):
        raise OSError(28, "No space left on device")
    kept = kept_in(tmp_path / "file", error=OSError(5, "Input/output error"))
    with pytest.raises(StoreTrouble, match="Input/output error"):
        kept.begin()


def test_a_folder_is_synced(tmp_path: Path) -> None:
    """A rename outlives a power failure; one that cannot be opened is left."""
    sync_folder(tmp_path)


def _refusing(number: int) -> Callable[..., None]:
    def touch(path: Path, *_: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    return touch


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_folder_that_may_not_be_written_to_is_found_by_trying(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modes alone do not say it: root may write everywhere, and nobody on a disk that is mounted read-only."""
    try_writing(tmp_path / "models")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Path, "touch", _refusing(number))
    with pytest.raises(OSError, match=str(tmp_path)):
        try_writing(tmp_path / "models")


def test_a_full_disk_is_no_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a sentence of its own for that, with how much is lacking."""
    monkeypatch.setattr(Path, "touch", _refusing(errno.ENOSPC))
    try_writing(tmp_path)
