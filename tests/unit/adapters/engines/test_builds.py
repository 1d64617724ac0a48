"""Archives on disk: honest ones become builds, hostile ones leave nothing."""

import io
import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.engines import unpacking
from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.engines import Archive, Staged
from blazar.domain.errors import Conflict, Malformed, NotFound, StoreTrouble
from tests.support.archives import Entry, digest, write_tar, write_zip
from tests.support.builds import unpacked

SERVER = Entry("llama-b7/llama-server", b"#!/bin/true", mode=0o755)
HONEST = [
    Entry("llama-b7", kind="folder", mode=0o755),
    SERVER,
    Entry("llama-b7/libggml.so.0", b"libggml.so.0.1", "link"),
    Entry("llama-b7/libggml.so", b"libggml.so.0", "link"),
    Entry("llama-b7/libggml.so.0.1", b"library", mode=0o644),
    Entry("llama-b7/LICENSE", b"MIT"),
]


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    return tmp_path / "engines"


def install(engines: Path, archive: Path, tag: str | None = None) -> tuple[str, str]:
    return unpacked(engines, archive, None, tag)


def left(engines: Path) -> list[str]:
    return sorted(path.name for path in engines.iterdir()) if engines.exists() else []


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("llama-b7-bin.tar.gz", write_tar),
        ("llama-b7-bin.tgz", write_tar),
        ("llama-b7-bin.tar.xz", lambda path, entries: write_tar(path, entries, "w:xz")),
        ("llama-b7-bin.zip", write_zip),
    ],
)
def test_an_archive_becomes_a_folder_named_by_its_tag(
    tmp_path: Path, engines: Path, name: str, write: Callable[[Path, list[Entry]], Path]
) -> None:
    """Its top folder's content lies under the tag, programs stay programs, links stay links."""
    tag, server = install(engines, write(tmp_path / name.replace("b7", "b11434"), HONEST))
    assert (tag, server) == ("b11434", str(engines / "b11434" / "llama-server"))
    assert left(engines) == ["b11434"]
    folder = engines / tag
    assert sorted(path.name for path in folder.iterdir()) == [
        "LICENSE",
        "libggml.so",
        "libggml.so.0",
        "libggml.so.0.1",
        "llama-server",
    ]
    assert (folder / "libggml.so").read_bytes() == b"library"
    assert (folder / "libggml.so").readlink() == Path("libggml.so.0")
    assert stat.S_IMODE((folder / "llama-server").stat().st_mode) & 0o755 == 0o755
    assert stat.S_IMODE((folder / "LICENSE").stat().st_mode) & 0o111 == 0


def test_the_top_folder_names_it_where_the_file_does_not(tmp_path: Path, engines: Path) -> None:
    """A renamed archive is still known by its folder, and one without either needs --tag."""
    entries = [Entry("llama-b4321/bin/llama-server", b"x", mode=0o755)]
    assert install(engines, write_tar(tmp_path / "engine.tar.gz", entries)) == (
        "b4321",
        str(engines / "b4321" / "bin" / "llama-server"),
    )
    flat = write_tar(tmp_path / "flat.tar.gz", [Entry("llama-server", b"x"), Entry("LICENSE", b"x")])
    with pytest.raises(Malformed, match="--tag"):
        install(engines, flat)
    assert install(engines, flat, "mine-1") == ("mine-1", str(engines / "mine-1" / "llama-server"))
    assert left(engines) == ["b4321", "mine-1"]


@pytest.mark.parametrize("tag", ["../x", "", ".hidden", "a/b", "a" * 65, "local", "embedded-1", "a b", "-x"])
def test_tags_that_are_no_folder_names_are_refused(tmp_path: Path, engines: Path, tag: str) -> None:
    """A tag never leaves the engines folder and never takes a reserved name."""
    with pytest.raises(Malformed, match="engine tag"):
        install(engines, write_tar(tmp_path / "b777.tar.gz", HONEST), tag)
    assert left(engines) == []


def test_the_checksum_comes_first(tmp_path: Path, engines: Path) -> None:
    """No file, no checksum, a wrong one: nothing is unpacked. Upper case and a prefix are fine."""
    archive = write_tar(tmp_path / "b777.tar.gz", HONEST)
    with pytest.raises(NotFound):
        unpacked(engines, tmp_path / "missing", "00")
    with pytest.raises(Malformed, match="--sha256"):
        unpacked(engines, archive, "")
    with pytest.raises(Malformed, match="not the file that was promised"):
        unpacked(engines, archive, "0" * 64)
    with pytest.raises(Malformed, match="'abc' is no SHA-256 checksum"):
        unpacked(engines, archive, "abc")
    assert left(engines) == []
    assert unpacked(engines, archive, "sha256:" + digest(archive).upper())[0] == "b777"


