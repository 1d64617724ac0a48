"""Who waits for a real child: in which order it sees them, what the others are told, and that nothing is left behind."""

import json
import random
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, wait_until
from tests.support.engine import recorded

CONFIG = ""
CHAT = PATHS["openai"]
WAVES, WAVE = 20, 50
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
HEAVY = {"user": "x" * 70_000}
"""A long body; its prompt fits the window."""

Calls = Callable[..., list[dict[str, Any]]]


def row(daemon: Daemon, model: str = "m") -> dict[str, Any]:
    """Its line of `ps`; zeros while there is none."""
    rows = daemon.ask("GET", "/api/ps").json()["models"]
    empty = {"in_flight": 0, "waiting": 0, "abandoned": 0, "queued": []}
    return next((one for one in rows if one["model"] == model), empty)


def gauges(daemon: Daemon, name: str) -> set[float]:
    """Every value of a metric."""
    text = daemon.ask("GET", "/metrics").body.decode()
    return {float(value) for value in re.findall(rf"^{name}(?:{{.*?}})? (\S+)$", text, re.MULTILINE)}


def named(call: dict[str, Any]) -> str:
    """The first word of what was asked."""
    return str(call["messages"][0]["content"]).split(" ", 1)[0]


QUEUED: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("heavy", {}, HEAVY),
    ("low", {"x-blazar-priority": "LOW"}, {}),
    ("plain", {}, {}),
    ("sooner", {"x-blazar-deadline-ms": "20000"}, {}),
    ("tool", {}, {"tools": TOOLS}),
    ("high", {"X-Blazar-Priority": "High", "x-blazar-deadline-ms": "90000"}, {}),
    ("heavy-high", {"x-blazar-priority": "high"}, HEAVY),
]
ORDER = ["high", "tool", "sooner", "plain", "heavy-high", "heavy", "low"]
"""A heavy prompt that is urgent stands with the ordinary ones, and an ordinary one with the low ones (D16)."""


def test_a_child_sees_them_in_the_order_of_their_turns(cases: Daemon, calls: Calls) -> None:
    """Whatever the order in which they came: priority, class, deadline, arrival (D16)."""
    with ExitStack() as stack:
        first = RawClient(cases.port, CHAT, body_for("first stub:tokens=100000 stub:interval_ms=20"))
        with first:
            first.read_until(b"Hello")
            clients = []
            for number, (name, headers, more) in enumerate(QUEUED, 1):
                body = {**body_for(f"{name} stub:tokens=1", stream=False), "max_tokens": 8, **more}
                clients.append(stack.enter_context(RawClient(cases.port, CHAT, body, headers)))
                assert wait_until(lambda number=number: row(cases)["waiting"] == number, WATCHDOG)
            assert row(cases)["queued"] == [
                {"priority": "high", "work": "interactive", "waiting": 1},
                {"priority": "normal", "work": "tool", "waiting": 1},
                {"priority": "normal", "work": "interactive", "waiting": 3},
                {"priority": "low", "work": "interactive", "waiting": 2},
            ]
            assert gauges(cases, "blazar_child_queued") == {0.0, 1.0, 2.0, 3.0}
        for client in clients:
            client.read_all()
    assert [named(call) for call in calls()] == ["first", *ORDER]


WEIGHED = """
[[keys]]
name = "a"
key = "plm_a"

[[keys]]
name = "b"
key = "plm_b"
weight = 3
"""


