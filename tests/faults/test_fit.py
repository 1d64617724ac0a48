"""`blazar fit` and POST /api/fit through a real daemon, with a hub on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.gguf_files import tiny
from tests.support.registry import Answer, Blob, Registry, hub_rows
from tests.support.sparse_models import QWEN3_32B, qwen3_rows, save_sparse


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Registry]:
    """Two quantisations of a model of a published size; weights are zeros made as they are sent."""
    server = Registry()
    rows = []
    for name, kind in (("Q4_K_M", 12), ("Q8_0", 8)):
        path = save_sparse(tmp_path / f"{name}.gguf", QWEN3_32B, qwen3_rows(kind), tokens=20_000)
        with path.open("rb") as file:
            server.given[f"/me/qwen/resolve/main/Qwen3-32B-{name}.gguf"] = Blob(file.read(1 << 20), path.stat().st_size)
        rows.append((f"Qwen3-32B-{name}.gguf", path.stat().st_size))
    server.given["/api/models/me/qwen/tree/main"] = Answer(hub_rows(*rows))
    yield server
    server.close()


def test_a_daemon_answers_what_the_command_line_answers(tmp_path: Path, hub: Registry) -> None:
    """A row, a path and a repository; from the daemon, and without it for an imagined machine."""
    env = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    file = tiny().save(tmp_path / "m.gguf")
    with Daemon(tmp_path, env=env) as daemon:
        daemon.must("import", str(file), "--name", "mine")
        for target in ("mine", str(file)):
            answer = daemon.ask("POST", "/api/fit", {"model": target}).json()
            assert answer["verdict"]["outcome"] == "fits"
            assert json.loads(daemon.must("fit", target, "--json"))["quants"] == answer["quants"]
        body = {"model": "hf:me/qwen", "gpu": [24, 24], "ram": 64}
        answer = daemon.ask("POST", "/api/fit", body).json()
        assert (answer["take"], [row["quant"] for row in answer["quants"]]) == ("Q8_0", ["Q4_K_M", "Q8_0"])
        said = json.loads(daemon.must("fit", "hf:me/qwen", "--gpu", "24,24", "--ram", "64", "--json"))
        assert said == answer
        missing = daemon.ask("POST", "/api/fit", {"model": "hf:me/gone"})
        assert (missing.status, "HF_TOKEN" in missing.json()["error"]["message"]) == (404, True)
    sent = [given.sent for given in hub.given.values() if isinstance(given, Blob)]
    assert max(sent) < 8 << 20
