"""The recipe of a build: versions, host compilers, architectures, words, progress."""

from itertools import pairwise

import pytest

from blazar.domain.building import (
    PROGRAMS,
    Backend,
    Compiler,
    Cuda,
    Nvcc,
    Tools,
    build_words,
    choose_host,
    cmake_words,
    cuda_architectures,
    newest_hosts,
    progress_in,
    tag_of,
    trouble_in,
    version_in,
)
from blazar.domain.errors import Malformed


def compiler(name: str) -> Compiler:
    """`gcc-13` in a folder of its own."""
    family, _, major = name.partition("-")
    cxx = {"gcc": "g++", "clang": "clang++"}[family]
    return Compiler(f"/bin/{name}", f"/bin/{cxx}-{major}", family, (int(major), 1))


NVCC = "nvcc: NVIDIA (R) Cuda compiler driver\nBuilt on Thu_Mar_28\nCuda compilation tools, release 12.4, V12.4.131\n"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cmake version 3.25.1\n\nCMake suite maintained by Kitware\n", (3, 25)),
        (NVCC, (12, 4)),
        ("12.2.0\n", (12, 2)),
        ("13\n", (13, 0)),
        ("Debian clang version 17.0.6 (++2023)\n", (17, 0)),
        ("no such thing", None),
        ("", None),
    ],
)
def test_versions(text: str, version: tuple[int, int] | None) -> None:
    """As cmake, nvcc, gcc (-dumpfullversion) and clang say them."""
    assert version_in(text) == version


# CUDA, compilers on PATH, the one that is taken.
HOSTS = [
    ((11, 8), ["gcc-12", "gcc-11", "gcc-13"], "gcc-11"),
    ((12, 0), ["gcc-12", "gcc-13"], "gcc-12"),
    ((12, 3), ["gcc-13", "clang-16"], "clang-16"),
    ((12, 4), ["gcc-12", "gcc-13", "gcc-14", "clang-18"], "gcc-13"),
    ((12, 6), ["gcc-14", "clang-18", "clang-19"], "clang-18"),
    ((12, 9), ["gcc-14", "gcc-15"], "gcc-14"),
    ((13, 0), ["gcc-15", "gcc-14", "clang-20"], "gcc-15"),
    ((13, 4), ["gcc-15", "gcc-16"], "gcc-15"),
    ((10, 2), ["gcc-9", "gcc-10"], "gcc-9"),
    ((12, 4), ["gcc-14", "gcc-15"], None),
    ((12, 4), ["gcc-7"], None),
    ((12, 4), [], None),
]


@pytest.mark.parametrize(("cuda", "found", "chosen"), HOSTS)
def test_the_compiler_of_host_code(cuda: tuple[int, int], found: list[str], chosen: str | None) -> None:
    """The newest gcc that this CUDA takes, else the newest clang; a CUDA newer than the table takes what the last one takes."""
    assert choose_host(cuda, map(compiler, found)) == (chosen and compiler(chosen))


def test_newest_hosts_only_grow() -> None:
    """A later CUDA never takes less: a mistyped row of the table would show here."""
    releases = [(11, minor) for minor in range(9)] + [(12, minor) for minor in range(10)] + [(13, 0), (14, 0)]
    for earlier, later in pairwise(releases):
        before, after = newest_hosts(earlier), newest_hosts(later)
        assert all(after[family] >= major for family, major in before.items())


@pytest.mark.parametrize(
    ("said", "cuda", "architectures"),
    [
        ("8.9\n", (12, 4), ("89",)),
        ("8.9\n8.9\n", (12, 4), ("89",)),
        ("12.0\n8.6\n", (12, 8), ("86", "120")),
        (" 9.0 \n[N/A]\n", (12, 0), ("90",)),
        ("6.1\n", (12, 9), ("61",)),
    ],
)
def test_architectures(said: str, cuda: tuple[int, int], architectures: tuple[str, ...]) -> None:
    """One for each kind of card that nvidia-smi lists; cards that do not tell theirs are left out."""
    assert cuda_architectures(said, cuda) == architectures


