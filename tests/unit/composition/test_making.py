"""Building and comparing through the real parts; the programs on PATH are stand-ins that record what they are told."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.engines.build_engine import Order
from blazar.application.engines.build_release import Wish
from blazar.composition.local import Local
from blazar.domain.building import PROGRAMS, Backend
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Provenance
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.support.archives import Entry, digest, write_tar
from tests.support.proxies import forget_proxies
from tests.support.release_feed import ReleaseHost, Served, asset, release

SOURCES = [Entry("llama.cpp-b11434/CMakeLists.txt", b'project("llama.cpp" C CXX)\n')]
ROW = [{"n_gen": 8, "samples_ts": [100.0] * 5}]
CMAKE = """
[ "$1" = --version ] && { echo "cmake version ${CMAKE_SAYS:-3.28.1}"; exit 0; }
printf '%s\\n' "$@" > "$RECORD/cmake"; mkdir -p "$4"; echo "-- Configuring done"
"""
NINJA = """
printf '%s\\n' "$@" > "$RECORD/ninja"; mkdir -p "$2/bin"
[ -n "$BROKEN" ] && { echo "[1/5] Building x.o"; echo "x.cu:1:1: error: unsupported"; echo "ninja: build stopped."; exit 1; }
for name in llama-server llama-quantize llama-imatrix llama-perplexity llama-bench; do
  printf '#!/bin/sh\\necho version: 11434 source\\n' > "$2/bin/$name"; chmod 755 "$2/bin/$name"; done
touch "$2/bin/libllama.so"; for n in 1 2 3 4 5; do echo "[$n/5] Linking"; done
"""

Machine = Callable[..., Local]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine with these programs and nothing else but a shell; what they print is said by keyword."""
    made: list[Local] = []

    def make(compilers: tuple[str, ...] = ("gcc-13",), **says: str) -> Local:
        bin_ = tmp_path / "bin"
        bin_.mkdir()
        texts = {"cmake": CMAKE, "ninja": NINJA, "nvcc": f"echo 'release {says.pop('nvcc', '12.4')}, V0'"}
        texts["nvidia-smi"] = f"printf '%s\\n' {says.pop('smi', '8.9')}"
        for name in compilers:
            texts[name] = f"echo {name.rpartition('-')[2]}.1.0"
            texts[name.replace("gcc", "g++").replace("clang", "clang++")] = "exit 0"
        for name, text in texts.items():
            (bin_ / name).write_text(f"#!/bin/sh\n{text}\n")
            (bin_ / name).chmod(0o755)
        for name in ("mkdir", "printf", "touch", "chmod", "sh"):
            (bin_ / name).symlink_to(shutil.which(name) or "")
        env = {"PATH": str(bin_), "RECORD": str(tmp_path), **says}
        made.append(Local(Folders(tmp_path / "config.toml", tmp_path / "data"), env, lambda _: []))
        return made[-1]

    yield make
    for local in made:
        local.close()


def order(tmp_path: Path, backend: Backend) -> Order:
    file = write_tar(tmp_path / "llama.cpp-b11434.tar.gz", SOURCES)
    return Order(backend, str(file), digest(file), "b11434", 2)


def said(tmp_path: Path, program: str) -> list[str]:
    return (tmp_path / program).read_text().splitlines()


class Case(NamedTuple):
    """CUDA, compilers and cards of a machine; the host compiler and the architectures that cmake is told."""

    cuda: str
    compilers: tuple[str, ...]
    cards: str
    host: str
    architectures: str


MATRIX = [
    Case("12.4", ("gcc-13", "gcc-14"), "8.9", "g++-13", "89"),
    Case("12.0", ("gcc-12", "gcc-13"), "8.6", "g++-12", "86"),
    Case("11.8", ("gcc-11", "gcc-12"), "7.5", "g++-11", "75"),
    Case("12.8", ("gcc-14", "gcc-13"), "12.0 8.6", "g++-14", "86;120"),
    Case("13.0", ("gcc-15", "gcc-14"), "9.0", "g++-15", "90"),
    Case("12.4", ("gcc-14", "clang-17"), "8.9", "clang++-17", "89"),
]


@pytest.mark.parametrize("case", MATRIX, ids=lambda case: f"{case.cuda} {case.cards}")
def test_build_cuda(machine: Machine, tmp_path: Path, case: Case) -> None:
    """The whole way with stand-ins: what cmake is told, five programs with their library, a row of its own name."""
    local = machine(case.compilers, nvcc=case.cuda, smi=case.cards)
    told: list[tuple[int, int]] = []
    row = local.engines().build(order(tmp_path, Backend.CUDA), lambda done, whole: told.append((done, whole)))
    words, at = said(tmp_path, "cmake"), tmp_path / "bin"
    assert f"-DCMAKE_CUDA_COMPILER={at}/nvcc" in words
    assert f"-DCMAKE_CUDA_HOST_COMPILER={at}/{case.host}" in words
    assert f"-DCMAKE_CUDA_ARCHITECTURES={case.architectures}" in words
    assert said(tmp_path, "ninja")[2:] == ["-j", "2", *PROGRAMS]
    assert (row.tag, row.provenance, row.version, row.release) == (
        "b11434-cuda",
        Provenance.BUILT,
        "11434 source",
        "b11434",
    )
    folder = tmp_path / "data" / "engines" / "b11434-cuda"
    assert {path.name for path in folder.iterdir()} == {*PROGRAMS, "libllama.so"}
    assert told == [(n, 5) for n in range(1, 6)]
    assert not (tmp_path / "data" / "engines" / ".building" / "b11434-cuda").exists()


