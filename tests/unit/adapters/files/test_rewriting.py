"""A file replaced: the old bytes kept, the new ones whole or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

from blazar.adapters.files import rewriting
from blazar.adapters.files.rewriting import KEPT, rewrite, wait_for_lock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a line in it."""
    path = tmp_path / "c.toml"
    path.write_bytes(b"old\n")
    return path


def backups(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.*.bak"))


def test_the_file_is_replaced_and_the_old_bytes_lie_beside_it(file):
    """Nothing else is left, and the backup is for the owner alone."""
    assert rewrite(file, lambda old: old + b"new\n") is True
    (backup,) = backups(file)
    assert (file.read_bytes(), backup.read_bytes()) == (b"old\nnew\n", b"old\n")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert sorted(file.parent.iterdir()) == [file, backup]


def test_nothing_to_do_touches_nothing(file):
    """No backup, no new file."""
    before = file.stat()
    assert rewrite(file, lambda old: old) is False
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(file.parent.iterdir()) == [file]


def test_a_missing_file_and_its_folder_are_made(tmp_path):
    """For the owner alone, without a backup of nothing."""
    path = tmp_path / "a" / "b" / "c.toml"
    assert rewrite(path, lambda old: old + b"x") is True
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"x", 0o600)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("private", "mode"), [(False, 0o640), (True, 0o600)])
def test_a_mode_stays_unless_secrets_come(file, private, mode):
    """A group that may read it goes on reading it."""
    file.chmod(0o640)
    rewrite(file, lambda _: b"x", private=private)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_an_owner_stays_where_we_may_give_files_away(file, monkeypatch):
    """Root that edits another's file does not take it from them; who may not is not kept from writing."""
    asked = []
    real = Path.stat

    def other(self, **more):
        found = real(self, **more)
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:])) if self == file else found

    def chown(path, uid, gid):
        asked.append((Path(path).suffix, uid))
        raise PermissionError

    monkeypatch.setattr(Path, "stat", other)
    monkeypatch.setattr(os, "chown", chown)
    rewrite(file, lambda _: b"x")
    assert asked == [(".tmp", os.getuid() + 1)]
    assert file.read_bytes() == b"x"


def test_a_link_stays_a_link(file, tmp_path):
    """Dotfile managers link the file, also to one that is not there yet; backups lie beside the real one."""
    for target in (file, tmp_path / "dots" / "new.toml"):
        link = tmp_path / f"link-{target.stem}"
        link.symlink_to(target)
        rewrite(link, lambda old: old + b"x")
        assert link.is_symlink()
        assert target.read_bytes().endswith(b"x")
        assert not backups(link)


def test_only_the_newest_backups_of_ours_stay(file):
    """Ten; another's .bak is not ours to delete."""
    theirs = [file.with_name(name) for name in ("c.toml.bak", "c.toml.old.bak", "d.toml.20200101T000000.000000Z.bak")]
    for path in theirs:
        path.touch()
    old = file.with_name("c.toml.20200101T000000.000000Z.bak")
    old.touch()
    for number in range(KEPT + 2):
        rewrite(file, lambda _, number=number: b"%d" % number)
    kept = [path for path in backups(file) if path not in theirs]
    assert len(kept) == KEPT
    assert old not in kept
    assert kept[-1].read_bytes() == b"10"
    assert all(path.exists() for path in theirs)


FAULTS = [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO]


