"""`rpc_servers` with the release archive's own worker: listed, planned with, told to the child, computed on."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.engines.devices import EngineDevices
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.application.supervise.extra_words import WORDS
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.sizing import Sizing
from blazar.domain.fit.verdict import Outcome
from blazar.domain.records import Engine
from tests.contract.live.test_fit_devices_live import ARCHIVE, LAYERS, log_of, worker
from tests.fakes.catalog import a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import FakeCensus
from tests.support.builds import unpacked
from tests.support.shared import shared
from tests.support.supervision import a_config
from tests.support.tiny_ggufs import write

NOBODY = "127.0.0.1:1"
OLDER = {"--mmap", "--no-mmap", "--mlock", "-dio", "--direct-io", "-cd", "--ctx-size-draft"}
"""Spellings that b11434 no longer knows."""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    archive = shared(f"engines/{ARCHIVE}")
    digests = dict(reversed(line.split()) for line in shared("engines/SHA256SUMS").read_text().splitlines())
    folder = tmp_path_factory.mktemp("engine")
    _, path = unpacked(folder, archive, digests[archive.name])
    return an_engine(server_path=path)


@pytest.fixture(scope="module")
def address(build: Engine) -> Iterator[str]:
    """One worker, on a port of its own, ended by its pid."""
    with worker(Path(build.server_path).with_name("ggml-rpc-server")) as found:
        yield found


def test_a_worker_s_device_is_listed_beside_the_own_ones(build: Engine, address: str) -> None:
    """With its address and its memory; one that is not there costs its own device and no other."""
    lister = EngineDevices(HelpProbe())
    (row,) = lister.list_devices(build, address) or ()
    assert (row.name, row.label) == ("RPC0", address)
    assert 0 < row.free <= row.total
    assert lister.list_devices(build) == ()
    assert lister.list_devices(build, NOBODY) == ()


def test_a_model_is_planned_for_a_worker_and_computed_there(build: Engine, address: str, tmp_path: Path) -> None:
    """From the key to the child's own log: every layer on RPC0, and the bytes that were planned."""
    pytest.importorskip("gguf")
    model = a_model("m", files=(str(write(tmp_path, "dense")),), ctx_train=32768)
    files, census, probe = DiskWeightFiles(tmp_path), FakeCensus(), HelpProbe()
    said = {"rpc_servers": address, "ctx": 2048, "slots": 1, "threads": 1, "threads_batch": 1, "cache_ram_mb": 0}
    planner = LaunchPlanner(
        MemoryEngineCatalog([build]),
        {LLAMACPP.kind: LLAMACPP},
        probe,
        census,
        a_config({"m": said}).settings_for,
        Sizing(files, census, EngineDevices(probe)),
    )
    launch = planner.plan(model)
    verdict = launch.verdict
    assert verdict is not None
    assert (verdict.outcome, verdict.pins) == (Outcome.FITS, ("RPC0",))
    assert launch.plan.words[launch.plan.words.index("--rpc") + 1] == address
    text = log_of([*launch.plan.words, LLAMACPP.host_flag, "127.0.0.1", LLAMACPP.port_flag, "0"], tmp_path / "log")
    layers = str(verdict.gpu_layers)
    assert LAYERS.findall(text) == [(layers, layers)]
    (share,) = (one for one in verdict.shares if one.device == "RPC0")
    (held,) = re.findall(rf"RPC0\[{re.escape(address)}\] +KV buffer size = +([\d.]+) MiB", text)
    assert float(held) == pytest.approx(share.kv / 2**20, abs=0.01)


def test_every_word_that_is_read_is_one_of_the_engine_s(build: Engine) -> None:
    """In every spelling, but for those that older builds know."""
    known = HelpProbe().manifest(build)
    spellings = {one for word in WORDS for one in word.spellings.split()}
    assert spellings - OLDER <= set(known)
    assert not OLDER & set(known)
