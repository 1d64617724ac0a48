"""The whole way on real engines: found or installed, probed, spawned, asked, stopped."""

import asyncio
import importlib.util
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.drivers import PROGRAMS
from blazar.adapters.engines.finder import SystemEngineFinder
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.engines.enrol_engines import EnrolEngines
from blazar.application.engines.install_engine import InstallEngine
from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.upstream import ChildCall
from blazar.composition.daemon import connect
from blazar.domain.argv import compile_argv
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.socket_paths import socket_path
from tests.fakes.engines import MemoryEngineCatalog
from tests.support.engine import LoopClock, RealEntropy
from tests.support.scripted_gguf import HELLO, scripted_model
from tests.support.shared import shared


def plan_for(engine: Engine, probe: HelpProbe) -> LaunchPlan:
    settings = {
        "model_path": str(scripted_model()),
        "alias": "m",
        "ctx_size": 1024,
        "slots": 1,
        "kv_unified": False,
        "threads": 1,
        "threads_batch": 1,
    }
    argv = compile_argv(LLAMACPP.flags, settings, probe.manifest(engine))
    assert argv.unknown == ()
    return LaunchPlan("m", "m", EngineKind.LLAMACPP, engine.tag, (*engine.words, *argv.words))


async def asked(run_dir: Path, plan: LaunchPlan, number: int = signal.SIGTERM) -> tuple[str, int]:
    """Spawn, ask once, stop: the answer and the exit status."""
    children = SubprocessChildren(
        run_dir,
        LoopClock(),
        RealEntropy(),
        connect,
        {EngineKind.LLAMACPP: LLAMACPP},
        processes=SystemProcesses(),
    )
    child = await children.spawn(plan)
    try:
        while not await child.is_ready():
            assert children.orphans() == []
            await asyncio.sleep(0.02)
        body = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
        answer = await child.upstream.fetch(ChildCall(b"POST", b"/v1/chat/completions", body), 60)
        assert answer.status == 200
        assert child.progress() > 10_000
    finally:
        child.signal(number)
        status = await child.wait()
        await child.aclose()
    text: str = json.loads(answer.body)["choices"][0]["message"]["content"]
    return text, status


def test_a_release_archive_is_installed_and_serves(tmp_path: Path) -> None:
    """Verified, unpacked, tried, listed, spawned with its own probed flags, asked with its key, stopped clean."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    digests: dict[str, str] = dict(
        reversed(line.split()) for line in shared("engines/SHA256SUMS").read_text().splitlines()
    )
    probe, catalog = HelpProbe(LLAMACPP.scrubbed), MemoryEngineCatalog()
    builds = ArchiveBuilds(tmp_path / "engines", SystemProcesses())
    install = InstallEngine(catalog, builds, probe, LoopClock(), PROGRAMS)
    engine = install(str(archive), digests[archive.name])
    assert (engine.tag, engine.active) == ("b11434", True)
    assert engine.version.startswith("0.6.0")
    (tmp_path / "run").mkdir()
    run_dir, plan = tmp_path / "run", plan_for(engine, probe)
    assert asyncio.run(asyncio.wait_for(asked(run_dir, plan), 120)) == (HELLO, 0)
    # And on a socket file, which goes with it.
    plan = plan._replace(socket=socket_path(str(run_dir), "m"), auth=False)
    assert asyncio.run(asyncio.wait_for(asked(run_dir, plan), 120)) == (HELLO, 0)
    assert sorted(path.name for path in run_dir.iterdir()) == ["m.log", "m.log.1"]


@pytest.mark.engine
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the embedded engine is not installed")
def test_the_wheel_is_enrolled_and_serves(tmp_path: Path) -> None:
    """Found, listed with its provenance, spawned with what its own help knows, asked, stopped clean."""
    probe, catalog = HelpProbe(LLAMACPP.scrubbed), MemoryEngineCatalog()
    environment: dict[str, Any] = {k: v for k, v in os.environ.items() if k != "BLAZAR_ENGINE_PATH"}
    assert EnrolEngines(catalog, SystemEngineFinder(environment), probe, LoopClock())() is None
    (engine,) = catalog.list_engines()
    assert engine.provenance is Provenance.EMBEDDED
    (tmp_path / "run").mkdir()
    run_dir, plan = tmp_path / "run", plan_for(engine, probe)
    assert asyncio.run(asyncio.wait_for(asked(run_dir, plan), 120)) == (HELLO, 0)
    # And on a socket file, which goes with it.
    plan = plan._replace(socket=socket_path(str(run_dir), "m"), auth=False)
    assert asyncio.run(asyncio.wait_for(asked(run_dir, plan), 120)) == (HELLO, 0)
    assert sorted(path.name for path in run_dir.iterdir()) == ["m.log", "m.log.1"]