@pytest.mark.parametrize("fault", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize("suffix", [".lock", ".bak", ".tmp"])
def test_a_file_that_cannot_be_made_leaves_everything_as_it_was(file, monkeypatch, fault, suffix):
    """Lock, backup or new file: not one byte, not one name."""
    real = os.open

    def refusing(path, *more):
        if str(path).endswith(suffix):
            raise OSError(fault, os.strerror(fault))
        return real(path, *more)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(OSError, match=os.strerror(fault)):
        rewrite(file, lambda _: b"new")
    monkeypatch.undo()
    assert (file.read_bytes(), list(file.parent.iterdir())) == (b"old\n", [file])


@pytest.mark.parametrize("fault", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_disk_that_fills_up_leaves_everything_as_it_was(file, monkeypatch, fault, nth):
    """While the backup or the new file is brought to the disk."""
    calls = []
    real = os.fsync

    def failing(number):
        calls.append(number)
        if len(calls) == nth:
            raise OSError(fault, os.strerror(fault))
        real(number)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match=os.strerror(fault)):
        rewrite(file, lambda _: b"new")
    assert (file.read_bytes(), list(file.parent.iterdir())) == (b"old\n", [file])


def test_a_rename_that_fails_leaves_everything_as_it_was(file, monkeypatch):
    """The last step can fail too."""

    def refuse(self, target):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="Read-only"):
        rewrite(file, lambda _: b"new")
    assert (file.read_bytes(), list(file.parent.iterdir())) == (b"old\n", [file])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
def test_a_full_device_is_an_error_of_the_write(file, monkeypatch):
    """The kernel's own answer, not a double's."""
    real = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda path, *more: real("/dev/full", os.O_WRONLY) if str(path).endswith(".tmp") else real(path, *more),
    )
    with pytest.raises(OSError, match="No space left"):
        rewrite(file, lambda _: b"new")
    monkeypatch.undo()
    assert (file.read_bytes(), list(file.parent.iterdir())) == (b"old\n", [file])


def test_a_refusal_of_the_edit_leaves_everything_as_it_was(file):
    """What `edit` raises goes through, and the lock is free again."""
    for _ in range(2):
        with pytest.raises(LookupError):
            rewrite(file, lambda _: {}["x"])
    assert list(file.parent.iterdir()) == [file]


def test_a_read_only_file_is_left_alone(file, monkeypatch):
    """Its owner means it, although its folder would let us."""
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever the mode says
    with pytest.raises(PermissionError, match="read-only"):
        rewrite(file, lambda _: b"new")
    assert list(file.parent.iterdir()) == [file]


def test_a_change_by_another_program_meanwhile_is_not_lost(file):
    """An editor knows no lock: what it wrote is read again, and edited."""
    seen = []

    def edit(old: bytes) -> bytes:
        seen.append(old)
        if len(seen) == 1:
            file.write_bytes(b"theirs\n")
        return old + b"ours\n"

    assert rewrite(file, edit) is True
    assert (seen, file.read_bytes()) == ([b"old\n", b"theirs\n"], b"theirs\nours\n")
    assert len(backups(file)) == 1


def test_a_file_that_never_rests_is_left_alone(file):
    """After a few attempts, with a sentence."""

    def edit(old: bytes) -> bytes:
        file.write_bytes(old + b".")
        return b"ours"

    with pytest.raises(OSError, match="keeps being changed"):
        rewrite(file, edit)
    assert list(file.parent.iterdir()) == [file]


