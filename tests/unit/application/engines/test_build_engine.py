"""Building: what is asked of the machine first, what is run, and what is left when it fails."""

from collections.abc import Callable, Sequence

import pytest

from blazar.application.engines.build_engine import BuildEngine, Order
from blazar.application.engines.install_engine import InstallEngine, Origin
from blazar.application.ports.engines import Program
from blazar.domain import teaching
from blazar.domain.building import Backend, Compiler
from blazar.domain.errors import BlazarError, Conflict, Malformed, StoreTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.toolchain import FakeToolchain, MemoryWorkshop

GCC = Compiler("/bin/gcc-13", "/bin/g++-13", "gcc", (13, 2))
PROGRAMS = {
    "cmake": "cmake version 3.25.1",
    "ninja": "1.11.1",
    "make": "GNU Make 4.3",
    "nvcc": "Cuda compilation tools, release 12.4, V12.4.131",
    "nvidia-smi": "8.9\n8.9\n",
}
CPU = Order(Backend.CPU, "/src/llama.tar.gz", "good", "b11434")
CUDA = CPU._replace(backend=Backend.CUDA)


class Rig:
    """A builder over fakes."""

    def __init__(self) -> None:
        self.tools = FakeToolchain(dict(PROGRAMS), [GCC])
        self.workshop = MemoryWorkshop({"/src/llama.tar.gz": "good"})
        self.catalog, self.builds, self.trial = MemoryEngineCatalog(), MemoryEngineBuilds(), FakeEngineTrial("11434")
        self.told: list[tuple[int, int]] = []

    def __call__(self, order: Order = CPU, origin: Origin | None = None, tag: str = "") -> Engine:
        programs = {EngineKind.LLAMACPP: Program("llama-server")}
        install = InstallEngine(self.catalog, self.builds, self.trial, FakeClock(), programs)
        build = BuildEngine(self.tools, self.workshop, install)
        return build(order, lambda done, whole: self.told.append((done, whole)), origin=origin, tag=tag)


def test_a_build_is_installed() -> None:
    """Configured, compiled, tried, named; its row says what it was made of, and nothing of the work is kept."""
    rig = Rig()
    row = rig()
    assert (row.tag, row.provenance, row.version, row.active) == ("b11434-cpu", Provenance.BUILT, "11434", True)
    assert (row.release, row.source) == ("b11434", "llama.tar.gz sha256:good")
    assert [words[0] for words in rig.tools.ran] == ["/bin/cmake", "/bin/ninja"]
    assert rig.tools.ran[1][3:5] == ("-j", "6")
    assert rig.told == [(1, 2), (2, 2)] * 2
    assert (rig.workshop.open_for, rig.workshop.kept) == (set(), set())


def test_a_cuda_build() -> None:
    """The compiler of host code and the cards' architecture are found and named."""
    rig = Rig()
    assert rig(CUDA._replace(jobs=2)).tag == "b11434-cuda"
    assert {"-DCMAKE_CUDA_ARCHITECTURES=89", "-DCMAKE_CUDA_HOST_COMPILER=/bin/g++-13"} <= {*rig.tools.ran[0]}
    assert rig.tools.ran[1][3:5] == ("-j", "2")


def test_a_fork() -> None:
    """Its name and origin are its own."""
    row = Rig()(origin=Origin(Provenance.FORK, source="github:o/r@abc"), tag="ternary-abc")
    assert (row.tag, row.provenance, row.source) == ("ternary-abc", Provenance.FORK, "github:o/r@abc")


def test_make_where_there_is_no_ninja() -> None:
    """Either will do."""
    rig = Rig()
    del rig.tools.programs["ninja"]
    rig()
    assert "Unix Makefiles" in rig.tools.ran[0]
    assert rig.tools.ran[1][0] == "/bin/make"


def without(*names: str) -> Callable[[Rig], None]:
    def spoil(rig: Rig) -> None:
        for name in names:
            del rig.tools.programs[name]

    return spoil


def saying(name: str, text: str) -> Callable[[Rig], None]:
    return lambda rig: rig.tools.programs.__setitem__(name, text)