@pytest.mark.parametrize("name", ["sd-server", "sd-server.exe"])
def test_an_archive_of_another_kind_is_told_by_its_program(tmp_path: Path, engines: Path, name: str) -> None:
    """The sentence has the option that was left out."""
    archive = write_tar(tmp_path / "b777.tar.gz", [Entry(f"sd/{name}", b"x")])
    with pytest.raises(Malformed, match="there is no llama-server in it but sd-server: add --kind sdcpp"):
        unpacked(engines, archive, digest(archive))


def test_an_installed_tag_is_not_overwritten(tmp_path: Path, engines: Path) -> None:
    """The second install of a tag is refused and the first one untouched."""
    archive = write_tar(tmp_path / "b777.tar.gz", HONEST)
    install(engines, archive)
    (engines / "b777" / "mark").touch()
    with pytest.raises(Conflict):
        install(engines, archive)
    assert (engines / "b777" / "mark").exists()
    assert left(engines) == ["b777"]


HOSTILE = {
    "absolute path": [Entry("/tmp/evil", b"x")],
    "parent path": [Entry("llama/../../evil", b"x")],
    "parent folder": [Entry("..", kind="folder")],
    "windows path": [Entry("a\\..\\..\\evil", b"x")],
    "drive": [Entry("C:evil", b"x")],
    "device": [Entry("llama/null", kind="device")],
    "pipe": [Entry("llama/pipe", kind="pipe")],
    "absolute link": [Entry("llama/passwd", b"/etc/passwd", "link")],
    "parent link": [Entry("llama/up", b"..", "link")],
    "far link": [Entry("llama/far", b"../llama-b7/llama-server", "link")],
    "folder link": [Entry("llama/sub/x", b"x"), Entry("llama/alias", b"sub", "link")],
    "dangling link": [Entry("llama/gone", b"nothing", "link")],
    "link to itself": [Entry("llama/me", b"me", "link")],
    "link circle": [Entry("llama/a", b"b", "link"), Entry("llama/b", b"a", "link")],
    "write through a link": [Entry("llama/dir", b"llama-server", "link"), Entry("llama/dir/x", b"x")],
    "twice": [Entry("llama/x", b"1"), Entry("llama/./x", b"2")],
    "file as folder": [Entry("llama/x", b"1"), Entry("llama/x/y", b"2")],
    "case": [Entry("llama/Lib", b"1"), Entry("llama/lib", b"2")],
    "folder's case": [Entry("llama/Lib/a", b"1"), Entry("llama/lib/b", b"2")],
    "link's case": [Entry("llama/lib", b"1"), Entry("llama/LIB", b"lib", "link")],
    "accent": [Entry("llama/\u00e9", b"1"), Entry("llama/e\u0301", b"2")],
    "dot at the end": [Entry("llama/lib.", b"1")],
    "space at the end": [Entry("llama/lib ", b"1")],
    "device of another system": [Entry("llama/NUL.txt", b"1")],
    "steers a terminal": [Entry("llama/\x1b[2J", b"1")],
    "link over file": [Entry("llama/x", b"1"), Entry("llama/x", b"x", "link")],
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("write", [write_tar, write_zip], ids=["tar", "zip"])
def test_hostile_archives_leave_nothing(
    tmp_path: Path, engines: Path, what: str, write: Callable[[Path, list[Entry]], Path]
) -> None:
    """Each is refused with a sentence; no file of it is left, inside or outside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # zipfile warns about what we build on purpose
        archive = write(tmp_path / "b777", [SERVER, *HOSTILE[what]])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Malformed, match=r"cannot be installed: .*; nothing was installed"):
        install(engines, archive)
    assert left(engines) == []
    assert [path for path in sorted(tmp_path.rglob("*")) if path != engines] == before
    assert not Path("/tmp/evil").exists()


def test_hardlinks_are_refused(tmp_path: Path, engines: Path) -> None:
    """A hardlink could name any file of this machine."""
    archive = write_tar(tmp_path / "b777", [SERVER, Entry("llama/hard", b"llama-b7/llama-server", "hard")])
    with pytest.raises(Malformed, match="neither a file"):
        install(engines, archive)


def test_special_bits_are_dropped(tmp_path: Path, engines: Path) -> None:
    """Setuid, setgid and world-writable bits of an archive do not reach the disk."""
    entries = [Entry("b777/llama-server", b"x", mode=0o6777), Entry("b777/open", b"x", mode=0o7666)]
    _, server = install(engines, write_tar(tmp_path / "a.tar.gz", entries))
    for path in Path(server).parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o7022 == 0


def test_bombs_are_stopped(tmp_path: Path, engines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are counted as they are written, members as they come."""
    archive = write_tar(tmp_path / "b777.tar.gz", [SERVER, Entry("llama-b7/zeros", bytes(200_000))])
    monkeypatch.setattr(unpacking, "MAX_BYTES", 100_000)
    with pytest.raises(Malformed, match="unpacks to more than"):
        install(engines, archive)
    monkeypatch.setattr(unpacking, "MAX_BYTES", 10**9)
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 1)
    with pytest.raises(Malformed, match="more than 1 files"):
        install(engines, archive)
    assert left(engines) == []


