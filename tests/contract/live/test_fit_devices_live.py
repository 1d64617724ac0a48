"""What a plan says of each device is what a real engine puts there: layers, weights, caches and scratch, read from its own log.

Devices are workers of the release archive (ggml-rpc-server), to the engine accelerators like any other: they are given layers, a
split, caches and compute buffers. What they really have is this machine's memory; their sizes in a plan are imagined, so that it
has to choose. What the child is told goes the way of every load: configuration, plan, flag table.
"""

import re
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.files.gguf import read_header
from blazar.application.supervise.fit_settings import fit_settings
from blazar.application.supervise.verdict_flags import flags_for
from blazar.domain.argv import compile_argv
from blazar.domain.fit.budget import MARGIN_PER_DEVICE
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.machine import Device, Machine
from blazar.domain.fit.planner import plan
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.verdict import Outcome, Verdict
from tests.fakes.engines import an_engine
from tests.support.builds import unpacked
from tests.support.daemon import WATCHDOG, wait_until
from tests.support.shared import shared
from tests.support.supervision import a_config
from tests.support.tiny_ggufs import SKETCHES, write

ARCHIVE = "llama-b11434-bin-linux-x64.tar.gz"
MIB = 2**20
RAM = 16 * 2**30
READY = "listening on http"
HOST = "host"

NEAR = 0.10  # of a compute buffer, which is modelled and not laid out tensor by tensor …
AND = 0.25  # … and MiB beside it
ROUNDING = 0.0051  # MiB, of each size in the log
ALIGNMENT = 32  # bytes a tensor of a buffer, at most (ggml/src/ggml-cpu, TENSOR_ALIGNMENT)

KINDS = {"model": "weights", "KV": "kv", "RS": "recurrent", "compute": "compute"}
BUFFER = re.compile(r": +(\S+) +(model|KV|RS|compute) buffer size = +([\d.]+) MiB")
LAYERS = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
WORKERS = 2

ALWAYS = {
    "ctx": 8192,
    "slots": 1,
    "ubatch_size": 64,
    "cache_type_k": "f16",
    "cache_type_v": "f16",
    "load_mode": "direct-io",
}
"""Small batches, for a cache that outweighs what is computed with; no mapping, for a mapped buffer spans what lies between."""
Q8 = {"cache_type_k": "q8_0", "cache_type_v": "q8_0"}
Q4 = {"cache_type_k": "q4_0", "cache_type_v": "q4_0"}
OVERRIDE = "override_tensor"
PLACES = ("tensor_split", "devices", OVERRIDE)

Sizes = dict[tuple[str, str], float]


class Engine(NamedTuple):
    """The real llama-server with two workers, in the order in which it is told of them."""

    path: str
    flags: frozenset[str]
    workers: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"RPC{number}" for number in range(len(self.workers)))


class Case(NamedTuple):
    """One load: what configuration says, and devices' sizes as parts of what all of it takes on one device.

    `devices` and `whole`: how it has to come out, on how many of them (None: as the plan likes), and with every layer or not.
    """

    rooms: tuple[float, ...]
    devices: int | None
    whole: bool
    said: Mapping[str, Any] = {}
    models: tuple[str, ...] = tuple(SKETCHES)


AMPLE = (9.0, 9.0)
ATTENDING = ("dense", "windowed", "moe", "mla")
DENSE_FF = ("dense", "windowed", "mla", "hybrid")
FEW = {"ubatch_size": 4}
"""Tokens at once, so few that what each of two devices computes with does not outweigh what they share."""

