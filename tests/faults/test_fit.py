"""`blazar fit` and POST /api/fit through a real daemon, with a hub on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.engine import stub_server
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


def settled(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Without the sentence, which tells how much is free at the moment."""
    return [{key: value for key, value in row.items() if key != "sentence"} for row in rows]


def test_a_daemon_answers_what_the_command_line_answers(tmp_path: Path, hub: Registry) -> None:
    """A row, a path and a repository; from the daemon, and without it for an imagined machine."""
    env = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    file = tiny().save(tmp_path / "m.gguf")
    with Daemon(tmp_path, env=env) as daemon:
        daemon.must("import", str(file), "--name", "mine")
        for target in ("mine", str(file)):
            answer = daemon.ask("POST", "/api/fit", {"model": target}).json()
            assert answer["verdict"]["outcome"] == "fits"
            assert settled(json.loads(daemon.must("fit", target, "--json"))["quants"]) == settled(answer["quants"])
        body = {"model": "hf:me/qwen", "gpu": [24, 24], "ram": 64}
        answer = daemon.ask("POST", "/api/fit", body).json()
        assert (answer["take"], [row["quant"] for row in answer["quants"]]) == ("Q8_0", ["Q4_K_M", "Q8_0"])
        said = json.loads(daemon.must("fit", "hf:me/qwen", "--gpu", "24,24", "--ram", "64", "--json"))
        assert said == answer
        missing = daemon.ask("POST", "/api/fit", {"model": "hf:me/gone"})
        assert (missing.status, "HF_TOKEN" in missing.json()["error"]["message"]) == (404, True)
    sent = [given.sent for given in hub.given.values() if isinstance(given, Blob)]
    assert max(sent) < 8 << 20


WIDE = """threads = 1
threads_batch = 1
load_mode = "direct-io"
[model_overrides.wide]
ctx = 1000000
slots = 2
"""
"""Two slots that share a cache of 64 layers × 8 heads × 128 × 2 × 2 bytes a token: some 244 GiB. Nothing is mapped, so that
the numbers of a refusal are the machine's and not the moment's."""
CHATS = ("/v1/chat/completions", "/api/chat", "/v1/messages")
LEVERS = ("lower ctx", "cache_type", "quantise keys or values alone", "lower gpu layers")


def hopeless_files(folder: Path) -> dict[str, Path]:
    """A model whose window no memory holds, and one whose weights none does; neither takes room on the disk."""
    few = {**QWEN3_32B, "qwen3.block_count": 64, "qwen3.context_length": 1_000_000}
    many = {**QWEN3_32B, "qwen3.block_count": 512}
    return {
        "wide": save_sparse(folder / "wide.gguf", few, qwen3_rows(2)),
        "vast": save_sparse(folder / "vast.gguf", many, qwen3_rows(0, 512)),
    }


@pytest.fixture(scope="module")
def hopeless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("hopeless")
    engine = stub_server(home / "bin")
    daemon = Daemon(home, WIDE, {"BLAZAR_ENGINE_PATH": str(engine)})
    for name, path in hopeless_files(home).items():
        daemon.must("import", str(path), "--name", name)
    with daemon:
        yield daemon


@pytest.mark.parametrize("model", ["wide", "vast"])
def test_what_can_never_be_loaded_is_one_refusal_in_every_dialect(hopeless: Daemon, model: str) -> None:
    """400 at once, one sentence by every door, the command line's and the dry run's among them; nothing was started."""
    said = set()
    for path in CHATS:
        body = {"model": model, "max_tokens": 4, "messages": [{"role": "user", "content": "hi"}]}
        answer = hopeless.ask("POST", path, body)
        assert answer.status == 400, answer
        error = answer.json()["error"]
        said.add(error if isinstance(error, str) else error["message"])
    assert len(said) == 1, said
    (sentence,) = said
    loaded = hopeless.cli("load", model)
    assert loaded.returncode != 0
    assert sentence in loaded.stderr
    assert hopeless.ask("GET", f"/api/explain?model={model}").json()["refusal"] == sentence
    if model == "wide":
        assert all(lever in sentence for lever in LEVERS)
    else:
        assert "will never fit here" in sentence
    assert hopeless.children() == []
