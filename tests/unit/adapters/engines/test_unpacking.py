"""Taking archives apart. What becomes of the parts stands in test_builds."""

import io
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("write", [write_tar, write_zip])
@pytest.mark.parametrize("link", ["../include/x.h", "../include", "missing", "./../include/./x.h", "l"])
def test_links_between_places_of_sources(write, link, tmp_path):
    """Are not made, and the rest is: older llama.cpp has a folder of headers for Swift that are nothing else."""
    members = [
        Entry("include/x.h", b"x"),
        Entry("spm/l", link.encode(), kind="link"),
        Entry("spm/near", b"y.h", kind="link"),
    ]
    file = write(tmp_path / "a", [*members, Entry("spm/y.h", b"y")])
    (tmp_path / "out").mkdir()
    with file.open("rb") as opened:
        unpack(opened, tmp_path / "out", sources=True)
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if not path.is_dir()}
    assert found == {"include/x.h", "spm/near", "spm/y.h"}


@pytest.mark.parametrize("link", ["/etc/passwd", "../../x", "..", "a/../../../x", "C:/x", "..\\x", ""])
def test_links_out_of_sources_are_refused(link, tmp_path):
    """Nobody needs them but to reach something of ours."""
    file = write_tar(tmp_path / "a", [Entry("l", link.encode(), kind="link")])
    (tmp_path / "out").mkdir()
    with file.open("rb") as opened, pytest.raises(BadArchive, match="is a symbolic link"):
        unpack(opened, tmp_path / "out", sources=True)


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


def test_a_damaged_header_is_not_the_end(tmp_path):
    """What stands behind it would be missing without a word."""
    path = write_tar(tmp_path / "a.tar", [Entry("f", b"x" * 512), Entry("g", b"y")], "w")
    data = bytearray(path.read_bytes())
    data[1024 + 150] ^= 1  # in the checksum of the second header
    path.write_bytes(data)
    with pytest.raises(BadArchive, match="damaged header"):
        taken(path, tmp_path / "out")


PARTS = st.sampled_from(
    [
        "a",
        "A",
        "b",
        "..",
        ".",
        "",
        "nul",
        "x.",
        "x ",
        "é",
        "e\u0301",
        "c:",
        "a\\b",
        "\x00",
        "\n",
        "lib.so",
        "lib.so.1",
        "~",
        "-rf",
        "$(x)",
    ]
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
ENTRIES = st.builds(
    Entry,
    NAMES,
    st.one_of(st.just(b"x"), NAMES.map(str.encode)),
    st.sampled_from(["file", "file", "folder", "link", "hard", "device", "pipe"]),
    st.sampled_from([0o644, 0o755, 0o6777, 0o000]),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(ENTRIES, max_size=6))
def test_whatever_an_archive_says_it_stays_in_its_folder(tmp_path, entries):
    """Refused, or: plain files and folders with plain modes, links to files beside them, nothing outside, nothing lost."""
    base = tmp_path / "case"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    out = base / "out"
    entries = [entry._replace(data=b"") if entry.kind == "folder" else entry for entry in entries]
    path = write_tar(base / "a.tar", entries, "w")
    try:
        taken(path, out)
    except BadArchive:
        assert sorted(one.name for one in base.iterdir()) in (["a.tar", "out"], ["a.tar"])
        return
    assert sorted(one.name for one in base.iterdir()) == ["a.tar", "out"]
    files = 0
    for one in out.rglob("*"):
        if one.is_symlink():
            assert one.resolve().parent == one.parent.resolve()
            assert one.resolve().is_file()
        elif one.is_file():
            assert one.stat().st_mode & 0o7022 == 0
        else:
            assert one.is_dir()
        files += not one.is_dir() or one.is_symlink()
    assert files == sum(entry.kind != "folder" for entry in entries)
