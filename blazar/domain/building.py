"""How a build is made from a source archive: which programs, with which words, and what their output says of progress. Runs nothing."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed

Version = tuple[int, int]


class Backend(StrEnum):
    """What a build computes with; its tag ends in it."""

    CPU = "cpu"
    CUDA = "cuda"


PROGRAMS: Final = ("llama-server", "llama-quantize", "llama-imatrix", "llama-perplexity", "llama-bench")
"""What a build consists of (setup document); the server first."""
OLDEST_CMAKE: Final[dict[Backend, Version]] = {Backend.CPU: (3, 14), Backend.CUDA: (3, 18)}
"""llama.cpp asks for 3.14 itself; CMAKE_CUDA_ARCHITECTURES came with 3.18."""
ROOM: Final[dict[Backend, int]] = {Backend.CPU: 2 * 2**30, Backend.CUDA: 12 * 2**30}
"""Bytes that source, objects and the finished build take together, generously: 0.6 GB and, for one architecture, 6 GB were seen."""

# How the words of `cmake` name the tools that it drives.
_NINJA, _MAKE = "Ninja", "Unix Makefiles"


class Compiler(NamedTuple):
    """A host compiler: the programs for C and C++, its family (gcc or clang) and its version."""

    cc: str
    cxx: str
    family: str
    version: Version


class Nvcc(NamedTuple):
    """The CUDA compiler and its release."""

    path: str
    version: Version


class Cuda(NamedTuple):
    """All that `cuda` adds: compiler, the cards' architectures as cmake writes them, and the compiler of host code."""

    nvcc: Nvcc
    architectures: tuple[str, ...]
    host: Compiler


class Tools(NamedTuple):
    """Programs that were found: cmake, and what runs the compilers (ninja, or make where there is none)."""

    cmake: str
    maker: str
    ninja: bool = True


# The newest majors that each CUDA release takes for host code: NVIDIA's installation guide for Linux, "host compiler support
# policy" of each release, as `crt/host_config.h` of 13.0 (gcc 15, clang 20) and the table that nixpkgs keeps of it have them.
# nvcc looks at the major version only.
_HOSTS: Final[dict[Version, dict[str, int]]] = {
    (11, 0): {"gcc": 9, "clang": 9},
    (11, 1): {"gcc": 10, "clang": 10},
    (11, 2): {"gcc": 10, "clang": 11},
    (11, 4): {"gcc": 11, "clang": 12},
    (11, 6): {"gcc": 11, "clang": 13},
    (11, 8): {"gcc": 11, "clang": 14},
    (12, 0): {"gcc": 12, "clang": 14},
    (12, 1): {"gcc": 12, "clang": 15},
    (12, 2): {"gcc": 12, "clang": 16},
    (12, 4): {"gcc": 13, "clang": 17},
    (12, 6): {"gcc": 13, "clang": 18},
    (12, 8): {"gcc": 14, "clang": 19},
    (13, 0): {"gcc": 15, "clang": 20},
}
_OLDEST_HOST: Final = {"gcc": 8, "clang": 7}
"""Older ones have no whole C++17, which llama.cpp is written in."""

# The first CUDA release that compiles for a compute capability, and the last one: release notes of each. Others have been
# there since before 11.0.
_SINCE: Final[dict[Version, Version]] = {
    (8, 6): (11, 1),
    (8, 7): (11, 4),
    (8, 9): (11, 8),
    (9, 0): (11, 8),
    (10, 0): (12, 8),
    (10, 1): (12, 8),
    (10, 3): (12, 9),
    (11, 0): (13, 0),
    (12, 0): (12, 8),
    (12, 1): (12, 9),
}
_UNTIL: Final[dict[Version, Version]] = {
    (5, 0): (12, 9),
    (5, 2): (12, 9),
    (6, 0): (12, 9),
    (6, 1): (12, 9),
    (7, 0): (12, 9),
}

_RELEASE = re.compile(r"(?:version|release)\s+(\d+)\.(\d+)")
_PLAIN = re.compile(r"^\s*(\d+)(?:\.(\d+))?", re.MULTILINE)
_PERCENT = re.compile(r"^\[\s*(\d{1,3})%\]")
_STEPS = re.compile(r"^\[(\d+)/(\d+)\]")
_NUMBER = re.compile(r"^b(\d+)$")


def version_in(text: str) -> Version | None:
    """The version that a program named: `cmake version 3.25.1`, `release 12.4, V12.4.131`, or a bare `12.2.0`."""
    match = _RELEASE.search(text) or _PLAIN.search(text)
    return (int(match[1]), int(match[2] or 0)) if match else None


def newest_hosts(cuda: Version) -> dict[str, int]:
    """The newest major of each family; a release that is not in the table takes what the one before it takes."""
    before = [release for release in _HOSTS if release <= cuda]
    return _HOSTS[max(before, default=min(_HOSTS))]