def test_three_times_the_weight_is_three_turns_to_one(stub_daemon: StubDaemon, record: Path) -> None:
    """Of two keys that ask the same at the same time (D16)."""
    daemon = stub_daemon(config=WEIGHED)
    port = daemon.port

    def key(name: str) -> dict[str, str]:
        return {"authorization": f"Bearer plm_{name}"}

    with ExitStack() as stack:
        first = stack.enter_context(
            RawClient(port, CHAT, body_for("a stub:tokens=100000 stub:interval_ms=20"), key("a"))
        )
        first.read_until(b"Hello")
        clients = []
        for number, name in enumerate("aaaaabbbbbb", 1):
            body = {**body_for(f"{name} number {number} stub:tokens=1", stream=False), "max_tokens": 8}
            clients.append(stack.enter_context(RawClient(port, CHAT, body, key(name))))

            def all_wait(number: int = number) -> bool:
                (row,) = daemon.ask("GET", "/api/ps", headers=key("a")).json()["models"]
                return bool(row["waiting"] == number)

            assert wait_until(all_wait, WATCHDOG)
        first.close()
        for client in clients:
            client.read_all()
    rows = [row for row in recorded(record, "request") if row["path"] == CHAT]
    assert "".join(named(json.loads(row["body"])) for row in rows) == "a" + "bbba" * 2 + "aaa"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"x-blazar-deadline-ms": "300"}, "300ms"),
        ({"x-blazar-deadline-ms": "1000"}, "1s"),
        ({"x-blazar-priority": "high"}, "2s"),
    ],
)
@pytest.mark.parametrize("dialect", PATHS)
def test_who_waits_in_vain_is_told_how_long_and_when_to_come_again(
    cases: Daemon, calls: Calls, dialect: str, headers: dict[str, str], said: str
) -> None:
    """503 with the wait in words, and `retry-after`; the child never hears of it (D17)."""
    with RawClient(cases.port, CHAT, body_for("first stub:tokens=100000 stub:interval_ms=20")) as first:
        first.read_until(b"Hello")
        answer = cases.ask("POST", PATHS[dialect], body_for("late", stream=False), headers)
    assert answer.status == 503
    assert f"all_slots_busy: 'm' had no free slot within {said} (0 waiting)" in answer.body.decode()
    assert int(answer.headers["retry-after"]) >= 1
    assert [named(call) for call in calls()] == ["first"]


def test_the_audit_log_has_the_priority_that_a_request_got(cases: Daemon) -> None:
    """After a demotion: what the order went by."""
    audit = cases.data / "log" / "audit.jsonl"
    for number, (_, headers, more) in enumerate(QUEUED):
        trace = {"x-blazar-trace-id": f"plm-9aee-{number}"}
        body = {**body_for("stub:tokens=1", stream=False), "max_tokens": 8, **more}
        assert cases.ask("POST", CHAT, body, {**headers, **trace}).status == 200

    def told() -> dict[str, str]:
        lines = [json.loads(line) for line in audit.read_text().splitlines()] if audit.exists() else []
        return {line["trace"]: line["priority"] for line in lines if line["trace"].startswith("plm-9aee-")}

    assert wait_until(lambda: len(told()) == len(QUEUED), WATCHDOG)
    assert [told()[f"plm-9aee-{number}"] for number in range(len(QUEUED))] == [
        *("low", "low", "normal", "normal", "normal", "high", "normal")
    ]


def test_a_thousand_aborted_streams_leave_every_counter_at_zero(cases: Daemon) -> None:
    """While they run, while they wait, in any order (K6): nothing is left in flight, waiting or abandoned."""
    chance = random.Random(5)
    for wave in range(WAVES):
        with ExitStack() as stack:
            clients = []
            for number in range(WAVE):
                headers = {"x-blazar-priority": chance.choice(("high", "normal", "low"))}
                path, body = list(PATHS.values())[number % 3], body_for("stub:tokens=100000 stub:interval_ms=20")
                if number % 5 == 0:
                    body["tools"] = TOOLS
                clients.append(stack.enter_context(RawClient(cases.port, path, body, headers)))
            if wave % 2:
                assert wait_until(lambda: row(cases)["in_flight"] > 0, WATCHDOG)
            chance.shuffle(clients)
            for client in clients:
                client.close()
    assert wait_until(lambda: not row(cases)["waiting"] and not row(cases)["in_flight"], WATCHDOG)
    left = row(cases)
    assert (left["in_flight"], left["waiting"], left["abandoned"], left["queued"]) == (0, 0, 0, [])
    for name in ("in_flight", "waiting", "queued"):
        assert gauges(cases, f"blazar_child_{name}") == {0.0}
    assert cases.ask("POST", CHAT, {**body_for("hi", stream=False), "max_tokens": 8}).status == 200
