"""Children that owe an answer: one that computes is left alone, one that is wedged is replaced without its client noticing."""

import pytest

from blazar.domain import teaching
from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, body_for
from tests.support.engine import recorded

BOUND = "child_header_timeout_secs = 1\n"
SILENT = body_for("stub:silent", stream=False)


@pytest.mark.parametrize("say", ["moving", ""])
def test_a_child_that_computes_keeps_its_place(stub_daemon: StubDaemon, say: str) -> None:
    """Slots that advance, or that only say that they work: 504 with the levers, and the same child serves the next request."""
    daemon = stub_daemon(config=BOUND, slots_say=say)
    got = daemon.ask("POST", PATHS["openai"], SILENT)
    assert (got.status, got.json()["error"]["message"]) == (504, teaching.child_still_computing("m", 1))
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
    assert len(recorded(daemon.home / "record.jsonl", "start")) == 1


@pytest.mark.parametrize("say", ["idle", "stuck", "mute"])
def test_a_wedged_child_is_replaced_and_the_request_asked_once_more(stub_daemon: StubDaemon, say: str) -> None:
    """The next child gets the very same request. This one is wedged as well, so that it ends: 504, and both are gone."""
    daemon = stub_daemon(config=BOUND, slots_say=say)
    got = daemon.ask("POST", PATHS["openai"], SILENT)
    assert (got.status, got.json()["error"]["message"]) == (504, teaching.child_silent("m", 1))
    rows = recorded(daemon.home / "record.jsonl", "request")
    assert [row["body"] for row in rows if row["path"] == PATHS["openai"]] == 2 * [
        next(row["body"] for row in rows if row["path"] == PATHS["openai"])
    ]
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
    assert len(recorded(daemon.home / "record.jsonl", "start")) == 3


@pytest.mark.parametrize("dialect", PATHS)
def test_the_second_child_answers(stub_daemon: StubDaemon, dialect: str) -> None:
    """Wedged once only: the client sees an answer and nothing else."""
    daemon = stub_daemon(config=BOUND, slots_say="idle", silent_once=1)
    got = daemon.ask("POST", PATHS[dialect], body_for("hi", stream=False))
    assert got.status == 200
    assert "Hello from the stub" in got.body.decode()
    assert len(recorded(daemon.home / "record.jsonl", "start")) == 2
