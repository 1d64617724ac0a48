"""What was planned is what a real engine allocates: small models of every kind of memory, the sizes read from its own log.

Needs no gateway: the release archive beside the checkout is unpacked and its llama-server spawned with the flags that every
child gets. Sizes in that log are rounded to 0.01 MiB.
"""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.files.gguf import read_header
from blazar.domain.argv import compile_argv
from blazar.domain.fit.compute import compute_bytes, served_outputs
from blazar.domain.fit.demand import memory
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from tests.fakes.engines import an_engine
from tests.support.builds import unpacked
from tests.support.daemon import WATCHDOG, wait_until
from tests.support.shared import shared
from tests.support.tiny_ggufs import SKETCHES, write

ARCHIVE = "llama-b11434-bin-linux-x64.tar.gz"
MIB = 2**20
ROUNDING = 0.0051
NEAR = 0.10  # of the compute buffer, which is modelled and not laid out tensor by tensor …
AND = 0.25  # … and MiB beside it
READY = "listening on http"
CACHE = re.compile(
    r"llama_kv_cache: size = .*\( *(\d+) cells, +(\d+) layers.*\(\w+\): +([\d.]+) MiB.*\(\w+\): +([\d.]+) MiB"
)
STATE = re.compile(r"llama_memory_recurrent: size = +([\d.]+) MiB")
BUFFER = re.compile(r"\S+ +(model|compute) buffer size = +([\d.]+) MiB")

SETTINGS = {
    "one slot": Settings(ctx=8192, parallel=1),
    "two slots, q8_0": Settings(ctx=8192, parallel=2, cache_type_k="q8_0", cache_type_v="q8_0"),
    "unified, small batches, full windows": Settings(
        ctx=6000, parallel=3, kv_unified=True, ubatch=256, swa_full=True, cache_type_k="f16", cache_type_v="f16"
    ),
}


class Server(NamedTuple):
    """The real llama-server, and the flags that its help knows."""

    path: str
    flags: frozenset[str]


class Log(NamedTuple):
    """Sizes that an engine reported. MiB; `caches` are cells, layers, K and V."""

    caches: list[tuple[int, int, float, float]]
    state: float
    model: float
    compute: float


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Unpacked once."""
    archive = shared(f"engines/{ARCHIVE}")
    listed = (line.split() for line in shared("engines/SHA256SUMS").read_text().splitlines())
    digests = {name: digest for digest, name in listed}
    _, path = unpacked(tmp_path_factory.mktemp("engine"), archive, digests[archive.name])
    return Server(path, frozenset(HelpProbe(LLAMACPP.scrubbed).manifest(an_engine(server_path=path))))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated files' folder."""
    pytest.importorskip("gguf")
    folder = tmp_path_factory.mktemp("tiny")
    for name in SKETCHES:
        write(folder, name)
    return folder


def words(server: Server, model: Path, settings: Settings) -> list[str]:
    """The command line of a child, but for its key."""
    told = {
        "model_path": str(model),
        "alias": "m",
        "ctx_size": settings.ctx,
        "slots": settings.parallel,
        "kv_unified": settings.kv_unified,
        "cache_type_k": settings.cache_type_k,
        "cache_type_v": settings.cache_type_v,
        "ubatch_size": settings.ubatch,
        "swa_full": settings.swa_full,
        "cache_ram_mb": 0,
        "threads": 1,
        "threads_batch": 1,
    }
    argv = compile_argv(LLAMACPP.flags, told, server.flags)
    assert argv.unknown == ()
    return [server.path, *argv.words, LLAMACPP.host_flag, "127.0.0.1", LLAMACPP.port_flag, "0"]


def log_of(command: list[str], path: Path) -> str:
    """Spawn, wait until it serves, end it by its pid: what it logged up to then."""
    with path.open("wb") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: READY in path.read_text(errors="replace") or child.poll() is not None, WATCHDOG)
    finally:
        child.kill()
        child.wait()
    text = path.read_text(errors="replace")
    assert READY in text, text[-2000:]
    return text


def read(text: str) -> Log:
    buffers = {"model": 0.0, "compute": 0.0}
    for kind, size in BUFFER.findall(text):
        buffers[kind] += float(size)
    caches = [(int(cells), int(layers), float(k), float(v)) for cells, layers, k, v in CACHE.findall(text)]
    return Log(caches, sum(map(float, STATE.findall(text))), buffers["model"], buffers["compute"])


def shape_of(model: Path) -> ModelShape:
    header = read_header(str(model))
    return shape_from_gguf(header.metadata, header.tensors)


def close(ours: int, theirs: float) -> bool:
    return abs(ours / MIB - theirs) <= ROUNDING


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", SKETCHES)
def test_a_child_allocates_what_was_planned(
    server: Server, models: Path, tmp_path: Path, name: str, setting: str
) -> None:
    """Every cache, the state and the weights to the engine's rounding; the compute buffer nearly, and planned for in full."""
    settings, shape = SETTINGS[setting], shape_of(models / f"{name}.gguf")
    told = read(log_of(words(server, models / f"{name}.gguf", settings), tmp_path / "log"))
    ours = memory(shape, settings)
    assert ours.refused is None
    assert [(cache.cells, len(cache.layers)) for cache in ours.caches] == [each[:2] for each in told.caches]
    for cache, (_, _, k, v) in zip(ours.caches, told.caches, strict=True):
        assert close(cache.k_bytes, k)
        assert close(cache.v_bytes, v)
    assert close(ours.recurrent_bytes, told.state)
    assert close(ours.weights_bytes, told.model)
    served = compute_bytes(shape, settings, outputs=served_outputs(settings)) / MIB
    assert served == pytest.approx(told.compute, rel=NEAR, abs=AND)
    assert ours.compute_bytes / MIB >= told.compute * (1 - NEAR)


@pytest.mark.parametrize("kind", ["q8_0", "q4_0"])
def test_what_would_be_refused_is_refused(server: Server, models: Path, tmp_path: Path, kind: str) -> None:
    """Latent attention keeps keys alone, so K and V cannot differ: said before the spawn, and the child says it too."""
    settings = Settings(ctx=4096, parallel=1, cache_type_k="f16", cache_type_v=kind)
    assert memory(shape_of(models / "mla.gguf"), settings).refused
    with pytest.raises(AssertionError, match="does not support different K"):
        log_of(words(server, models / "mla.gguf", settings), tmp_path / "log")
