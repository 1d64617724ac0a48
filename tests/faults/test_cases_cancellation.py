"""Clients that leave: their work stops, nobody else's does."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, paused, wait_until
from tests.support.engine import recorded

Calls = Callable[..., list[dict[str, Any]]]

RAW = {"completions": "/v1/completions", "generate": "/api/generate"}
EMBED = {"embeddings": "/v1/embeddings", "embed": "/api/embed"}


def body_of(path: str, words: str, *, stream: bool) -> dict[str, Any]:
    if path in RAW.values():
        return {"model": "m", "prompt": words, "stream": stream, "max_tokens": 100000}
    if path in EMBED.values():
        return {"model": "e", "input": words}
    return body_for(words, stream=stream)


def closings(home: Path) -> int:
    return len(recorded(home / "record.jsonl", "closed"))


def waiting(daemon: Daemon) -> int:
    return sum(row["waiting"] for row in daemon.ask("GET", "/api/ps").json()["models"])


def child_of(daemon: Daemon) -> int:
    (pid,) = (row["pid"] for row in daemon.ask("GET", "/api/ps").json()["models"] if row["name"] == "m")
    return int(pid)


def idle(daemon: Daemon) -> bool:
    return all(not row["in_flight"] and not row["waiting"] for row in daemon.ask("GET", "/api/ps").json()["models"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [*PATHS.values(), *RAW.values(), *EMBED.values()])
def test_a_client_that_leaves_before_the_first_byte_stops_the_child(
    cases: Daemon, calls: Calls, path: str, stream: bool
) -> None:
    """During prefill nothing can be written, so the socket is watched; on every lane the slot is free again (K1, K2)."""
    before = closings(cases.home)
    upstream = "/v1/embeddings" if path in EMBED.values() else "/v1/completions" if path == "/v1/completions" else None
    with RawClient(cases.port, path, body_of(path, "stub:silent", stream=stream)):
        assert wait_until(lambda: calls(upstream or "/v1/chat/completions"), WATCHDOG)
    assert wait_until(lambda: closings(cases.home) == before + 1, WATCHDOG)
    assert wait_until(lambda: idle(cases), WATCHDOG)


@pytest.mark.parametrize("path", [*PATHS.values(), *RAW.values()])
def test_a_client_that_leaves_mid_stream_stops_the_child(cases: Daemon, path: str) -> None:
    """The next answer begins at once, not when the window is full (K1)."""
    before = closings(cases.home)
    with RawClient(cases.port, path, body_of(path, "stub:tokens=100000 stub:interval_ms=20", stream=True)) as client:
        client.read_until(b"Hello")
    assert wait_until(lambda: closings(cases.home) == before + 1, WATCHDOG)
    assert cases.ask("POST", path, body_of(path, "hi", stream=False)).status == 200


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", PATHS)
def test_a_queued_request_that_is_cancelled_never_reaches_the_child(
    cases: Daemon, calls: Calls, dialect: str, stream: bool
) -> None:
    """And the answer that is being given goes on to its end (K3, K4)."""
    with RawClient(cases.port, PATHS["openai"], body_for("first stub:tokens=25 stub:interval_ms=20")) as first:
        first.read_until(b"\n\n")
        with paused(child_of(cases)):
            with RawClient(cases.port, PATHS[dialect], body_for("cancelled", stream=stream)):
                assert wait_until(lambda: waiting(cases) == 1, WATCHDOG)
            assert wait_until(lambda: waiting(cases) == 0, WATCHDOG)
        assert b"[DONE]" in first.read_all()
    assert cases.ask("POST", PATHS[dialect], body_for("last", stream=False)).status == 200
    assert not any("cancelled" in str(call) for call in calls())


def test_a_hundred_aborted_streams_leave_no_count_behind(cases: Daemon) -> None:
    """One slot: had one lease leaked, the next request would wait for ever (K6)."""
    for number in range(100):
        dialect = list(PATHS.values())[number % 3]
        with RawClient(cases.port, dialect, body_for("stub:tokens=100000 stub:interval_ms=5")) as client:
            if number % 2:
                client.read_until(b"Hello")
    begun = time.monotonic()
    assert cases.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
    assert time.monotonic() - begun < 20
    assert wait_until(lambda: idle(cases), WATCHDOG)


def test_an_impatient_crowd_costs_the_child_nothing(cases: Daemon, calls: Calls) -> None:
    """An editor's abandoned requests pile up nowhere: those whose client has gone are dropped from the line (L10, K4)."""
    with RawClient(cases.port, PATHS["openai"], body_for("stub:tokens=30 stub:interval_ms=20")) as first:
        first.read_until(b"\n\n")
        with paused(child_of(cases)):
            body = body_of("/v1/completions", "fim", stream=False)
            crowd = [RawClient(cases.port, "/v1/completions", body) for _ in range(60)]
            assert wait_until(lambda: waiting(cases) == 60, WATCHDOG)
            for client in crowd:
                client.close()
            assert wait_until(lambda: waiting(cases) == 0, WATCHDOG)
        assert b"[DONE]" in first.read_all()
    assert calls("/v1/completions") == []
