"""A file that grows."""

import os
import stat

import pytest

from blazar.adapters.telemetry.rotation import GrowingFile


@pytest.fixture
def file(tmp_path):
    growing = GrowingFile(tmp_path / "deep" / "x.log", limit=10)
    yield growing
    growing.close()


def test_it_is_made_at_the_first_write_for_its_owner_alone(file):
    """Folder and file; before that there is nothing."""
    assert not file.path.parent.exists()
    file.append(b"a")
    file.append(b"b")
    assert file.path.read_bytes() == b"ab"
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_it_is_set_aside_at_its_limit(file):
    """One older generation, which is replaced the next time."""
    older = file.path.with_name("x.log.1")
    file.rotate_if_full()  # not there yet
    file.append(b"123456789")
    file.rotate_if_full()
    assert not older.exists()
    file.append(b"0")
    file.rotate_if_full()
    file.append(b"second one!")
    assert (older.read_bytes(), file.path.read_bytes()) == (b"1234567890", b"second one!")
    file.rotate_if_full()
    assert older.read_bytes() == b"second one!"
    assert not file.path.exists()


def test_what_another_process_wrote_is_kept(file):
    """Appended, never truncated; it stays open across a rename by somebody else until it is closed."""
    file.append(b"a")
    with file.path.open("ab") as other:
        other.write(b"b")
    file.append(b"c")
    assert file.path.read_bytes() == b"abc"


def test_a_write_that_fails_is_raised_and_the_next_one_starts_afresh(file, monkeypatch):
    """A full disk, then room again."""
    file.append(b"a")

    def full(*_):
        raise OSError(28, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            file.append(b"b")
    file.append(b"c")
    assert file.path.read_bytes() == b"ac"


def test_a_short_write_is_continued(file, monkeypatch):
    """All of it lands, in order."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, view: real(handle, view[:3]))
    file.append(b"0123456789")
    assert file.path.read_bytes() == b"0123456789"


def test_it_knows_itself_by_descriptor(file, tmp_path):
    """A launcher may have sent stderr to the same file."""
    file.append(b"a")
    with file.path.open("rb") as same, (tmp_path / "other").open("wb") as other:
        assert file.is_file_of(same.fileno())
        assert not file.is_file_of(other.fileno())


def test_closing_twice_is_fine(file):
    """And a later write opens it again."""
    file.append(b"a")
    file.close()
    file.close()
    file.append(b"b")
    assert file.path.read_bytes() == b"ab"
