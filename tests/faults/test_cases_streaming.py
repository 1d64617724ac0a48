"""Streams that stall, break and are read slowly: what a client sees of them, byte by byte."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, wait_until

CONFIG = "sse_ping_interval = 1\nchild_header_timeout_secs = 3\n"
Calls = Callable[..., list[dict[str, Any]]]
ERRORS = {"openai": b'data: {"error":', "ollama": b'{"error":', "anthropic": b"event: error"}


def running(daemon: Daemon, model: str) -> dict[str, Any]:
    (row,) = [row for row in daemon.ask("GET", "/api/ps").json()["models"] if row["name"] == model]
    return row


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_long_prefill_is_bridged_by_comments(cases: Daemon, dialect: str) -> None:
    """A comment at least every interval while nothing else is said, then the answer, complete (D5)."""
    with RawClient(cases.port, PATHS[dialect], body_for("stub:prefill_ms=2400")) as client:
        before = client.read_until(b": \n\n")
        assert b"data:" not in before
        seen = client.read_all()
    assert client.status == 200
    assert seen.count(b": \n\n") >= 2
    assert b"[DONE]" in seen or b"message_stop" in seen
    assert b"error" not in seen


@pytest.mark.parametrize("dialect", PATHS)
def test_a_buffered_answer_has_no_comments(cases: Daemon, dialect: str) -> None:
    """They belong to event streams: a JSON body, and a line of NDJSON, stays what it is (D5)."""
    got = cases.ask("POST", PATHS[dialect], body_for("stub:prefill_ms=1300", stream=False))
    assert got.status == 200
    assert got.json()
    lines = cases.ask("POST", PATHS["ollama"], body_for("stub:prefill_ms=1300")).body.splitlines()
    assert all(line.startswith(b"{") for line in lines)


@pytest.mark.parametrize("dialect", PATHS)
def test_no_proxy_may_buffer_a_stream(cases: Daemon, dialect: str) -> None:
    """Proxies of nginx's kind are told so on every stream (D10)."""
    got = cases.ask("POST", PATHS[dialect], body_for("hi"))
    assert got.headers["x-accel-buffering"] == "no"
    assert got.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "how", ["reset_after=40", "cut_after=40", "garbage_chunk=40", "garbage_event=40", "error_event=40"]
)
@pytest.mark.parametrize("dialect", PATHS)
def test_however_a_stream_breaks_it_ends_in_one_error_and_is_terminated(cases: Daemon, dialect: str, how: str) -> None:
    """What came stays, one error follows, no success mark, the last chunk; the next answer is whole (D4, D7, D9)."""
    with RawClient(cases.port, PATHS[dialect], body_for(f"stub:tokens=60 stub:{how}")) as client:
        seen = client.read_all()
    assert client.status == 200
    assert seen.count(b"stub") >= 8
    assert seen.count(ERRORS[dialect]) == 1
    assert not any(mark in seen for mark in (b"[DONE]", b"message_stop", b'"done":true', b'finish_reason":"stop"'))
    assert seen.endswith(b"0\r\n\r\n")
    whole = cases.ask("POST", PATHS[dialect], body_for("hi", stream=False))
    assert whole.status == 200


def test_a_stream_that_falls_silent_is_bounded(cases: Daemon) -> None:
    """Tokens, then nothing: an error within twice the header timeout, and the slot is free (D9)."""
    models = dict(zip(PATHS, ("m", "other", "third"), strict=True))
    silent = "stub:tokens=60 stub:interval_ms=600000"
    clients = {
        dialect: RawClient(cases.port, PATHS[dialect], body_for(silent, model=model))
        for dialect, model in models.items()
    }
    for dialect, client in clients.items():
        with client:
            seen = client.read_all()
        assert seen.count(ERRORS[dialect]) == 1
        assert b"sent nothing for 3 s" in seen
        assert seen.endswith(b"0\r\n\r\n")
        assert cases.ask("POST", PATHS[dialect], body_for("hi", stream=False, model=models[dialect])).status == 200


def test_a_silent_child_is_a_504_before_anything_was_said(cases: Daemon) -> None:
    """Buffered, the timeout has its own status (D9)."""
    assert cases.ask("POST", PATHS["openai"], body_for("stub:silent", stream=False)).status == 504


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
def test_timings_that_are_null_do_not_fail_an_answer(cases: Daemon, dialect: str, stream: bool) -> None:
    """Some builds name what they did not compute; the counts of `usage` stand (B12)."""
    got = cases.ask("POST", PATHS[dialect], body_for("one two stub:null_timings", stream=stream))
    assert got.status == 200
    assert b"error" not in got.body
    if dialect == "ollama":
        last = got.body.splitlines()[-1]
        assert b'"eval_count":5' in last


@pytest.mark.parametrize("dialect", PATHS)
def test_text_is_streamed_as_it_comes_when_tools_are_declared(cases: Daemon, dialect: str) -> None:
    """Only fragments of a call may be held back (A24)."""
    function = {"name": "f", "parameters": {"type": "object"}}
    tool = (
        {"name": "f", "input_schema": {"type": "object"}}
        if dialect == "anthropic"
        else {"type": "function", "function": function}
    )
    body = body_for("stub:tokens=100000 stub:interval_ms=20") | {"tools": [tool]}
    with RawClient(cases.port, PATHS[dialect], body) as client:
        while client.seen.count(b"Hello") < 3:  # long before its end, to which the client does not wait
            data = client.socket.recv(65536)
            assert data, client.seen[-500:]
            client.seen += data


def test_nobody_reading_the_log_stalls_no_child(cases: Daemon) -> None:
    """`logs -f` reads the file, the child writes to it: a viewer that has stopped reading holds nothing up (D8)."""
    cases.ask("POST", PATHS["openai"], body_for("hi", stream=False))
    viewer = subprocess.Popen(
        [sys.executable, "-m", "blazar", "logs", "-f", "m"], env=cases.env, cwd=cases.home, stdout=subprocess.PIPE
    )
    try:
        with (cases.run_dir / "m.log").open("ab") as log:
            for _ in range(50):
                log.write(b"x" * 2**20 + b"\n")
        begun = time.monotonic()
        for _ in range(20):
            assert cases.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
        assert time.monotonic() - begun < 60
        assert viewer.poll() is None
    finally:
        viewer.kill()
        viewer.communicate()


def test_a_client_that_reads_slowly_pauses_its_child_and_loses_nothing(cases: Daemon) -> None:
    """Backpressure reaches the child, memory stays bounded, every token arrives (D8)."""
    assert cases.process is not None
    count = 3000
    with RawClient(cases.port, PATHS["openai"], body_for(f"stub:tokens={count} stub:pad=2000")) as client:
        client.read_until(b"\n\n")
        assert wait_until(lambda: running(cases, "m")["in_flight"] == 1, WATCHDOG)
        seen = client.read_all()
    assert seen.count(b'"content":"') == count
    assert b"[DONE]" in seen
