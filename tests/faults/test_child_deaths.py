"""What a client sees when its engine dies, and what the next one sees."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.manners import LARGEST_ANSWER
from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, alive, paused, wait_until
from tests.support.engine import recorded

ERROR_END = {
    "openai": b'data: {"error":',
    "ollama": b'{"error":',
    "anthropic": b"event: error",
}


def row_of(daemon: Daemon) -> dict[str, Any]:
    """Of the only model that is loaded."""
    row: dict[str, Any]
    (row,) = daemon.ask("GET", "/api/ps").json()["models"]
    return row


@pytest.mark.parametrize("dialect", PATHS)
def test_a_child_killed_mid_stream_ends_the_stream_well_formed(stub_daemon: StubDaemon, dialect: str) -> None:
    """One error in the dialect's own form, the transfer coding finished, a fresh child for the next request (D35, D4)."""
    daemon = stub_daemon()
    with RawClient(daemon.port, PATHS[dialect], body_for("stub:tokens=100000 stub:interval_ms=20")) as client:
        client.read_until(b"\n\n" if dialect != "ollama" else b"}\n")
        first = daemon.children()
        os.kill(first[0], signal.SIGKILL)
        seen = client.read_all()
    assert client.status == 200
    assert seen.count(ERROR_END[dialect]) == 1
    assert b"[DONE]" not in seen
    assert b"message_stop" not in seen
    assert seen.endswith(b"0\r\n\r\n")
    again = daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False))
    assert again.status == 200
    assert daemon.children() != first


@pytest.mark.parametrize("dialect", PATHS)
def test_a_child_that_dies_before_the_first_byte_is_a_502(stub_daemon: StubDaemon, dialect: str) -> None:
    """No 200 is sent for an answer that never began, streamed or not; the sentence says that the next one starts afresh."""
    daemon = stub_daemon()
    for stream in (True, False):
        got = daemon.ask("POST", PATHS[dialect], body_for("stub:die_after=0", stream=stream))
        assert got.status == 502, got
        assert b"stopped while answering" in got.body
    assert daemon.ask("POST", PATHS[dialect], body_for("hi", stream=False)).status == 200


def test_the_last_words_of_a_child_that_cannot_load_are_in_the_error(stub_daemon: StubDaemon) -> None:
    """The reason is not hidden in a log (G28)."""
    daemon = stub_daemon(oom=1)
    got = daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False))
    assert got.status == 502
    assert "out of memory" in got.json()["error"]["message"]
    assert daemon.children() == []


def test_repeated_crashes_open_the_breaker_and_reset_closes_it(stub_daemon: StubDaemon) -> None:
    """A model that cannot run costs a 503 with retry-after and no spawn, until `ps --reset` (D33)."""
    daemon = stub_daemon(load_exit=3)
    statuses = []
    for _ in range(6):
        got = daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False))
        statuses.append(got.status)
        if got.status == 503:
            break
    assert statuses[0] == 502
    assert statuses[-1] == 503
    assert int(got.headers["retry-after"]) >= 1
    assert "crashed repeatedly" in got.json()["error"]["message"]
    daemon.must("ps", "--reset")
    assert daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False)).status == 502


def test_a_killed_daemon_leaves_no_child(stub_daemon: StubDaemon) -> None:
    """The parent-death signal takes the child along (G3)."""
    daemon = stub_daemon(ignore_term=1)
    assert daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False)).status == 200
    children = daemon.children()
    assert len(children) == 1
    daemon.kill()
    assert wait_until(lambda: not alive(children[0]), WATCHDOG), "the child outlived its daemon"


def test_the_next_daemon_starts_cleanly_after_a_kill(stub_daemon: StubDaemon) -> None:
    """Stale pid and key files are no obstacle and are gone after the boot."""
    daemon = stub_daemon()
    daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False))
    daemon.kill()
    daemon.start()
    assert not list(daemon.run_dir.glob("*.pid"))
    assert daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False)).status == 200