@pytest.mark.parametrize("name", ["b777.tar.gz", "b777.zip", "b777.tar.xz"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "empty"])
def test_damaged_archives_are_a_sentence(tmp_path: Path, engines: Path, name: str, damage: str) -> None:
    """Half a download, flipped bytes, a web page, nothing at all: refused, nothing left."""
    kind = "w:xz" if name.endswith("xz") else "w:gz"
    entries = [
        Entry(entry.name, os.urandom(5000) if entry.kind == "file" else entry.data, entry.kind, entry.mode)
        for entry in HONEST
    ]
    path = tmp_path / name
    _ = write_zip(path, entries) if name.endswith("zip") else write_tar(path, entries, kind)
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(
        {
            "cut": data[:middle],
            "flipped": bytes(b ^ 0xFF for b in data[:64]) + data[64:],
            "text": b"<!doctype html>" * 100,
            "empty": b"",
        }[damage]
    )
    with pytest.raises(Malformed, match="nothing was installed"):
        install(engines, path)
    assert left(engines) == []


def test_what_is_no_archive_is_one_clear_sentence(tmp_path: Path, engines: Path) -> None:
    """A text, and something that is not even a file: no list of compressions, no claim that it is absent."""
    text = tmp_path / "b777.tar.gz"
    text.write_text("hello\n")
    for path, why in ((text, "it is neither a tar nor a zip archive"), (Path(os.devnull), "it is not a file")):
        with pytest.raises(Malformed) as refused:
            install(engines, path)
        assert str(refused.value).startswith(f"{path} cannot be installed: {why}")
        assert "\n" not in str(refused.value)
    assert left(engines) == []


def test_an_archive_without_a_server_is_refused(tmp_path: Path, engines: Path) -> None:
    """Something else with a good checksum is still not an engine; a folder or a link of that name is none either."""
    for entries in (
        [Entry("b777/readme", b"x")],
        [Entry("b777/llama-server/x", b"x")],
        [Entry("b777/x", b"x"), Entry("b777/llama-server", b"x", "link")],
    ):
        with pytest.raises(Malformed, match="no llama-server"):
            install(engines, write_tar(tmp_path / "b777.tar.gz", entries))
    assert left(engines) == []