@pytest.mark.parametrize(
    ("said", "cuda", "sentence"),
    [
        ("", (12, 4), "nvidia-smi lists no card"),
        ("No devices were found\n", (12, 4), "nvidia-smi lists no card"),
        (
            "12.0\n",
            (12, 4),
            "CUDA 12.4 cannot compile for a card of compute capability 12.0: put the nvcc of a CUDA release from 12.8",
        ),
        ("6.1\n", (13, 0), "a CUDA release up to 12.9"),
    ],
)
def test_cards_that_cannot_be_built_for(said: str, cuda: tuple[int, int], sentence: str) -> None:
    """Found before an hour of compiling, not after it."""
    with pytest.raises(Malformed) as refused:
        cuda_architectures(said, cuda)
    assert sentence in str(refused.value)


def test_words() -> None:
    """Cmake is told all that matters; libraries are found beside the programs; nothing is fetched while building."""
    words = cmake_words("/s", "/b", Tools("/bin/cmake", "/bin/ninja"), "b11434", None)
    assert words[:7] == ("/bin/cmake", "-S", "/s", "-B", "/b", "-G", "Ninja")
    assert {"-DCMAKE_INSTALL_RPATH=$ORIGIN", "-DLLAMA_BUILD_NUMBER=11434", "-DLLAMA_USE_PREBUILT_UI=OFF"} <= {*words}
    assert not any("CUDA" in word for word in words)
    assert cmake_words("/s", "/b", Tools("c", "make", ninja=False), "odd", None)[6] == "Unix Makefiles"
    assert build_words("/b", Tools("c", "/bin/ninja"), 3) == ("/bin/ninja", "-C", "/b", "-j", "3", *PROGRAMS)


def test_words_of_cuda() -> None:
    """Compiler, architectures and host compiler are named, so that cmake looks for none of them."""
    cuda = Cuda(Nvcc("/cuda/nvcc", (12, 4)), ("86", "89"), compiler("gcc-13"))
    words = cmake_words("/s", "/b", Tools("cmake", "ninja"), "b11434", cuda)
    assert words[-6:] == (
        "-DGGML_CUDA=ON",
        "-DCMAKE_CUDA_COMPILER=/cuda/nvcc",
        "-DCMAKE_CUDA_ARCHITECTURES=86;89",
        "-DCMAKE_CUDA_HOST_COMPILER=/bin/g++-13",
        "-DCMAKE_C_COMPILER=/bin/gcc-13",
        "-DCMAKE_CXX_COMPILER=/bin/g++-13",
    )


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("[ 42%] Building CXX object x.o", (42, 100)),
        ("[100%] Built target llama-server", (100, 100)),
        ("[12/300] Building CXX object x.o", (12, 300)),
        ("[0/1] Re-running CMake...", (0, 1)),
        ("[301/300] odd", None),
        ("[1/0] odd", None),
        ("-- Configuring done", None),
        ("x [12/300]", None),
    ],
)
def test_progress(line: str, progress: tuple[int, int] | None) -> None:
    """Of make and of ninja; other lines say nothing."""
    assert progress_in(line) == progress


def test_tags() -> None:
    """`bNNNN-cuda` and `bNNNN-cpu`."""
    assert tag_of("b11434", Backend.CUDA) == "b11434-cuda"
    assert tag_of("b11434-cpu", Backend.CPU) == "b11434-cpu"


def test_what_went_wrong() -> None:
    """The first error, not the epitaph of ninja; cmake's has its reason on the next line."""
    assert (
        trouble_in(["[1/2] x", "x.cpp:1:2: error: no", "ninja: build stopped: subcommand failed."])
        == "x.cpp:1:2: error: no"
    )
    assert (
        trouble_in(["CMake Error at CMakeLists.txt:2 (project):", "  No CUDA.", ""])
        == "CMake Error at CMakeLists.txt:2 (project): No CUDA."
    )
    assert trouble_in(["a", "b", ""]) == "b"
    assert trouble_in([]) == ""
