"""Kept responses and chat completions on a whole daemon: owners, bounds, full disks, kills, cancelling."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.faults.conftest import StubDaemon
from tests.faults.streams import RawClient
from tests.support.daemon import WATCHDOG, Answer, Daemon, wait_until
from tests.support.engine import recorded
from tests.support.typed_events import check_grammar, events

RESPONSES, CHAT = "/v1/responses", "/v1/chat/completions"
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}
KEYS = '[[keys]]\nname = "ada"\nkey = "plm_ada_0123456789"\n[[keys]]\nname = "eve"\nkey = "plm_eve_0123456789"\n'


def respond(daemon: Daemon, text: Any, key: str = "", **body: Any) -> Answer:
    return daemon.ask("POST", RESPONSES, {"model": "m", "input": text, **body}, bearer(key))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer plm_{key}_0123456789"} if key else {}


def asked(record: Path) -> int:
    """How many conversations have reached the stub: it is also asked whether it is there."""
    return len([row for row in recorded(record, "request") if row["path"] == CHAT])


def status_of(daemon: Daemon, id_: str) -> str:
    return str(daemon.ask("GET", f"{RESPONSES}/{id_}").json().get("status"))


def test_tools_that_are_run_elsewhere_do_not_stop_a_request(cases: Daemon) -> None:
    """The rest is served, with a warning for each (A25)."""
    got = respond(cases, "stub:tool", tools=[{"type": "web_search"}, FUNCTION])
    assert got.status == 200
    assert "tools[0]" in got.headers["x-blazar-warning"]
    assert [item["name"] for item in got.json()["output"]] == ["f"]


def test_items_need_no_type_but_then_a_role(cases: Daemon) -> None:
    """A message without a type is one; nothing at all is a 400 that names the index (A27)."""
    assert respond(cases, [{"role": "user", "content": "x"}]).status == 200
    got = respond(cases, [{}])
    assert (got.status, got.json()["error"]["param"]) == (400, "input[0]")


def test_a_streamed_call_has_numbers_and_one_id(cases: Daemon) -> None:
    """Every event is numbered, and an item keeps its id (A28)."""
    got = respond(cases, "stub:tool", tools=[FUNCTION], stream=True)
    told = events(got.body)
    check_grammar(told)
    assert told[-1]["response"]["output"][0]["arguments"] == '{"a":1}'


def test_members_of_a_namespace_are_called_by_their_name(cases: Daemon) -> None:
    """The child knows them by a qualified one (A30)."""
    got = respond(cases, "stub:tool", tools=[{"type": "namespace", "name": "ns", "tools": [FUNCTION]}])
    (call,) = got.json()["output"]
    assert (call["name"], call["namespace"]) == ("f", "ns")


def test_a_response_of_another_key_is_not_there(stub_daemon: StubDaemon) -> None:
    """Neither read, nor gone on from, cancelled, deleted or listened to; nor are kept chat completions (A29)."""
    daemon = stub_daemon(KEYS)
    id_ = respond(daemon, "hi", "ada").json()["id"]
    behind = respond(daemon, "stub:tokens=100000 stub:interval_ms=20", "ada", background=True).json()["id"]
    for mine in (id_, behind):
        one = f"{RESPONSES}/{mine}"
        for method, path in (
            ("GET", one),
            ("GET", f"{one}?stream=true"),
            ("GET", f"{one}/input_items"),
            ("POST", f"{one}/cancel"),
            ("DELETE", one),
        ):
            assert daemon.ask(method, path, headers=bearer("eve")).status == 404, (method, path)
            assert daemon.ask(method, path).status == 401
        assert respond(daemon, "hi", "eve", previous_response_id=mine).status == 404
    assert daemon.ask("POST", f"{RESPONSES}/{behind}/cancel", headers=bearer("ada")).json()["status"] == "cancelled"
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "store": True}
    kept = daemon.ask("POST", CHAT, chat, bearer("ada")).json()["id"]
    assert daemon.ask("GET", f"{CHAT}/{kept}", headers=bearer("eve")).status == 404
    assert daemon.ask("GET", CHAT, headers=bearer("eve")).json()["data"] == []
    assert daemon.ask("GET", f"{CHAT}/{kept}", headers=bearer("ada")).status == 200
    assert daemon.ask("GET", f"{RESPONSES}/{id_}", headers=bearer("ada")).status == 200


def test_cancelling_in_the_background_stops_the_child(stub_daemon: StubDaemon, record: Path) -> None:
    """Its request is closed while it speaks, and the place is free for the next (K8)."""
    daemon = stub_daemon("slots = 1")
    id_ = respond(daemon, "stub:tokens=100000 stub:interval_ms=20", background=True).json()["id"]
    assert wait_until(lambda: asked(record), WATCHDOG)
    assert wait_until(lambda: status_of(daemon, id_) == "in_progress", WATCHDOG)
    assert daemon.ask("POST", f"{RESPONSES}/{id_}/cancel").json()["status"] == "cancelled"
    assert wait_until(lambda: recorded(record, "closed"), WATCHDOG)
    assert respond(daemon, "hi").status == 200
    assert status_of(daemon, id_) == "cancelled"


def test_one_that_is_deleted_while_it_runs_is_stopped(stub_daemon: StubDaemon, record: Path) -> None:
    """And is gone."""
    daemon = stub_daemon()
    id_ = respond(daemon, "stub:tokens=100000 stub:interval_ms=20", background=True).json()["id"]
    assert wait_until(lambda: asked(record), WATCHDOG)
    assert daemon.ask("DELETE", f"{RESPONSES}/{id_}").json()["deleted"] is True
    assert wait_until(lambda: recorded(record, "closed"), WATCHDOG)
    assert daemon.ask("GET", f"{RESPONSES}/{id_}").status == 404


def test_a_listener_that_leaves_does_not_end_it(stub_daemon: StubDaemon) -> None:
    """Who comes back hears the rest."""
    daemon = stub_daemon()
    body = {"model": "m", "input": "stub:tokens=30 stub:interval_ms=20", "background": True, "stream": True}
    with RawClient(daemon.port, RESPONSES, body) as client:
        client.read_until(b"response.output_text.delta")
        seen = client.seen
    id_ = json.loads(seen.partition(b"\ndata: ")[2].partition(b"\n\n")[0])["response"]["id"]
    rest = events(daemon.ask("GET", f"{RESPONSES}/{id_}?stream=true&starting_after=3").body)
    assert [event["sequence_number"] for event in rest] == list(range(4, 4 + len(rest)))
    assert rest[-1]["type"] == "response.completed"


def test_what_a_kill_interrupts_has_failed_and_what_was_kept_is_there(stub_daemon: StubDaemon, record: Path) -> None:
    """The next daemon says so; a whole response is as it was, and a conversation goes on."""
    daemon = stub_daemon()
    whole = respond(daemon, "hi").json()
    lost = respond(daemon, "stub:tokens=100000 stub:interval_ms=20", background=True).json()["id"]
    assert wait_until(lambda: asked(record) > 1, WATCHDOG)
    daemon.kill()
    daemon.start()
    found = daemon.ask("GET", f"{RESPONSES}/{lost}").json()
    assert found["status"] == "failed"
    assert "daemon was stopped" in found["error"]["message"]
    assert daemon.ask("GET", f"{RESPONSES}/{whole['id']}").json() == whole
    assert respond(daemon, "and?", previous_response_id=whole["id"]).status == 200


def test_a_disk_that_will_not_never_costs_an_answer(stub_daemon: StubDaemon) -> None:
    """A warning instead, until it will again."""
    daemon = stub_daemon()
    assert respond(daemon, "hi").status == 200
    with closing(sqlite3.connect(daemon.data / "saved.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        got = respond(daemon, "hi")
        assert got.status == 200
        assert got.headers["x-blazar-warning"].startswith("not_kept; ")
    assert "x-blazar-warning" not in respond(daemon, "hi").headers


def test_a_stop_does_not_wait_for_the_background(stub_daemon: StubDaemon, record: Path) -> None:
    """Nobody listens; it is found lost afterwards."""
    daemon = stub_daemon()
    id_ = respond(daemon, "stub:tokens=100000 stub:interval_ms=20", background=True).json()["id"]
    assert wait_until(lambda: asked(record), WATCHDOG)
    assert daemon.stop() == 0
    daemon.start()
    assert status_of(daemon, id_) == "failed"