def test_a_disk_that_cannot_take_it_is_a_sentence(
    tmp_path: Path, engines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No space left: the reason, and no half build."""
    archive = write_tar(tmp_path / "b777.tar.gz", HONEST)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unpacking._Unpacking, "_write", full)
    with pytest.raises(Malformed, match="No space left"):
        install(engines, archive)
    assert left(engines) == []


def gone() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait(60)
    return process.pid


def test_leftovers_of_a_crash_are_swept(engines: Path) -> None:
    """Half-unpacked folders go; a build set aside comes back while its row is known, else it goes. Others at work are left."""
    dead, alive = gone(), os.getppid()
    for name in (
        f".staging-{dead}-x.tar.gz",
        f".aside-{dead}-b1",
        f".aside-{dead}-b2",
        f".aside-{os.getpid()}-b3",
        f".staging-{alive}-y",
        "b5",
        ".hidden",
    ):
        (engines / name).mkdir(parents=True)
    ArchiveBuilds(engines, SystemProcesses()).sweep(["b1", "b3", "b5"])
    assert left(engines) == sorted([".hidden", f".staging-{alive}-y", "b1", "b3", "b5"])
    ArchiveBuilds(engines / "missing", SystemProcesses()).sweep([])


def test_strange_tags_are_never_set_aside(engines: Path) -> None:
    """A tag from a command line cannot rename anything outside the engines folder."""
    (engines / "b1").mkdir(parents=True)
    builds = ArchiveBuilds(engines, SystemProcesses())
    for tag in ("..", ".", "", "b1/..", "missing"):
        assert not builds.set_aside(tag)
    assert left(engines) == ["b1"]


def test_a_sparse_member_is_refused(tmp_path: Path, engines: Path) -> None:
    """Sparse files claim sizes that nobody wrote."""
    path = tmp_path / "b777.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("b777/llama-server")
        info.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(2**40)}
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(Malformed):
        install(engines, path)
    assert left(engines) == []


def test_a_name_that_is_no_text_is_refused(tmp_path: Path, engines: Path) -> None:
    """Bytes of no alphabet: what one system writes another cannot read."""
    path = tmp_path / "b777.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("llama/\udcff"), io.BytesIO(b""))
    with pytest.raises(Malformed, match="not every system") as refused:
        install(engines, path)
    assert str(refused.value).encode("utf-8", "replace")
    assert left(engines) == []


def test_two_names_for_one_build_have_to_be_decided(tmp_path: Path, engines: Path) -> None:
    """A renamed archive says b2000 outside and b1000 inside: which it is, nobody guesses."""
    archive = write_tar(tmp_path / "llama-b2000-bin.tar.gz", [Entry("llama-b1000/llama-server", b"x")])
    with pytest.raises(
        Malformed, match=r"its name says b2000 and its top folder b1000 \(say which build it is with --tag\)"
    ):
        install(engines, archive)
    assert left(engines) == []
    assert install(engines, archive, "b1000")[0] == "b1000"


def test_two_servers_are_one_too_many(tmp_path: Path, engines: Path) -> None:
    """The nearest to the top is meant; of two that are equally near, none."""
    nested = [Entry("b777/llama-server", b"1"), Entry("b777/old/llama-server", b"2")]
    _, server = install(engines, write_tar(tmp_path / "b777.tar.gz", nested))
    assert Path(server).read_bytes() == b"1"
    equal = [Entry("top/cpu/llama-server", b"1"), Entry("top/cuda/llama-server", b"2")]
    with pytest.raises(Malformed, match=r"more than one server in it \(cpu/llama-server, cuda/llama-server\)"):
        install(engines, write_tar(tmp_path / "b778.tar.gz", equal))
    assert left(engines) == ["b777"]


@pytest.mark.parametrize("tag", ["B777", "b777"])
def test_tags_that_differ_in_case_only_are_one(tmp_path: Path, engines: Path, tag: str) -> None:
    """Where case does not count, the second would overwrite the first."""
    archive = write_tar(tmp_path / "x.tar.gz", HONEST)
    install(engines, archive, "b777")
    with pytest.raises(Conflict, match="'b777' is installed already"):
        install(engines, archive, tag)
    assert left(engines) == ["b777"]


def test_a_mark_of_the_archives_own_is_replaced(tmp_path: Path, engines: Path) -> None:
    """A link in its place would have us write over the server, or take a build for one that is being installed."""
    entries = [Entry("top/llama-server", b"x"), Entry("top/.unlisted", b"llama-server", "link")]
    _, server = install(engines, write_tar(tmp_path / "b777.tar.gz", entries))
    assert Path(server).read_bytes() == b"x"
    assert sorted(path.name for path in Path(server).parent.iterdir()) == ["llama-server"]


def stage(engines: Path, *archives: Path, tag: str | None = "b777") -> Staged:
    builds = ArchiveBuilds(engines, SystemProcesses())
    return builds.stage([Archive(str(path), digest(path)) for path in archives], tag, "llama-server")


@pytest.mark.parametrize(
    ("file", "tag", "release"),
    [
        ("llama-b2000-bin.tar.gz", "mine", ""),
        ("llama-b1000-bin.tar.gz", "mine", "b1000"),
        ("engine.tar.gz", "mine", "b1000"),
        ("engine.tar.gz", None, ""),
    ],
)
def test_what_an_archive_is_is_kept_beside_its_tag(
    tmp_path: Path, engines: Path, file: str, tag: str | None, release: str
) -> None:
    """Whoever looks for updates has to know which release `mine` is; one that says two of them says none."""
    archive = write_tar(tmp_path / file, [Entry("llama-b1000/llama-server", b"x"), Entry("llama-b1000/LICENSE", b"x")])
    assert stage(engines, archive, tag=tag).release == release


def test_libraries_of_another_archive_lie_beside_the_server(tmp_path: Path, engines: Path) -> None:
    """As CUDA's runtime is published apart; one that brings a file of that name is refused whole."""
    main = write_zip(tmp_path / "b777.zip", [Entry("build/bin/llama-server.exe", b"x"), Entry("build/LICENSE", b"x")])
    libraries = write_zip(tmp_path / "cudart.zip", [Entry("cudart64_12.dll", b"1"), Entry("cublas64_12.dll", b"2")])
    staged = stage(engines, main, libraries)
    folder = Path(staged.server).parent
    assert sorted(path.name for path in folder.iterdir()) == ["cublas64_12.dll", "cudart64_12.dll", "llama-server.exe"]
    ArchiveBuilds(engines, SystemProcesses()).unstage(staged)
    other = write_zip(tmp_path / "other.zip", [Entry("Llama-Server.EXE", b"evil")])
    with pytest.raises(Malformed, match="is there twice"):
        stage(engines, main, other)
    assert left(engines) == []


def test_a_folder_is_adopted(tmp_path: Path, engines: Path) -> None:
    """What was built here is moved, not copied, and tried out of sight as an archive is."""
    built = tmp_path / "build"
    (built / "bin").mkdir(parents=True)
    (built / "bin" / "llama-server").write_bytes(b"x")
    (built / "read-only").touch(mode=0o444)
    os.mkfifo(built / "pipe")  # nobody writes to it: opening it would wait for ever
    builds = ArchiveBuilds(engines, SystemProcesses())
    with pytest.raises(Malformed, match="engine tag"):
        builds.adopt(str(built), "local", "llama-server")
    with pytest.raises(Malformed, match="no mistralrs in it"):
        builds.adopt(str(built), "b1-cpu", "mistralrs")
    assert left(engines) == []
    staged = builds.adopt(str(built), "b1-cpu", "llama-server")
    assert not built.exists()
    server = builds.publish(staged)
    builds.settle("b1-cpu")
    assert (server, left(engines)) == (str(engines / "b1-cpu" / "bin" / "llama-server"), ["b1-cpu"])


def test_what_somebody_is_installing_is_left_to_him(tmp_path: Path, engines: Path) -> None:
    """Its mark names a live process; without a mark a folder is never swept, whatever the rows say."""
    archive = write_tar(tmp_path / "x.tar.gz", HONEST)
    for tag in ("mine", "theirs", "dead"):
        builds = ArchiveBuilds(engines, SystemProcesses())
        builds.publish(builds.stage([Archive(str(archive), digest(archive))], tag, "llama-server"))
    for tag, owner in (("theirs", os.getppid()), ("dead", gone())):
        (engines / tag / ".unlisted").write_text(f"{owner}\n")
    (engines / "mine" / ".unlisted").unlink()
    ArchiveBuilds(engines, SystemProcesses()).sweep([])
    assert left(engines) == ["mine", "theirs"]
    with pytest.raises(Conflict):
        install(engines, archive, "theirs")
    with pytest.raises(Conflict, match="being installed by another process"):
        ArchiveBuilds(engines, SystemProcesses()).set_aside("theirs")
    assert left(engines) == ["mine", "theirs"]


def test_two_installs_of_one_tag_at_once(tmp_path: Path, engines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that comes second to the rename is told so, and takes nothing from the first."""
    archive = write_tar(tmp_path / "b777.tar.gz", HONEST)
    builds = ArchiveBuilds(engines, SystemProcesses())
    staged = builds.stage([Archive(str(archive), digest(archive))], "b777", "llama-server")
    (engines / "b777" / "bin").mkdir(parents=True)
    monkeypatch.setattr(builds, "_called_like", lambda _: None)  # it was not there a moment ago
    with pytest.raises(Conflict, match="installed already"):
        builds.publish(staged)
    builds.unstage(staged)
    assert left(engines) == ["b777"]


def test_a_folder_that_cannot_be_moved_is_a_sentence(engines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is read-only, a file in use on Windows."""
    (engines / "b1").mkdir(parents=True)

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StoreTrouble, match=r"moving .*b1 to .*failed: Read-only file system"):
        ArchiveBuilds(engines, SystemProcesses()).set_aside("b1")
    assert left(engines) == ["b1"]