CASES = {
    "all on the only device": Case((1.0,), 1, True),
    "all on the tighter of two": Case((2.0, 1.0), 1, True),
    "shared out, most on the first": Case((0.9, 0.6), 2, True, FEW, ("dense", "mla", "hybrid")),
    "shared out, most on the second": Case((0.6, 0.9), 2, True, FEW),
    "shared out as somebody says": Case(AMPLE, 2, True, {"tensor_split": "1,2"}),
    "shared out by fractions, long window, large batches": Case(
        AMPLE, 2, True, {"tensor_split": "0.6,0.4", "ctx": 32768, "ubatch_size": 512}
    ),
    "partly, one device": Case((0.7,), 1, False),
    "partly, two devices": Case((0.5, 0.6), None, False, {"ctx": 16384}),
    "partly, several slots": Case((0.7,), 1, False, {"slots": 2, **Q4, "swa_full": True}),
    "cache with the host": Case((1.0,), 1, True, {"no_kv_offload": True}),
    "cache with the host, shared out": Case(AMPLE, 2, True, {"no_kv_offload": True, "tensor_split": "1,1"}, ATTENDING),
    "experts with the host": Case((1.0,), 1, True, {"cpu_moe_n": 1}, ("moe",)),
    "experts with the host, shared out": Case(AMPLE, 2, True, {"cpu_moe_n": 2, "tensor_split": "1,2"}, ("moe",)),
    "feed-forward with the host": Case(AMPLE, 1, True, {"cpu_ffn_n": 2}, DENSE_FF),
    "tensors with the host, slots apart": Case(
        AMPLE,
        2,
        True,
        {
            "tensor_split": "2,1",
            "slots": 3,
            "kv_unified": False,
            **Q8,
            "ubatch_size": 96,
            OVERRIDE: ["blk.1.ffn_(up|down)=CPU"],
        },
    ),
    "tensors on one device, layers on another": Case(
        AMPLE, 2, True, {OVERRIDE: ["blk.1.ffn_(up|down)=RPC0[{1}]"]}, DENSE_FF
    ),
    "devices in an order of one's own": Case(AMPLE, 2, True, {"devices": ["RPC1", "RPC0"], "tensor_split": "1,2"}),
    "nothing on the device": Case((0.01,), 0, False),
}


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Unpacked once, with workers that end with the tests."""
    archive = shared(f"engines/{ARCHIVE}")
    listed = (line.split() for line in shared("engines/SHA256SUMS").read_text().splitlines())
    digests = {name: digest for digest, name in listed}
    _, path = unpacked(tmp_path_factory.mktemp("engine"), archive, digests[archive.name])
    flags = frozenset(HelpProbe(LLAMACPP.scrubbed).manifest(an_engine(server_path=path)))
    with ExitStack() as stack:
        workers = tuple(stack.enter_context(worker(Path(path).with_name("ggml-rpc-server"))) for _ in range(WORKERS))
        yield Engine(path, flags, workers)


@contextmanager
def worker(path: Path) -> Iterator[str]:
    """One that serves; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(path), "-t", "1", "-H", "127.0.0.1", "-p", str(port)]
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: listens(port), WATCHDOG)
        yield f"127.0.0.1:{port}"
    finally:
        child.kill()
        child.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=WATCHDOG).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The generated files."""
    pytest.importorskip("gguf")
    folder = tmp_path_factory.mktemp("tiny")
    return {name: write(folder, name) for name in SKETCHES}


def shape_of(model: Path) -> ModelShape:
    header = read_header(str(model))
    return shape_from_gguf(header.metadata, header.tensors)


def machine_of(engine: Engine, rooms: Sequence[float], whole: int) -> Machine:
    """Devices with room for so many times `whole` bytes, their margins apart."""
    sizes = [MARGIN_PER_DEVICE + int(part * whole) for part in rooms]
    rows = zip(engine.names, sizes, engine.workers, strict=False)
    return Machine(RAM, RAM, tuple(Device(name, "rpc", size, size, address) for name, size, address in rows))


class Load(NamedTuple):
    """What is planned, and what the engine is told of it."""

    verdict: Verdict
    told: dict[str, Any]


def load_of(shape: ModelShape, case: Case, engine: Engine) -> Load:
    """As the daemon plans it: configuration, plan, words. Rooms are parts of what a load takes that has one device to itself."""
    unplaced = {key: value for key, value in case.said.items() if key not in PLACES}
    alone = plan(shape, machine_of(engine, (1.0,), RAM), fit_settings(configured(unplaced), shape.trained_ctx))
    said = {
        key: [item.format(*engine.workers) for item in value] if key == OVERRIDE else value
        for key, value in case.said.items()
    }
    settings = configured(said)
    machine = machine_of(engine, case.rooms, alone.shares[1].used)
    verdict = plan(shape, machine, fit_settings(settings, shape.trained_ctx))
    return Load(verdict, {**settings, **flags_for(verdict, settings, machine)})


def configured(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return a_config({"m": {**ALWAYS, **said}}).settings_for("m")


def words(engine: Engine, model: Path, told: Mapping[str, Any]) -> list[str]:
    """The command line of a child, but for its key; the workers come first, so that their names are known."""
    known = {"model_path": str(model), "alias": "m", "cache_ram_mb": 0, "threads": 1, "threads_batch": 1}
    # Keys that the compiler resolves to a folder or a file; none of them takes device memory.
    known |= {"sessions": "", "idle_sleep_secs": 0}
    argv = compile_argv(LLAMACPP.flags, {**told, **known}, engine.flags)
    assert argv.unknown == ()
    place = [LLAMACPP.host_flag, "127.0.0.1", LLAMACPP.port_flag, "0"]
    return [engine.path, "--rpc", ",".join(engine.workers), *argv.words, *place]


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


def sizes(engine: Engine, text: str) -> Sizes:
    """MiB by device and kind. A worker's buffers bear its address; its number there is the worker's own."""
    found: Sizes = {}
    for buffer, kind, size in BUFFER.findall(text):
        address = buffer.partition("[")[2].rstrip("]")
        device = engine.names[engine.workers.index(address)] if address else HOST
        found[device, KINDS[kind]] = found.get((device, KINDS[kind]), 0.0) + float(size)
    return found


def parts(shape: ModelShape, load: Load) -> dict[str, range]:
    """Each device's blocks, as the engine is told to deal them out: from the output layer down, in the devices' order."""
    start, found = len(shape.blocks) + 1 - load.verdict.gpu_layers, {}
    counts = load.verdict.settings.tensor_split or (load.verdict.gpu_layers,)
    for device, count in zip(load.verdict.pins, counts, strict=False):
        found[device] = range(start, min(start + int(count), len(shape.blocks)))
        start += int(count)
    return found


def modelled(shape: ModelShape, part: range) -> bool:
    """Whether a device reads every cache of the model; what one computes with that does not is only bounded from above."""
    return all(any(layer.block in part for layer in cache.layers) for cache in shape.caches)


def wrong(shape: ModelShape, load: Load, told: Sizes) -> list[tuple[str, str, float, float]]:
    """Device, kind, MiB planned and MiB allocated, wherever the two are not one."""
    found, held = [], parts(shape, load)
    for share in load.verdict.shares:
        for kind in KINDS.values():
            ours, theirs = getattr(share, kind) / MIB, told.get((share.device, kind), 0.0)
            near = (
                NEAR * theirs + AND
                if kind == "compute"
                else ROUNDING * max(len(shape.caches), 1) + padding(shape, kind)
            )
            exact = kind != "compute" or share.device not in held or modelled(shape, held[share.device])
            if ours < theirs - near or (exact and ours > theirs + near):
                found.append((share.device, kind, ours, theirs))
    return found


def padding(shape: ModelShape, kind: str) -> float:
    """MiB by which a buffer of weights may be larger than they are."""
    return len(shape.tensors) * ALIGNMENT / MIB if kind == "weights" else 0.0


@pytest.mark.parametrize(("case", "name"), [(case, name) for case in CASES for name in CASES[case].models])
def test_each_device_holds_what_was_planned(
    engine: Engine, models: dict[str, Path], tmp_path: Path, case: str, name: str
) -> None:
    """Layers, weights, cache and state to the engine's rounding; what is computed with nearly, and never less by more than that."""
    shape, asked = shape_of(models[name]), CASES[case]
    load = load_of(shape, asked, engine)
    assert load.verdict.fits, load.verdict.sentence
    layers = len(shape.blocks) + 1
    assert (load.verdict.gpu_layers == layers) == asked.whole
    assert asked.devices in (None, len(load.verdict.pins))
    text = log_of(words(engine, models[name], load.told), tmp_path / "log")
    assert LAYERS.findall(text) == [(str(load.verdict.gpu_layers), str(layers))]
    assert wrong(shape, load, sizes(engine, text)) == []


@pytest.mark.parametrize("said", [{"batch_size": 3, "slots": 4}, {"batch_size": 1}])
def test_what_the_engine_would_end_itself_over_is_not_planned(
    engine: Engine, models: dict[str, Path], tmp_path: Path, said: dict[str, Any]
) -> None:
    """The plan says what to turn; told all the same, the child never serves."""
    shape = shape_of(models["dense"])
    settings = configured(said)
    asked = fit_settings(settings, shape.trained_ctx)
    verdict = plan(shape, machine_of(engine, AMPLE, MIB), asked)
    assert verdict.outcome is Outcome.REFUSED
    assert next(iter(said)) in verdict.sentence
    told = {**settings, "ctx_size": asked.ctx, "slots": asked.parallel or 1, "kv_unified": asked.kv_unified}
    with pytest.raises(AssertionError):
        log_of(words(engine, models["dense"], told), tmp_path / "log")
