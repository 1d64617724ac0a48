"""Taking archives apart. What becomes of the parts stands in test_builds."""

import io
from pathlib import Path

import pytest

from blazar.adapters.engines import unpacking
from blazar.adapters.engines.unpacking import BadArchive, unpack
from tests.support.archives import Entry, write_tar, write_zip

HONEST = [
    Entry("top", kind="folder", mode=0o755),
    Entry("top/bin/server", b"#!", mode=0o755),
    Entry("top/readme", b"text"),
    Entry("top/bin/lib.so", b"lib.so.1", kind="link"),
    Entry("top/bin/lib.so.1", b"lib.so.1.2", kind="link"),
    Entry("top/bin/lib.so.1.2", b"ELF"),
]


def taken(path: Path, folder: Path) -> Path:
    folder.mkdir()
    with path.open("rb") as file:
        unpack(file, folder)
    return folder


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_files_folders_and_links_beside_them(write, tmp_path):
    """A chain of version links ends at its file; only the executable bit of a mode is kept."""
    top = taken(write(tmp_path / "a", HONEST), tmp_path / "out") / "top"
    assert (top / "bin/lib.so").read_bytes() == b"ELF"
    assert (top / "bin/lib.so").readlink() == Path("lib.so.1")
    assert (top / "bin/server").stat().st_mode & 0o777 == 0o755
    assert (top / "readme").stat().st_mode & 0o777 == 0o644


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("write", [write_tar, write_zip])
@pytest.mark.parametrize(
    "entries",
    [
        [Entry("/etc/x", b"x")],
        [Entry("../x", b"x")],
        [Entry("a/../../x", b"x")],
        [Entry("C:x", b"x")],
        [Entry("a\\b", b"x")],
        [Entry("x", kind="device")],
        [Entry("x", kind="pipe")],
        [Entry("x", b"1"), Entry("x", b"2")],
        [Entry("x", b"1"), Entry("./x", b"2")],
        [Entry("x", b"1"), Entry("x/y", b"2")],
        [Entry("l", b"/etc/passwd", kind="link")],
        [Entry("l", b"../x", kind="link")],
        [Entry("l", b"missing", kind="link")],
        [Entry("l", b"l", kind="link")],
        [Entry("l", b"m", kind="link"), Entry("m", b"l", kind="link")],
        [Entry("d", kind="folder"), Entry("l", b"d", kind="link")],
        [Entry("l", b"f", kind="link"), Entry("f", b"1"), Entry("l/x", b"2")],
    ],
)
def test_hostile_members_are_refused(write, entries, tmp_path):
    """Nothing is written outside the folder, through a link, or twice."""
    outside = {path.name for path in tmp_path.iterdir()} | {"a", "out"}
    with pytest.raises(BadArchive):
        taken(write(tmp_path / "a", entries), tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == outside


def test_a_hardlink_is_refused(tmp_path):
    """It could give a second name to a file of ours."""
    with pytest.raises(BadArchive, match=unpacking.STRANGE):
        taken(write_tar(tmp_path / "a", [Entry("f", b"x"), Entry("h", b"f", kind="hard")]), tmp_path / "out")


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_bytes_and_members_are_bounded(write, tmp_path, monkeypatch):
    """Counted as they are written, not as a header promises."""
    path = write(tmp_path / "a", HONEST)
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 3)
    with pytest.raises(BadArchive, match="3 files"):
        taken(path, tmp_path / "many")
    monkeypatch.undo()
    monkeypatch.setattr(unpacking, "MAX_BYTES", 5)
    with pytest.raises(BadArchive):
        taken(path, tmp_path / "large")


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x03\x04junk", b"\x1f\x8bjunk", b"no archive at all"])
def test_what_is_no_archive_is_said_so(data, tmp_path):
    """Whatever the reader raises for it."""
    with pytest.raises(BadArchive):
        unpack(io.BytesIO(data), tmp_path)


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_a_cut_archive_is_damaged(write, tmp_path):
    """At any byte of its second half."""
    whole = write(tmp_path / "a", [Entry("f", bytes(range(256)) * 50)]).read_bytes()
    for cut in range(len(whole) // 2, len(whole) - 20, 37):
        folder = tmp_path / f"out{cut}"
        folder.mkdir()
        with pytest.raises(BadArchive):
            unpack(io.BytesIO(whole[:cut]), folder)
