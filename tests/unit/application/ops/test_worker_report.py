"""What the doctor says about workers on other machines."""

import asyncio

from blazar.application.ops.diagnose import FAIL, OK, WARN
from blazar.application.ops.worker_report import worker_rows
from blazar.application.ports.workers import State, Worker
from tests.fakes.workers import FakeWorkers
from tests.unit.application.ops.test_diagnose import a_view

NAMED = {
    "a:1": ["rpc_servers"],
    "b:2": ["rpc_servers", "model_overrides.m.rpc_servers"],
    "c:3": ["sdcpp_rpc_servers"],
    "d:4": ["rpc_servers"],
}


def test_each_worker_has_a_row() -> None:
    """Alive with its version; dead with what a load would be told, and what to do about it. All are asked at once."""
    workers = FakeWorkers(
        Worker("b:2", State.ABSENT, "Connection refused"), Worker("c:3", State.STRANGE), Worker("d:4", State.SILENT)
    )
    alive, absent, strange, silent = asyncio.run(worker_rows(workers, lambda: NAMED, ()))
    assert alive == ("worker a:1", OK, "a:1 speaks version 7.0.0", "")
    assert absent[:3] == ("worker b:2", FAIL, "no worker at b:2: Connection refused")
    assert "take it out of rpc_servers and model_overrides.m.rpc_servers" in absent.remedy
    assert (strange.status, "no worker" in strange.detail, "sdcpp_rpc_servers" in strange.remedy) == (FAIL, True, True)
    assert (silent.status, "no answer from d:4" in silent.detail, "blazar evict" in silent.remedy) == (WARN, True, True)
    assert workers.asked == [("a:1", "b:2", "c:3", "d:4")]


def test_a_worker_in_use_is_not_asked() -> None:
    """It serves one engine at a time, and that one is ours."""
    workers = FakeWorkers(Worker("b:2", State.SILENT))
    view = a_view(argv=("llama-server", "--rpc", "b:2,a:1"))
    rows = asyncio.run(worker_rows(workers, lambda: NAMED, [view]))
    assert [row.status for row in rows] == [OK] * 4
    assert [row.detail for row in rows[:2]] == ["'tiny' computes on it now"] * 2
    assert workers.asked == [("c:3", "d:4")]


def test_nothing_named_is_nothing_said() -> None:
    """Most installations have none."""
    assert asyncio.run(worker_rows(FakeWorkers(), dict, ())) == []