def test_threads_wait_for_each_other(file):
    """Twenty appends, none lost."""
    threads = [threading.Thread(target=rewrite, args=(file, lambda old: old + b"x")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert file.read_bytes() == b"old\n" + b"x" * 20


def test_a_lock_whose_file_was_removed_is_taken_anew(file, monkeypatch):
    """Who held it before removes it: a lock on that one keeps nobody out."""
    lock = file.with_name(".c.toml.lock")
    waits = []

    def wait(number: int) -> None:
        waits.append(number)
        if len(waits) == 1:
            lock.unlink()
        elif len(waits) == 2:
            lock.unlink()
            lock.touch()

    monkeypatch.setattr(rewriting, "wait_for_lock", wait)
    assert rewrite(file, lambda _: b"new") is True
    assert len(waits) == 3
    assert not lock.exists()


@pytest.mark.parametrize(("number", "passes"), [(errno.ENOLCK, True), (errno.EOPNOTSUPP, True), (errno.EIO, False)])
def test_a_file_system_without_locks_is_no_obstacle(file, monkeypatch, number, passes):
    """Anything else is."""
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    if passes:
        assert rewrite(file, lambda _: b"new")
    else:
        with pytest.raises(OSError, match=os.strerror(number)):
            rewrite(file, lambda _: b"new")
        assert file.read_bytes() == b"old\n"


def test_windows_locks_one_byte(monkeypatch):
    """D28: the other platform's lock, through a double."""
    asked = []
    double = types.SimpleNamespace(LK_LOCK=1, locking=lambda *facts: asked.append(facts))
    monkeypatch.setitem(sys.modules, "msvcrt", double)
    monkeypatch.setattr(sys, "platform", "win32")
    wait_for_lock(7)
    assert asked == [(7, 1, 1)]


def test_what_is_no_file_is_left_alone(tmp_path):
    """Root may put a file in the place of any device; a pipe would be waited for; a ring of links has no end."""
    pipe, ring = tmp_path / "pipe", tmp_path / "ring"
    os.mkfifo(pipe)
    ring.symlink_to(ring)
    for path in (pipe, ring):
        with pytest.raises(OSError):
            rewrite(path, lambda _: b"new")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert ring.is_symlink()


def test_drafts_of_killed_writers_go(file):
    """The next writer takes them away; what only looks like one stays."""
    left = file.with_name(".c.toml.20200101T000000.000000Z.tmp")
    theirs = [file.with_name(name) for name in (".c.toml.tmp", ".d.toml.20200101T000000.000000Z.tmp", "c.toml.tmp")]
    for path in (left, *theirs):
        path.touch()
    assert rewrite(file, lambda old: old) is False
    assert not left.exists()
    assert all(path.exists() for path in theirs)


def test_a_writer_that_is_stopped_is_not_waited_for_for_ever(file, monkeypatch):
    """Then it is told, and nothing was written."""
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(rewriting, "LOCK_SECS", 0.05)
    with file.with_name(".c.toml.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OSError, match=r"another program has been writing it for 0\.05 s"):
            rewrite(file, lambda _: b"new")
        assert file.read_bytes() == b"old\n"
    assert rewrite(file, lambda _: b"new") is True


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from blazar.adapters.files.rewriting import rewrite
left = int(sys.argv[2])
def deadly(real):
    def call(*words, **more):
        global left
        left -= 1
        if left == 0: os.kill(os.getpid(), signal.SIGKILL)
        return real(*words, **more)
    return call
for name in ("open", "fsync", "close", "fdopen", "listdir", "unlink", "chmod", "replace", "rename", "stat"):
    setattr(os, name, deadly(getattr(os, name)))
rewrite(Path(sys.argv[1]), lambda old: b"new\\n" if old == b"old\\n" else b"old\\n")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_writer_may_be_killed_at_every_step(file):
    """The file is the old one or the new one, whole; the next writer is not kept out and finds nothing that grows."""
    steps = 0
    while True:
        steps += 1
        done = subprocess.run([sys.executable, "-c", KILLED_AT, str(file), str(steps)], timeout=60, check=False)
        assert done.returncode in (0, -signal.SIGKILL)
        assert file.read_bytes() in (b"old\n", b"new\n")
        if done.returncode == 0:
            break
        assert rewrite(file, lambda _: b"old\n") in (True, False)
    assert steps > 15
    left = [path.name for path in file.parent.iterdir()]
    assert len(left) <= KEPT + 1
    assert all(name == "c.toml" or name.endswith(".bak") for name in left)


def test_a_gigabyte_is_left_alone(tmp_path):
    """As it is when it is read."""
    with (tmp_path / "c.toml").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(OSError, match="more than 4194304 bytes"):
        rewrite(tmp_path / "c.toml", lambda _: b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


def test_a_lock_of_another_user_is_named(file, monkeypatch):
    """Root that was killed over it leaves one behind that nobody else can open."""
    lock = file.with_name(".c.toml.lock")
    lock.touch()
    real = os.open

    def refusing(path, *more):
        if path == lock:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *more)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(PermissionError, match=r"\.c\.toml\.lock beside it belongs to another user"):
        rewrite(file, lambda _: b"new")
    assert file.read_bytes() == b"old\n"
