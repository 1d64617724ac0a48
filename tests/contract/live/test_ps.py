"""What a loaded model was planned with, what its engine says it allocated, and what it uses: three figures of one child."""

import importlib.util
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.contract.live.conftest import Gateway
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.sparse_models import save_loadable

NEAR = 0.10
AND = 24 * 2**20
"""How far a plan may lie off what the engine announces: the compute buffer is modelled, the rest is exact."""


def ask(gateway: Gateway, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(gateway.url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


@pytest.mark.parametrize("model", ["chat", "scripted", "embed"])
def test_a_plan_is_what_the_engine_allocates(gateway: Gateway, model: str) -> None:
    """Within the compute buffer's bounds; and what is resident is no less than the cache that the engine clears."""
    if not gateway.scripted:
        pytest.skip("reads what only Blazar's own listing has")
    name = getattr(gateway, model)
    ask(gateway, "/api/load", {"model": name})
    (row,) = [row for row in ask(gateway, "/api/ps")["models"] if row["name"] == name]
    assert row["planned"] > 0
    assert row["allocated"] == pytest.approx(row["planned"], rel=NEAR, abs=AND)
    assert row["measured"] >= row["rss"] > 0
    verdict = ask(gateway, f"/api/explain?model={name}")["fit"]["verdict"]
    assert (verdict["outcome"], verdict["exact_bytes"]) == ("fits", row["planned"])
    assert (verdict["chosen"]["ctx"], verdict["chosen"]["slots"]) == (row["context_length"], row["slots"])


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs the embedded engine")
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "apart"])
def test_what_a_repacked_model_uses_is_what_was_planned(tmp_path: Path, tied: bool) -> None:
    """Its file was read once and lies in memory as it was: those pages are nobody's, and are not counted beside the copy."""
    file = save_loadable(tmp_path / "m.gguf", tied=tied)
    daemon = Daemon(tmp_path, f"{ONE_THREAD}default_ctx = 4096\n")
    daemon.must("import", str(file), "--name", "m")
    with daemon:
        assert daemon.ask("POST", "/api/load", {"model": "m"}).status == 200
        (row,) = daemon.ask("GET", "/api/ps").json()["models"]
        log = (daemon.run_dir / "m.log").read_text()
    if "CPU_REPACK model buffer size" not in log:
        pytest.skip("this processor has no kernels to repack for")
    assert row["rss"] - row["measured"] > file.stat().st_size // 2
    assert row["measured"] == pytest.approx(row["planned"], rel=NEAR, abs=AND)
    assert row["allocated"] == pytest.approx(row["planned"], rel=NEAR)
