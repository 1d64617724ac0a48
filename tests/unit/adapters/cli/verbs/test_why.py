"""The why verb: a list, and a story."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.command_line import Cli, FakeRoot, StubDaemon

STORY: dict[str, Any] = {
    "trace": "plm-1-7",
    "at": "2027-01-15T08:00:00.123456Z",
    "method": "POST",
    "path": "/api/chat",
    "model": "tiny",
    "key": "ann",
    "status": 503,
    "outcome": "refused",
    "refusal": "no slot in time; " * 10,
    "timings": {"load": None, "queue": 2.0, "first_byte": 0.25, "total": 12.5, "per_token": None},
    "tokens": {"prompt": 3, "cached": 0, "completion": 4},
    "warnings": ["ignored; 'x' has no effect here"],
    "notes": [{"after": 0.5, "what": "retried", "status": 503}],
    "events": [{"at": "2027-01-15T07:59:00.000000Z", "kind": "serving", "seconds": 1.23456, "why": "home\x1b[31m"}],
    "story": ["it waited 2 s for a slot", "it was answered with 503"],
}


@pytest.fixture(autouse=True)
def running(root: FakeRoot, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root.use(stub)
    monkeypatch.setenv("TZ", "XXX-1:30")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_newest_as_a_table(cli: Cli, stub: StubDaemon) -> None:
    """Names, times and figures; a refusal is cut, its story has all of it."""
    stub.answers["GET", "/api/why?limit=20"] = (200, {"requests": [STORY]})
    head, row = cli("why").out.splitlines()
    assert head.split() == ["TRACE", "AT", "KEY", "MODEL", "STATUS", "LOAD", "QUEUE", "FIRST", "TOTAL", "TOKENS", "WHY"]
    assert row.split()[:11] == (
        ["plm-1-7", "2027-01-15", "09:30:00+01:30", "ann", "tiny", "503", "-", "2.000", "0.250", "12.5", "3+4"]
    )
    assert row.endswith("…")
    assert cli("why", "-q").out == "plm-1-7\n"
    assert cli("why", "--json").json()["requests"][0] == STORY


def test_one_story(cli: Cli, stub: StubDaemon) -> None:
    """What happened in order, and what else was told; nothing in it drives the terminal."""
    stub.answers["GET", "/api/why?trace=plm-1-7&limit=20"] = (200, {"requests": [STORY]})
    out = cli("why", "plm-1-7").out
    assert out.splitlines()[:2] == ["plm-1-7  POST /api/chat  tiny", "  2027-01-15 09:30:00+01:30  key=ann"]
    assert "  it waited 2 s for a slot\n  it was answered with 503\n" in out
    assert "+0.500" in out
    assert "retried status=503" in out
    assert "serving seconds=1.235 why=home?[31m" in out


def test_the_question_is_put_as_it_was_asked(cli: Cli, stub: StubDaemon) -> None:
    """Names are escaped; nothing found is said."""
    stub.answers["GET", "/api/why?model=a%2Fb%3Ac&limit=3"] = (200, {"requests": []})
    assert "no request for 'a/b:c' is remembered" in cli("why", "--model", "a/b:c", "-n", "3").out
    stub.answers["GET", "/api/why?key=ann&status=5xx&limit=20"] = (200, {"requests": []})
    assert "of that kind" in cli("why", "--key", "ann", "--status", "5xx").out
    stub.answers["GET", "/api/why?limit=20"] = (200, {"requests": []})
    assert "no request has ended yet" in cli("why").out


def test_a_stream_that_was_broken_off_is_seen_in_the_list(cli: Cli, stub: StubDaemon) -> None:
    """Its status is that of its beginning."""
    stub.answers["GET", "/api/why?limit=20"] = (200, {"requests": [{**STORY, "status": 200, "outcome": "left"}]})
    assert "200 left" in cli("why").out


def test_an_unknown_trace_is_the_daemons_sentence(cli: Cli, stub: StubDaemon) -> None:
    """On stderr, with exit code 1."""
    stub.answers["GET", "/api/why?trace=x&limit=20"] = (404, {"error": {"message": "no request 'x' is remembered"}})
    said = cli("why", "x")
    assert (said.code, said.out, said.err) == (1, "", "error: no request 'x' is remembered\n")