def choose_host(cuda: Version, found: Iterable[Compiler]) -> Compiler | None:
    """The newest gcc that this CUDA takes, else the newest clang; None where neither is there."""
    newest = newest_hosts(cuda)
    able = [one for one in found if _OLDEST_HOST[one.family] <= one.version[0] <= newest[one.family]]
    return max(able, key=lambda one: (one.family == "gcc", one.version), default=None)


def cuda_architectures(said: str, cuda: Version) -> tuple[str, ...]:
    """What to compile for, of the lines that `nvidia-smi` prints (one compute capability for each card).

    Raises `Malformed` where there is no card, or this CUDA has no code for one.
    """
    capabilities = sorted({(int(m[1]), int(m[2])) for m in re.finditer(r"^\s*(\d+)\.(\d+)\s*$", said, re.MULTILINE)})
    if not capabilities:
        raise Malformed(teaching.build_without_card(), "backend")
    for card in capabilities:
        if cuda < _SINCE.get(card, (0, 0)) or cuda > _UNTIL.get(card, (99, 0)):
            first, last = _SINCE.get(card), _UNTIL.get(card)
            raise Malformed(
                teaching.cuda_without_card(_dotted(cuda), _dotted(card), _dotted(first), _dotted(last)), "backend"
            )
    return tuple(f"{major}{minor}" for major, minor in capabilities)


def cmake_words(source: str, folder: str, tools: Tools, release: str, cuda: Cuda | None) -> tuple[str, ...]:
    """The command that configures a build. Programs find their libraries beside themselves, wherever the folder is moved to."""
    match = _NUMBER.match(release)
    words = [
        tools.cmake,
        *("-S", source, "-B", folder, "-G", _NINJA if tools.ninja else _MAKE),
        "-DCMAKE_BUILD_TYPE=Release",
        "-DBUILD_SHARED_LIBS=ON",
        "-DCMAKE_INSTALL_RPATH=$ORIGIN",
        "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
        "-DGGML_NATIVE=ON",
        "-DGGML_RPC=ON",
        "-DLLAMA_BUILD_TESTS=OFF",
        "-DLLAMA_BUILD_EXAMPLES=OFF",
        "-DLLAMA_BUILD_APP=OFF",
        # A page of its own is nothing that a child serves, and it would be fetched from a hub while building.
        "-DLLAMA_BUILD_UI=OFF",
        "-DLLAMA_USE_PREBUILT_UI=OFF",
        # Children fetch nothing: a library for it would only be one more thing that can be missing.
        "-DLLAMA_OPENSSL=OFF",
        f"-DLLAMA_BUILD_NUMBER={match[1] if match else 0}",
        "-DLLAMA_BUILD_COMMIT=source",
    ]
    if cuda is not None:
        words += [
            "-DGGML_CUDA=ON",
            f"-DCMAKE_CUDA_COMPILER={cuda.nvcc.path}",
            f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(cuda.architectures)}",
            f"-DCMAKE_CUDA_HOST_COMPILER={cuda.host.cxx}",
            f"-DCMAKE_C_COMPILER={cuda.host.cc}",
            f"-DCMAKE_CXX_COMPILER={cuda.host.cxx}",
        ]
    return tuple(words)


def build_words(folder: str, tools: Tools, jobs: int) -> tuple[str, ...]:
    """The command that compiles what a build consists of, and nothing else.

    Not `cmake --build`: ended alone it leaves ninja or make behind, which both take their compilers along.
    """
    return (tools.maker, "-C", folder, "-j", str(jobs), *PROGRAMS)


def progress_in(line: str) -> tuple[int, int] | None:
    """What of how much is done: `[ 42%] Building …` of make, `[12/300] Building …` of ninja."""
    if match := _PERCENT.match(line):
        return min(int(match[1]), 100), 100
    if match := _STEPS.match(line):
        done, whole = int(match[1]), int(match[2])
        return (done, whole) if 0 < whole >= done else None
    return None


def tag_of(release: str, backend: Backend) -> str:
    """`b11434` is `b11434-cuda` where it was built for it; a name that says so already stays."""
    return release if release.endswith(f"-{backend}") else f"{release}-{backend}"


def trouble_in(lines: Sequence[str]) -> str:
    """The line that says why it failed: the first error of a compiler or of cmake, else the last thing that was said."""
    said = [line.strip() for line in lines if line.strip()]
    errors = [at for at, line in enumerate(said) if re.search(r"\berror\b", line, re.IGNORECASE)]
    if not errors:
        return said[-1] if said else ""
    first = said[errors[0]]
    # cmake says what is wrong in the line after "CMake Error at FILE:LINE (message):".
    return f"{first} {said[errors[0] + 1]}" if first.endswith(":") and len(said) > errors[0] + 1 else first


def _dotted(version: Version | None) -> str:
    return f"{version[0]}.{version[1]}" if version else ""
