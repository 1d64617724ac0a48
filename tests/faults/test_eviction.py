"""When children go, and when they must not."""

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, wait_until


def running(daemon: Daemon) -> set[str]:
    return {model["name"] for model in daemon.ask("GET", "/api/ps").json()["models"]}


def chat(daemon: Daemon, model: str, **more: object) -> int:
    return daemon.ask("POST", PATHS["ollama"], body_for("hi", stream=False, model=model) | more).status


def test_max_loaded_models_evicts_the_least_recently_used(stub_daemon: StubDaemon) -> None:
    """One at a time: loading the second lets the first go, and none is refused."""
    daemon = stub_daemon(config="max_loaded_models = 1\n")
    for model in ("m", "other", "m"):
        assert chat(daemon, model) == 200
        assert running(daemon) == {model}
        assert len(daemon.children()) == 1


def test_a_busy_child_is_never_evicted_by_policy(stub_daemon: StubDaemon) -> None:
    """The second model waits or is refused with a sentence; the running answer is finished (D4)."""
    daemon = stub_daemon(config="max_loaded_models = 1\n")
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:tokens=40 stub:interval_ms=25")) as client:
        client.read_until(b"\n\n")
        assert chat(daemon, "other") in (200, 503)
        assert b"[DONE]" in client.read_all()


@pytest.mark.parametrize("spelling", [0, "0", "0s"])
def test_keep_alive_zero_unloads_after_the_answer(stub_daemon: StubDaemon, spelling: object) -> None:
    """Every spelling of zero (L11)."""
    daemon = stub_daemon()
    assert chat(daemon, "m", keep_alive=spelling) == 200
    assert wait_until(lambda: daemon.children() == [], WATCHDOG)


def test_keep_alive_is_honoured_in_seconds_and_forever(stub_daemon: StubDaemon) -> None:
    """A second's keep-alive ends, minus one does not, and the listing says so."""
    daemon = stub_daemon()
    assert chat(daemon, "m", keep_alive=-1) == 200
    assert chat(daemon, "other", keep_alive="1s") == 200
    assert wait_until(lambda: running(daemon) == {"m"}, WATCHDOG)


def test_a_nonsense_keep_alive_is_a_400_with_a_sentence(stub_daemon: StubDaemon) -> None:
    """And nothing was loaded for it (L11)."""
    daemon = stub_daemon()
    got = daemon.ask("POST", PATHS["ollama"], body_for("hi", stream=False) | {"keep_alive": "abc"})
    assert got.status == 400
    assert "keep_alive" in got.json()["error"]
    assert daemon.children() == []


def test_rm_evicts_first(stub_daemon: StubDaemon) -> None:
    """A removed model has no child left, and its name is unknown at once."""
    daemon = stub_daemon()
    assert chat(daemon, "m") == 200
    daemon.must("rm", "m")
    assert daemon.children() == []
    assert chat(daemon, "m") == 404


def test_evicting_drains_and_force_does_not(stub_daemon: StubDaemon) -> None:
    """Without --force the answer is finished; with it the stream ends in an error (D4)."""
    daemon = stub_daemon()
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:tokens=30 stub:interval_ms=25")) as client:
        client.read_until(b"\n\n")
        daemon.must("evict", "m")
        assert b"[DONE]" in client.read_all()
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:tokens=100000 stub:interval_ms=25")) as client:
        client.read_until(b"\n\n")
        daemon.must("evict", "m", "--force")
        seen = client.read_all()
    assert b"error" in seen
    assert seen.endswith(b"0\r\n\r\n")
    assert daemon.children() == []


def test_looking_never_loads(stub_daemon: StubDaemon) -> None:
    """Only generation loads a model (G22)."""
    daemon = stub_daemon()
    for path in (
        "/",
        "/health",
        "/metrics",
        "/v1/models",
        "/v1/models/m",
        "/api/tags",
        "/api/ps",
        "/api/explain?model=m",
    ):
        assert daemon.ask("GET", path).status == 200, path
    assert daemon.ask("POST", "/api/show", {"model": "m"}).status == 200
    assert daemon.children() == []


def test_a_smaller_window_never_reloads(stub_daemon: StubDaemon) -> None:
    """Alternating num_ctx does not swap the child (B8)."""
    daemon = stub_daemon()
    pids = set()
    for window in (256, 128) * 5:
        assert chat(daemon, "m", options={"num_ctx": window}) == 200
        pids.update(daemon.children())
    assert len(pids) == 1
