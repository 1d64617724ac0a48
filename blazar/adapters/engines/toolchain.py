"""Compilers and build tools of this machine, found on the search path and run. Knows no recipe."""

import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from blazar.adapters.engines.asking import ask
from blazar.application.ports.toolchain import BuildFailed, Toolchain
from blazar.domain import teaching
from blazar.domain.building import Compiler, version_in

ASK_SECS = 30.0
"""nvidia-smi takes a few where it has to wake the cards."""
_KEPT = 200
"""Lines of output that are looked through for what went wrong."""
_END_SECS = 10.0
_NAME = re.compile(r"(?:gcc|clang)(?:-\d+(?:\.\d+)?)?")


class SystemToolchain(Toolchain):
    """`env` is what programs are run in; its PATH is where they are looked for."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._path = self._env.get("PATH", os.defpath)

    def find(self, program: str) -> str:
        return shutil.which(program, path=self._path) or ""

    def ask(self, *words: str) -> str:
        try:
            said = ask(words, self._env, ASK_SECS)
        except subprocess.TimeoutExpired:
            raise BuildFailed(teaching.no_answer_within(ASK_SECS)) from None
        except OSError as error:
            raise BuildFailed(error.strerror or str(error)) from error
        if said.code != 0:
            lines = said.text.splitlines()
            raise BuildFailed(lines[-1].strip() if lines else teaching.ended_with(said.code), lines)
        return said.text

    def compilers(self) -> list[Compiler]:
        found = []
        for name in sorted(self._names()):
            family, _, suffix = name.partition("-")
            cc, cxx = self.find(name), self.find({"gcc": "g++", "clang": "clang++"}[family] + (suffix and f"-{suffix}"))
            if cc and cxx and (version := self._version(cc, family)):
                found.append(Compiler(cc, cxx, family, version))
        return found

    def _names(self) -> set[str]:
        names = set()
        for folder in self._path.split(os.pathsep):
            try:
                names |= {entry.name for entry in Path(folder).iterdir() if _NAME.fullmatch(entry.name)}
            except OSError:
                continue
        return names

    def _version(self, program: str, family: str) -> tuple[int, int] | None:
        """The number: gcc tells its number bare; with what it calls itself in front, distributions put theirs before it."""
        try:
            return version_in(self.ask(program, "-dumpfullversion" if family == "gcc" else "--version"))
        except BuildFailed:
            return None

    def run(self, words: Sequence[str], log: str, heard: Callable[[str], None]) -> None:
        last: deque[str] = deque(maxlen=_KEPT)
        with Path(log).open("a", encoding="utf-8", buffering=1) as file:
            file.write(f"$ {' '.join(words)}\n")
            try:
                process = subprocess.Popen(
                    words,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise BuildFailed(error.strerror or str(error)) from error
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    file.write(line)
                    last.append(line.rstrip("\n"))
                    heard(last[-1])
                code = process.wait()
            finally:
                _end(process)
        if code != 0:
            raise BuildFailed(teaching.ended_with(code), last)

    def cpus(self) -> int:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1


def _end(process: subprocess.Popen[str]) -> None:
    """By its pid alone; it takes its own compilers along when it is asked to end, and not when it is killed."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