def test_build_cpu(machine: Machine, tmp_path: Path) -> None:
    """No word of CUDA, and a name of its own."""
    assert machine().engines().build(order(tmp_path, Backend.CPU), lambda *_: None).tag == "b11434-cpu"
    assert not any("CUDA" in word for word in said(tmp_path, "cmake"))


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ({"nvcc": "12.0"}, "CUDA 12.0 takes host code of compilers up to gcc 12"),
        ({"smi": "12.0"}, "CUDA 12.4 cannot compile for a card of compute capability 12.0"),
        ({"CMAKE_SAYS": "3.12.0"}, "cmake is of version 3.12, and 3.18 or newer is needed"),
        ({"BROKEN": "1"}, "b11434-cuda could not be built: x.cu:1:1: error: unsupported"),
    ],
)
def test_build_cuda_refused(machine: Machine, tmp_path: Path, says: dict[str, str], sentence: str) -> None:
    """A sentence each, and no build."""
    local = machine(**says)
    with pytest.raises(Malformed) as refused:
        local.engines().build(order(tmp_path, Backend.CUDA), lambda *_: None)
    assert sentence in str(refused.value)
    assert [row.tag for row in local.engine_rows.list_engines()] == []


def test_a_failed_build_goes_on(machine: Machine, tmp_path: Path) -> None:
    """Its log is where the sentence says, and the next try compiles in the same folder."""
    local = machine(BROKEN="1")
    with pytest.raises(Malformed, match=r"build\.log"):
        local.engines().build(order(tmp_path, Backend.CPU), lambda *_: None)
    log = tmp_path / "data" / "engines" / ".building" / "b11434-cpu" / "build.log"
    assert "error: unsupported" in log.read_text()
    local.env = {name: text for name, text in local.env.items() if name != "BROKEN"}
    assert local.engines().build(order(tmp_path, Backend.CPU), lambda *_: None).tag == "b11434-cpu"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReleaseHost]:
    """Releases and their sources, with no proxy before them."""
    forget_proxies(monkeypatch)
    server = ReleaseHost()
    yield server
    server.close()


def test_a_release_of_its_own_source(machine: Machine, tmp_path: Path, host: ReleaseHost) -> None:
    """Configured repository and channel; fetched into the data folder, built, and only the build stays."""
    data = write_tar(tmp_path / "source.tar.gz", SOURCES).read_bytes()
    rows = [
        release(f"b{n}", asset(f"llama-b{n}-bin-x.zip", f"{host.url}/x", b"x"), day=day)
        for n, day in ((9001, 1), (9002, 2))
    ]
    host.publish(
        [*rows[::-1], release("v1.0.0", prerelease=False, body="[b9001](/o/r/releases/tag/b9001)", day=3)], "o/r"
    )
    host.add("/o/r/archive/refs/tags/b9001.tar.gz", Served(data, ranges=False, etag="", chunked=True))
    local = machine(BLAZAR_GH_BASE=host.url, BLAZAR_REPO="o/r")
    local.folders.config_file.write_text('update_channel = "stable"\n')
    told: list[str] = []
    row = local.engines().build_release(Wish(Backend.CPU), lambda *_: None, lambda tag, *_: told.append(tag))
    assert (row.tag, row.provenance, row.release) == ("b9001-cpu", Provenance.BUILT, "b9001")
    assert row.source == f"o/r@b9001 sha256:{digest(tmp_path / 'source.tar.gz')}"
    assert told == ["b9001-cpu"] * 5
    assert list(local.folders.downloads.iterdir()) == []


def bench_build(local: Local, tmp_path: Path, tag: str) -> None:
    """A build whose tool says a hundred tokens a second."""
    folder = tmp_path / "data" / "engines" / tag
    folder.mkdir(parents=True)
    for name, text in (("llama-server", "echo version: 1"), ("llama-bench", f"echo '{json.dumps(ROW)}'")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    local.engine_rows.add_engine(an_engine(tag, server_path=str(folder / "llama-server")))


def test_the_gate(machine: Machine, tmp_path: Path) -> None:
    """From the catalog's model to the row in the history; with the variable, or --no-gate, nothing is run."""
    local = machine()
    local.catalog.add_model(a_model("m"))
    for tag in ("b1", "b2"):
        bench_build(local, tmp_path, tag)
    old, new = (local.engine_rows.find_engine(tag) for tag in ("b1", "b2"))
    assert old is not None
    assert new is not None
    verdict = local.engines().gate(wanted=True)(new, old)
    assert verdict.sentence == "b2 decodes 100.0 tokens/s of m and b1 100.0: no regression"
    assert local.engines().gate(wanted=False)(new, old).sentence == "the builds were not compared, as --no-gate asks"
    local.env = {**local.env, "BLAZAR_ENGINE_GATE": "off"}
    assert "BLAZAR_ENGINE_GATE is off" in local.engines().gate(wanted=True)(new, old).sentence
    local.env = {**local.env, "BLAZAR_ENGINE_GATE": "strict"}
    with pytest.raises(Malformed, match="BLAZAR_ENGINE_GATE is 'strict'"):
        local.engines().gate(wanted=True)


def test_starting_is_not_slower_for_it() -> None:
    """Neither is loaded by a verb that builds and compares nothing."""
    code = "import sys, blazar.composition.local_engines; print([m for m in sys.modules if 'making' in m or 'benching' in m])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout == "[]\n"
