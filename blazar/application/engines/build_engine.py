"""Make a build from a source archive and install it like any other: tried out, then named. Chooses programs; compiles nothing itself."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.engines.install_engine import InstallEngine, Origin
from blazar.application.ports.toolchain import BuildFailed, Toolchain, Work, Workshop
from blazar.domain import building, teaching
from blazar.domain.building import Backend, Cuda, Nvcc, Tools
from blazar.domain.errors import Conflict, Malformed, StoreTrouble
from blazar.domain.kinds import Provenance
from blazar.domain.records import Engine

Told = Callable[[int, int], None]
"""What of how much is done, as downloads tell it."""

_CAPABILITIES = ("--query-gpu=compute_cap", "--format=csv,noheader")


class Order(NamedTuple):
    """What is to be built of what. `release` is upstream's tag; `jobs` 0: as many as there are processors."""

    backend: Backend
    source: str
    sha256: str
    release: str
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class BuildEngine:
    """An interrupted or failed build leaves its work, for the next try, and no build."""

    tools: Toolchain
    workshop: Workshop
    install: InstallEngine

    def __call__(self, order: Order, told: Told, *, origin: Origin | None = None, tag: str = "") -> Engine:
        """The installed build. `origin` is that of a fork; `tag` is its name where the release does not make it.

        Raises `Malformed`, `NotFound`, `Conflict` or `StoreTrouble`.
        """
        tag = tag or building.tag_of(order.release, order.backend)
        self.check_free(tag)
        tools, cuda = self.check_machine(order.backend)
        work = self.workshop.open(tag, order.source, order.sha256)
        try:
            self.check_free(tag)  # again: who had the place until now may have made it
            configure = building.cmake_words(work.source, work.folder, tools, order.release, cuda)
            jobs = order.jobs or max(self.tools.cpus(), 1)
            steps = (configure, building.build_words(work.folder, tools, jobs))
            engine = self.install.adopt(self._made(tag, work, steps, told), tag, origin=origin or _origin(order))
            self.workshop.close(tag)
        except KeyboardInterrupt as stop:
            raise type(stop)(teaching.build_interrupted(tag, work.folder)) from stop
        finally:
            self.workshop.leave(tag)
        return engine

    def check_free(self, tag: str) -> None:
        """Raises `Conflict` where there is a build of that name."""
        if self.install.engines.find_engine(tag) is not None:
            raise Conflict(teaching.engine_installed_already(tag))

    def check_machine(self, backend: Backend) -> tuple[Tools, Cuda | None]:
        """The programs that will be used. Raises `Malformed` for those that are missing, `StoreTrouble` where room is."""
        tools = self._tools(backend)
        cuda = self._cuda() if backend is Backend.CUDA else None
        if cuda is None and not self.tools.compilers():
            raise Malformed(teaching.build_needs("gcc", teaching.compiler_packages()), "backend")
        if (free := self.workshop.free()) < building.ROOM[backend]:
            raise StoreTrouble(teaching.build_needs_room(building.ROOM[backend], free))
        return tools, cuda

    def _made(self, tag: str, work: Work, steps: Sequence[Sequence[str]], told: Told) -> str:
        """The folder with what was built."""
        try:
            for words in steps:
                self.tools.run(words, work.log, lambda line: _tell(line, told))
            return self.workshop.collect(work, building.PROGRAMS)
        except BuildFailed as failed:
            why = building.trouble_in(failed.lines) or str(failed)
            raise Malformed(teaching.build_failed(tag, why[:300], work.log), "backend") from failed

    def _tools(self, backend: Backend) -> Tools:
        cmake, ninja = self.tools.find("cmake"), self.tools.find("ninja")
        if not cmake:
            raise Malformed(teaching.build_needs("cmake", teaching.cmake_packages()), "backend")
        version, oldest = building.version_in(self._said(cmake, "--version")), building.OLDEST_CMAKE[backend]
        if version is None or version < oldest:
            found = f"{version[0]}.{version[1]}" if version else ""
            raise Malformed(teaching.cmake_too_old(found, f"{oldest[0]}.{oldest[1]}"), "backend")
        maker = ninja or self.tools.find("make")
        if not maker:
            raise Malformed(teaching.build_needs("ninja", teaching.cmake_packages()), "backend")
        return Tools(cmake, maker, bool(ninja))

    def _cuda(self) -> Cuda:
        path, smi = self.tools.find("nvcc"), self.tools.find("nvidia-smi")
        if not path:
            raise Malformed(teaching.build_needs("nvcc", teaching.cuda_packages()), "backend")
        version = building.version_in(self._said(path, "--version"))
        if version is None:
            raise Malformed(teaching.build_tool_silent(path), "backend")
        if not smi:
            raise Malformed(teaching.build_without_card(), "backend")
        architectures = building.cuda_architectures(self._said(smi, *_CAPABILITIES), version)
        found = self.tools.compilers()
        host = building.choose_host(version, found)
        if host is None:
            newest = [f"{family} {major}" for family, major in building.newest_hosts(version).items()]
            seen = [f"{one.family} {one.version[0]}" for one in found]
            raise Malformed(teaching.cuda_without_host(f"{version[0]}.{version[1]}", newest, seen), "backend")
        return Cuda(Nvcc(path, version), architectures, host)

    def _said(self, *words: str) -> str:
        try:
            return self.tools.ask(*words)
        except BuildFailed as failed:
            raise Malformed(teaching.build_tool_failed(words[0], str(failed)), "backend") from failed


def _tell(line: str, told: Told) -> None:
    if progress := building.progress_in(line):
        told(*progress)


def _origin(order: Order) -> Origin:
    """An archive by its name and checksum, wherever it lay; a folder by its path, for nothing else names what was in it."""
    source = order.source
    if order.sha256:
        name = re.split(r"[/\\]", order.source)[-1]
        source = f"{name} sha256:{order.sha256.strip().lower().removeprefix('sha256:')}"
    return Origin(Provenance.BUILT, release=order.release, source=source)
