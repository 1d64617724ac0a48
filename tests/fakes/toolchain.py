"""A machine with the programs that a test says, which do what they are told at once."""

from collections.abc import Callable, Mapping, Sequence

from blazar.application.ports.toolchain import BuildFailed, Toolchain, Work, Workshop
from blazar.domain import teaching
from blazar.domain.building import Compiler
from blazar.domain.errors import Malformed


class FakeToolchain(Toolchain):
    """`programs` map a name to what it says of itself; `lines` are printed by everything that is run; `fails` are words that fail."""

    def __init__(self, programs: dict[str, str], compilers: Sequence[Compiler] = ()) -> None:
        self.programs, self.found = programs, [*compilers]
        self.lines = ["-- The C compiler is", "[1/2] Building", "[2/2] Linking"]
        self.fails = ""
        self.ran: list[tuple[str, ...]] = []

    def find(self, program: str) -> str:
        return f"/bin/{program}" if program in self.programs else ""

    def ask(self, *words: str) -> str:
        said = self.programs[words[0].rpartition("/")[2]]
        if said.startswith("!"):
            raise BuildFailed(said[1:])
        return said

    def compilers(self) -> list[Compiler]:
        return self.found

    def run(self, words: Sequence[str], log: str, heard: Callable[[str], None]) -> None:
        self.ran.append((*words,))
        for line in self.lines:
            heard(line)
        if self.fails and self.fails in words:
            raise BuildFailed("it ended with status 1", ["x.cpp:1: error: no room", "ninja: build stopped"])

    def cpus(self) -> int:
        return 6


class MemoryWorkshop(Workshop):
    """`sources` map a path to its checksum; `refused` is raised of whatever is opened, `opening` is called then."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources, self.room = sources, 100 * 2**30
        self.open_for: set[str] = set()
        self.kept: set[str] = set()
        self.refused: Malformed | None = None
        self.opening: Callable[[], None] | None = None

    def open(self, tag: str, source: str, sha256: str) -> Work:
        if self.refused is not None:
            raise self.refused
        if self.opening is not None:
            self.opening()
        if self.sources[source] != sha256:
            raise Malformed(teaching.sha256_differs(source, sha256, self.sources[source]), "sha256")
        self.open_for.add(tag)
        self.kept.add(tag)
        return Work(f"/w/{tag}/source", f"/w/{tag}/build", f"/w/{tag}/build.log")

    def free(self) -> int:
        return self.room

    def collect(self, work: Work, programs: Sequence[str]) -> str:
        return work.folder.replace("build", "ready")

    def close(self, tag: str) -> None:
        self.kept.discard(tag)

    def drop(self, tag: str) -> bool:
        there = tag in self.kept
        self.kept.discard(tag)
        return there

    def begun(self) -> Mapping[str, int]:
        return dict.fromkeys(sorted(self.kept), 7 << 20)

    def leave(self, tag: str) -> None:
        self.open_for.remove(tag)