def test_a_child_that_ignores_sigterm_is_gone_when_the_daemon_has_stopped(stub_daemon: StubDaemon) -> None:
    """TERM, grace, TERM, KILL, each to the one pid; the daemon exits 0 (D31)."""
    daemon = stub_daemon(ignore_term=1)
    daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False))
    children = daemon.children()
    assert daemon.stop() == 0
    assert not alive(children[0])
    assert "crash" not in (daemon.run_dir / "daemon.log").read_text().lower()


def test_a_client_that_leaves_during_prefill_frees_the_child(stub_daemon: StubDaemon, record: Path) -> None:
    """The child's connection is closed although not one byte could be written yet (K1, K2)."""
    daemon = stub_daemon()
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:silent")):
        assert wait_until(lambda: any("silent" in str(row) for row in recorded(record)), WATCHDOG)
    answered = daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False))
    assert answered.status == 200


def test_a_queued_request_whose_client_left_never_reaches_the_child(stub_daemon: StubDaemon, record: Path) -> None:
    """Cancelled tickets are purged, and the running answer is not disturbed (K3, K4)."""
    daemon = stub_daemon()
    with RawClient(daemon.port, PATHS["openai"], body_for("first stub:tokens=30 stub:interval_ms=30")) as first:
        first.read_until(b"\n\n")
        with paused(row_of(daemon)["pid"]):
            with RawClient(daemon.port, PATHS["openai"], body_for("cancelled")):
                assert wait_until(lambda: row_of(daemon)["waiting"] == 1, WATCHDOG)
            assert wait_until(lambda: row_of(daemon)["waiting"] == 0, WATCHDOG)
        assert b"[DONE]" in first.read_all()
    assert daemon.ask("POST", "/v1/chat/completions", body_for("last", stream=False)).status == 200
    assert not any("cancelled" in str(row) for row in recorded(record))


def test_garbage_from_the_child_ends_in_one_error_and_frees_the_slot(stub_daemon: StubDaemon) -> None:
    """A frame that is not JSON is never passed off as success, and the next request starts at once (D7, D9)."""
    daemon = stub_daemon()
    for path in PATHS.values():
        with RawClient(
            daemon.port, path, body_for("stub:garbage_event=3 stub:tokens=100000 stub:interval_ms=5")
        ) as client:
            seen = client.read_all()
        assert b"error" in seen
        assert b"[DONE]" not in seen
        assert seen.endswith(b"0\r\n\r\n")
    assert daemon.ask("POST", "/v1/chat/completions", body_for("stub:garbage", stream=False)).status == 502
    assert daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False)).status == 200


def test_an_answer_that_never_ends_is_dropped_and_frees_the_slot(stub_daemon: StubDaemon) -> None:
    """At its bound and not at the end of memory, in every dialect; an endless refusal is what it began with (D9)."""
    daemon = stub_daemon(config="slots = 1\n")
    for path in PATHS.values():
        answer = daemon.ask("POST", path, body_for("stub:endless_body=500", stream=False))
        assert answer.status == 500
        assert len(answer.body) < 10_000
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
    answer = daemon.ask("POST", PATHS["openai"], body_for("stub:endless_body", stream=False))
    assert answer.status == 502
    assert teaching.child_answer_too_large("m", LARGEST_ANSWER) == answer.json()["error"]["message"]
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200


def test_half_a_header_and_a_close_is_a_502(stub_daemon: StubDaemon) -> None:
    """A child that breaks off inside its header is a failure that the client is told."""
    daemon = stub_daemon()
    assert daemon.ask("POST", "/v1/chat/completions", body_for("stub:half_header=close", stream=False)).status == 502


def test_half_a_header_and_silence_is_bounded(stub_daemon: StubDaemon) -> None:
    """child_header_timeout_secs ends the wait with a 504."""
    daemon = stub_daemon(config="child_header_timeout_secs = 1\n")
    assert daemon.ask("POST", "/v1/chat/completions", body_for("stub:half_header", stream=False)).status == 504


def test_a_stuck_child_does_not_block_another_model(stub_daemon: StubDaemon) -> None:
    """No lock is held across a wait (G16)."""
    daemon = stub_daemon()
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:silent")):
        assert daemon.ask("POST", "/v1/chat/completions", body_for("hi", stream=False, model="other")).status == 200