@pytest.mark.parametrize(
    ("spoil", "order", "sentence"),
    [
        (without("cmake"), CPU, "building an engine needs cmake, which is not on PATH"),
        (without("ninja", "make"), CPU, "needs ninja, which is not on PATH"),
        (without("nvcc"), CUDA, "needs nvcc, which is not on PATH"),
        (without("nvidia-smi"), CUDA, "nvidia-smi lists no card to build for"),
        (saying("cmake", "cmake version 3.10.2"), CPU, "cmake is of version 3.10, and 3.14 or newer is needed"),
        (saying("cmake", "cmake version 3.16.3"), CUDA, "3.18 or newer is needed"),
        (saying("cmake", "what?"), CPU, "of a version that it does not say"),
        (saying("cmake", "!Permission denied"), CPU, "/bin/cmake did not answer (Permission denied)"),
        (saying("nvcc", "what?"), CUDA, "/bin/nvcc does not say which version it is"),
        (saying("nvidia-smi", "!Driver mismatch"), CUDA, "did not answer (Driver mismatch)"),
        (saying("nvidia-smi", "12.0\n"), CUDA, "CUDA 12.4 cannot compile for a card of compute capability 12.0"),
        (
            saying("nvcc", "release 12.0, V1"),
            CUDA,
            "CUDA 12.0 takes host code of compilers up to gcc 12, clang 14, and on PATH there is gcc 13",
        ),
        (lambda rig: rig.tools.found.clear(), CPU, "needs gcc, which is not on PATH"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_done(
    spoil: Callable[[Rig], None], order: Order, sentence: str
) -> None:
    """With what to do about it; no folder is made, no source unpacked."""
    rig = Rig()
    spoil(rig)
    with pytest.raises(Malformed) as refused:
        rig(order)
    assert sentence in str(refused.value)
    assert (rig.tools.ran, rig.workshop.open_for) == ([], set())


def test_no_room() -> None:
    """Objects take more than the build: asked for first."""
    rig = Rig()
    rig.workshop.room = 2**30
    with pytest.raises(StoreTrouble, match=r"up to 2.0 GiB and 1.0 GiB are free"):
        rig()


def test_a_build_that_came_while_this_one_waited() -> None:
    """Whoever had the place may have made it: nothing is compiled for a name that is taken, and the place is let go."""
    rig = Rig()
    rig.workshop.opening = lambda: rig.catalog.add_engine(an_engine("b11434-cpu"))
    with pytest.raises(Conflict, match="installed already"):
        rig()
    assert (rig.tools.ran, rig.workshop.open_for) == ([], set())


def test_a_build_of_that_name() -> None:
    """Known before anything is compiled."""
    rig = Rig()
    rig.catalog.add_engine(an_engine("b11434-cpu"))
    with pytest.raises(Conflict, match="b11434-cpu"):
        rig()
    assert rig.tools.ran == []


@pytest.mark.parametrize("fails", ["-S", "-C"])
def test_a_build_that_fails(fails: str) -> None:
    """The compiler's error and the log are named; the work stays, so that the next try goes on; no row, no build."""
    rig = Rig()
    rig.tools.fails = fails
    with pytest.raises(Malformed) as refused:
        rig()
    assert "could not be built: x.cpp:1: error: no room" in str(refused.value)
    assert "/w/b11434-cpu/build.log" in str(refused.value)
    assert (rig.workshop.open_for, rig.workshop.kept) == (set(), {"b11434-cpu"})
    assert rig.catalog.list_engines() == []


def test_a_build_that_does_not_run() -> None:
    """It compiled and is none: nothing is installed, and the work is kept to look at."""
    rig = Rig()
    rig.trial.broken = {"/engines/.b11434-cpu/llama-server": "illegal instruction"}
    with pytest.raises(BlazarError, match="illegal instruction"):
        rig()
    assert rig.catalog.list_engines() == []
    assert rig.builds.present == set()
    assert (rig.workshop.open_for, rig.workshop.kept) == (set(), {"b11434-cpu"})


def test_an_interrupted_build_says_where_its_work_lies() -> None:
    """And that the same command goes on there; its place is free again."""
    rig = Rig()

    def stop(words: Sequence[str], log: str, heard: Callable[[str], None]) -> None:
        raise KeyboardInterrupt

    rig.tools.run = stop  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt) as stopped:
        rig()
    assert str(stopped.value) == teaching.build_interrupted("b11434-cpu", "/w/b11434-cpu/build")
    assert (rig.workshop.open_for, rig.workshop.kept) == (set(), {"b11434-cpu"})
