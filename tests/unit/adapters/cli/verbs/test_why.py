"""The why verb: a list, and a story."""

from typing import Any

import pytest

from tests.support.command_line import Cli, FakeRoot, StubDaemon

STORY: dict[str, Any] = {
    "trace": "plm-1-7",
    "at": "2027-01-15T08:00:00.123456Z",
    "method": "POST",
    "path": "/api/chat",
    "model": "tiny",
    "status": 503,
    "refusal": "no slot in time; " * 10,
    "timings": {"load": None, "queue": 2.0, "first_byte": 0.25, "total": 12.5, "per_token": None},
    "tokens": {"prompt": 3, "cached": 0, "completion": 4},
    "warnings": ["ignored; 'x' has no effect here"],
    "notes": [{"after": 0.5, "what": "retried", "status": 503}],
    "events": [{"at": "2027-01-15T07:59:00.000000Z", "kind": "serving", "seconds": 1.23456, "why": "home\x1b[31m"}],
    "story": ["it waited 2 s for a slot", "it was answered with 503"],
}


@pytest.fixture(autouse=True)
def running(root: FakeRoot, stub: StubDaemon) -> None:
    root.use(stub)


def test_the_newest_as_a_table(cli: Cli, stub: StubDaemon) -> None:
    """Names, times and figures; a refusal is cut, its story has all of it."""
    stub.answers["GET", "/api/why?limit=20"] = (200, {"requests": [STORY]})
    head, row = cli("why").out.splitlines()
    assert head.split() == ["TRACE", "AT", "MODEL", "STATUS", "LOAD", "QUEUE", "FIRST", "TOTAL", "TOKENS", "WHY"]
    assert row.split()[:9] == ["plm-1-7", "08:00:00.123", "tiny", "503", "-", "2.000", "0.250", "12.5", "3+4"]
    assert row.endswith("…")
    assert cli("why", "-q").out == "plm-1-7\n"
    assert cli("why", "--json").json()["requests"][0] == STORY


def test_one_story(cli: Cli, stub: StubDaemon) -> None:
    """What happened in order, and what else was told; nothing in it drives the terminal."""
    stub.answers["GET", "/api/why?trace=plm-1-7&limit=20"] = (200, {"requests": [STORY]})
    out = cli("why", "plm-1-7").out
    assert out.splitlines()[0] == "plm-1-7  POST /api/chat  tiny"
    assert "  it waited 2 s for a slot\n  it was answered with 503\n" in out
    assert "+0.500" in out
    assert "retried status=503" in out
    assert "serving seconds=1.235 why=home?[31m" in out


def test_the_question_is_put_as_it_was_asked(cli: Cli, stub: StubDaemon) -> None:
    """Names are escaped; nothing found is said."""
    stub.answers["GET", "/api/why?model=a%2Fb%3Ac&limit=3"] = (200, {"requests": []})
    assert "no request has ended yet" in cli("why", "--model", "a/b:c", "-n", "3").out


def test_an_unknown_trace_is_the_daemons_sentence(cli: Cli, stub: StubDaemon) -> None:
    """On stderr, with exit code 1."""
    stub.answers["GET", "/api/why?trace=x&limit=20"] = (404, {"error": {"message": "no request 'x' is remembered"}})
    said = cli("why", "x")
    assert (said.code, said.out, said.err) == (1, "", "error: no request 'x' is remembered\n")
