"""Identical chats at once, over real connections: one computation, whoever leaves."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, wait_until
from tests.support.engine import recorded


@pytest.mark.parametrize("dialect", PATHS)
def test_identical_chats_are_computed_once(stub_daemon: StubDaemon, dialect: str) -> None:
    """The same bytes for all, each under a trace id of its own; streams are computed each for itself."""
    daemon = stub_daemon(config="slots = 4\n", prefill_ms=1500)
    assert daemon.ask("POST", PATHS[dialect], body_for("warm", stream=False)).status == 200
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: daemon.ask("POST", PATHS[dialect], body_for("hi", stream=False)), range(4)))
        assert [answer.status for answer in answers] == [200] * 4
        assert len({answer.body for answer in answers}) == 1
        assert len({answer.headers["x-request-id"] for answer in answers}) == 4
        streams = list(pool.map(lambda _: daemon.ask("POST", PATHS[dialect], body_for("hi")), range(2)))
        assert [answer.status for answer in streams] == [200] * 2
    asked = [row for row in recorded(daemon.home / "record.jsonl", "request") if '"hi"' in row["body"]]
    assert len(asked) == 3


def test_a_leader_that_hangs_up_takes_nothing_along(stub_daemon: StubDaemon) -> None:
    """Its follower gets the answer of the computation that it began; when all have hung up the engine stops."""
    daemon = stub_daemon(config="slots = 2\n", prefill_ms=3000)
    record = daemon.home / "record.jsonl"
    body = body_for("hi", stream=False)

    def chats(event: str) -> int:
        return sum(row["path"] == PATHS["openai"] for row in recorded(record, event))

    leader = RawClient(daemon.port, PATHS["openai"], body)
    assert wait_until(lambda: chats("request") == 1, WATCHDOG)
    with RawClient(daemon.port, PATHS["openai"], body) as follower, leader:
        assert wait_until(lambda: daemon.ask("GET", "/api/ps").json()["models"][0]["in_flight"] == 1, WATCHDOG)
        leader.close()
        follower.read_all()
        assert follower.status == 200
    assert (chats("request"), chats("closed")) == (1, 0)
    with RawClient(daemon.port, PATHS["openai"], body):
        assert wait_until(lambda: chats("request") == 2, WATCHDOG)
    assert wait_until(lambda: chats("closed") == 1, WATCHDOG)
