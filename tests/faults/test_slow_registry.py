"""A registry that never gets done, and a daemon that must not care."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from blazar.adapters.http.manage.fit import AT_ONCE
from blazar.domain import teaching
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, wait_until
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny
from tests.support.registry import Drip, Registry

TREE = "/api/models/a/drip/tree/main"
MANY = 12
ASKING = {"model": "hf:a/drip"}


@pytest.fixture(params=[False, True], ids=["body", "head"])
def drip(request: pytest.FixtureRequest) -> Iterator[Registry]:
    """It sends a byte now and then of whatever it is asked."""
    server = Registry()
    server.given[TREE] = Drip(request.param)
    yield server
    server.close()


@pytest.fixture
def daemon(tmp_path: Path, drip: Registry) -> Iterator[Daemon]:
    """With the model `m`, which is not loaded."""
    env = {
        "HF_ENDPOINT": drip.url,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "BLAZAR_ENGINE_PATH": str(stub_server(tmp_path / "bin")),
    }
    made = Daemon(tmp_path, "spawn_mem_guard = false\n", env)
    made.must("import", str(tiny().save(tmp_path / "m.gguf")), "--name", "m")
    with made:
        yield made


def test_clients_that_hang_up_hold_nothing(daemon: Daemon, drip: Registry) -> None:
    """Neither the places for fits nor the threads that a load needs: each one's thread ends with its client."""
    for number in range(MANY):
        with RawClient(daemon.port, "/api/fit", ASKING):
            assert wait_until(lambda count=number: len(drip.asked) > count, WATCHDOG)
    chat = body_for("stub:tokens=2", stream=False)
    assert daemon.ask("POST", PATHS["openai"], chat).status == 200
    assert daemon.ask("POST", "/api/fit", {"model": "m"}).status == 200


def test_sigterm_ends_a_fit_that_takes_long(daemon: Daemon, drip: Registry) -> None:
    """Whoever waits for it is told, those in the queue too, and the process ends."""
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(daemon.port, "/api/fit", ASKING)) for _ in range(2 * AT_ONCE)]
        assert wait_until(lambda: len(drip.asked) == AT_ONCE, WATCHDOG)
        assert daemon.ask("GET", "/health").status == 200  # whose turn comes after theirs
        assert daemon.stop() == 0
        for client in clients:
            _, _, body = client.read_all().partition(b"\r\n\r\n")
            assert (client.status, json.loads(body)["error"]["message"]) == (503, teaching.shutting_down())
