"""The record of a real daemon: what it says of a request, to whom, and that watching, tracing and counting hold nothing up."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.collector import Collector
from tests.support.daemon import WATCHDOG, Daemon, wait_until
from tests.support.exposition import lint, lint_progress

CHAT = PATHS["openai"]
SECRET = "xyzzy-do-not-repeat"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
KEYS = """
[[keys]]
name = "boss"
key = "plm_boss_0123456789"
[[keys]]
name = "guest"
key = "plm_guest_0123456789"
models = ["m"]
"""
BOSS, GUEST = ({"authorization": f"Bearer plm_{name}_0123456789"} for name in ("boss", "guest"))


def chat(daemon: Daemon, model: str = "m", headers: dict[str, str] | None = None, **more: Any) -> Any:
    body = {**body_for(f"{SECRET} stub:tokens=3", stream=False), "model": model, **more}
    return daemon.ask("POST", CHAT, body, headers)


def stories(daemon: Daemon, query: str = "", headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    return list(daemon.ask("GET", f"/api/why{query}", headers=headers).json()["requests"])


def test_a_request_can_be_explained_by_its_trace(stub_daemon: StubDaemon) -> None:
    """A cold one, a warm one, one that was refused; never with a word of what was asked or answered."""
    daemon = stub_daemon("max_loaded_models = 1")
    traces = [answer.headers["x-blazar-trace-id"] for answer in (chat(daemon), chat(daemon), chat(daemon, "nobody"))]
    cold, warm, refused = (stories(daemon, f"?trace={trace}")[0] for trace in traces)
    assert cold["timings"]["load"], str(cold)

    assert [event["kind"] for event in cold["events"]] == ["loading", "serving"]
    assert cold["lane"]["kind"] == "llamacpp"
    assert cold["lane"]["why"]
    assert warm["timings"]["load"] is None
    assert (warm["child_status"], warm["tokens"]["completion"]) == (200, 3)
    assert (refused["status"], refused["lane"]) == (404, None)
    assert "nobody" in refused["refusal"]
    chat(daemon, "other")
    (moved,) = stories(daemon, "?model=other")
    assert "to make room for it 'm' had to go" in moved["story"]
    assert SECRET not in json.dumps(stories(daemon))
    assert "Hello" not in json.dumps(stories(daemon))
    assert cold["trace"] in daemon.must("why")
    assert "loading it took" in daemon.must("why", cold["trace"])
    unknown = daemon.cli("why", "plm-0-0")
    assert (unknown.returncode, "no request 'plm-0-0' is remembered" in unknown.stderr) == (1, True)


def test_a_key_hears_of_its_own_requests(stub_daemon: StubDaemon) -> None:
    """Another key's trace is unknown to a scoped one; an unscoped one hears everything."""
    daemon = stub_daemon(KEYS)
    trace = chat(daemon, headers=BOSS).headers["x-blazar-trace-id"]
    mine = chat(daemon, headers=GUEST).headers["x-blazar-trace-id"]
    assert [story["trace"] for story in stories(daemon, headers=GUEST)] == [mine]
    assert daemon.ask("GET", f"/api/why?trace={trace}", headers=GUEST).status == 404
    assert {story["trace"] for story in stories(daemon, headers=BOSS)} >= {trace, mine}
    assert daemon.ask("GET", "/api/why").status == 401


def test_counters_and_series_hold_under_churn(stub_daemon: StubDaemon) -> None:
    """Models come and go, clients leave, requests are refused: no series twice, no counter back (case O11)."""
    daemon = stub_daemon("max_loaded_models = 1")
    before = lint(daemon.ask("GET", "/metrics").body)
    for round_ in range(6):
        chat(daemon, ("m", "other")[round_ % 2])
        chat(daemon, f"nobody-{round_}")
        with RawClient(daemon.port, CHAT, body_for("long stub:tokens=100000 stub:interval_ms=5")) as client:
            client.read_until(b"Hello")
        assert wait_until(
            lambda: all(not row["in_flight"] for row in daemon.ask("GET", "/api/ps").json()["models"]), WATCHDOG
        )
        after = lint(daemon.ask("GET", "/metrics").body)
        lint_progress(before, after)
        before = after
    assert before.value("blazar_requests_total", dialect="openai", model="other", status="404") == 6
    assert before.value("blazar_models_loaded") == 1


def test_traces_and_metrics_reach_a_collector(stub_daemon: StubDaemon) -> None:
    """A caller's trace goes on in ours; what is left is sent when the daemon ends. A collector that hangs holds nothing up."""
    with Collector() as collector:
        collector.held.clear()
        daemon = stub_daemon(f'otlp_endpoint = "{collector.url}"\notlp_service = "box"')
        assert chat(daemon, headers={"traceparent": PARENT}).status == 200
        assert chat(daemon, headers={"traceparent": PARENT[:-2] + "00"}).status == 200
        collector.held.set()
        daemon.stop()
        assert collector.until(lambda: bool(collector.spans) and bool(collector.metrics))
        own = [span for span in collector.spans if span.trace_id.hex() == PARENT[3:35]]
        assert [span.name for span in own if span.name != "queue"] == [f"POST {CHAT}", "load", "answer"]
        assert own[0].parent_span_id.hex() == PARENT[36:52]
        assert "blazar_requests_total" in {metric.name for metric in collector.metrics}


def test_watch_follows_a_daemon_that_is_restarted(stub_daemon: StubDaemon, tmp_path: Path) -> None:
    """Each line a JSON object; the next daemon's events come as the first one's did, and Ctrl-C ends it with 130."""
    daemon = stub_daemon()
    told = tmp_path / "watch.jsonl"
    with told.open("wb") as out:
        watching = subprocess.Popen(
            [sys.executable, "-m", "blazar", "--json", "watch"],
            env=daemon.env,
            cwd=daemon.home,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
        )
        try:

            def seen(kind: str) -> int:
                whole = [line for line in told.read_text().splitlines(keepends=True) if line.endswith("\n")]
                return sum(row.get("kind") == kind for row in map(json.loads, whole))

            assert wait_until(
                lambda: chat(daemon).status == 200 and daemon.must("evict", "m") and seen("serving"), WATCHDOG
            )
            daemon.stop()
            assert wait_until(lambda: '"lost"' in told.read_text(), WATCHDOG)
            daemon.start()
            before = seen("serving")
            assert wait_until(
                lambda: chat(daemon).status == 200 and daemon.must("evict", "m") and seen("serving") > before, WATCHDOG
            )
        finally:
            watching.send_signal(signal.SIGINT)
            _, errors = watching.communicate(timeout=WATCHDOG)
    assert watching.returncode == 130, errors
    assert re.search(r'"type": "child"', told.read_text())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
def test_a_full_disk_slows_no_request(stub_daemon: StubDaemon) -> None:
    """The audit log loses lines, says how many, and every request is answered."""
    daemon = stub_daemon("audit_log = true")
    daemon.stop()
    audit = daemon.data / "log" / "audit.jsonl"
    audit.parent.mkdir(exist_ok=True)
    audit.unlink(missing_ok=True)
    audit.symlink_to("/dev/full")
    daemon.start()
    assert all(chat(daemon).status == 200 for _ in range(20))

    def dropped() -> float | None:
        return lint(daemon.ask("GET", "/metrics").body).value("blazar_audit_dropped_total")

    assert wait_until(lambda: dropped() == 20, WATCHDOG)


def events_of(stream: RawClient) -> list[dict[str, Any]]:
    """What was heard so far."""
    lines = stream.seen.decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ") and line[-1] == "}"]


def listening(daemon: Daemon, query: str = "", headers: Mapping[str, str] = MappingProxyType({})) -> RawClient:
    """A stream of events that is heard."""
    client = RawClient(daemon.port, f"/api/events{query}", None, headers, method="GET")
    client.read_until(b"\n: ")
    return client


def test_what_a_person_should_hear_of_is_told_while_it_happens(stub_daemon: StubDaemon) -> None:
    """Who came with a wrong key, and what was wrong with an answer; addresses are not shown to people."""
    daemon = stub_daemon(KEYS)
    with listening(daemon, "?scrub=true", BOSS) as shown, listening(daemon, "", BOSS) as whole:
        refused = {"authorization": "Bearer plm_nobody_0123456789"}
        assert daemon.ask("GET", "/v1/models/ann@example.com", headers=refused).status == 401
        assert chat(daemon, headers=BOSS, messages=[{"role": "user", "content": "stub:tokens=0"}]).status == 200
        for client in (shown, whole):
            client.read_until(b"event: key_refused")
            client.read_until(b"event: sentinel_warning")
            client.read_until(b'"count":1}\n\n')
        assert wait_until(lambda: any(one["kind"] == "sentinel_warning" for one in events_of(shown)), WATCHDOG)
    (seen,), (told,) = ([one for one in events_of(each) if one["kind"] == "key_refused"] for each in (shown, whole))
    assert (seen["path"], seen["peer"]) == ("/v1/models/[mail]", "[address]")
    assert told["path"] == "/v1/models/ann@example.com"
    assert "plm_nobody" not in whole.seen.decode()


def test_a_stream_of_events_outlives_a_change_of_keys(stub_daemon: StubDaemon) -> None:
    """What happens after a key was added is heard on the same stream; a key that is deleted hears no more."""
    daemon = stub_daemon(KEYS)
    with listening(daemon, "", BOSS) as stream:
        new = daemon.ask("POST", "/api/keys", {"name": "new"}, BOSS).json()["key"]
        mine = {"authorization": f"Bearer {new}"}
        assert wait_until(lambda: daemon.ask("GET", "/v1/models", headers=mine).status == 200, WATCHDOG)
        with listening(daemon, "", mine) as gone:
            assert chat(daemon, headers=BOSS).status == 200
            stream.read_until(b"event: serving")
            assert daemon.ask("DELETE", "/api/keys/new", headers=BOSS).status in (200, 204)
            gone.read_all()  # to its end
            assert daemon.ask("POST", "/api/evict", {"model": "m"}, BOSS).status == 200
            stream.read_until(b"event: evicted")
            assert "evicted" not in gone.seen.decode()


def test_work_in_the_background_is_counted_as_what_it_is(stub_daemon: StubDaemon) -> None:
    """When it has ended: one line, its tokens, a story under the trace of its acceptance; whoever is refused at the door writes nothing."""
    daemon = stub_daemon(KEYS)
    answer = daemon.ask(
        "POST", "/v1/responses", {"model": "M:latest", "input": "stub:tokens=3", "background": True}, BOSS
    )
    id_, trace = answer.json()["id"], answer.headers["x-blazar-trace-id"]
    for wrong in ({}, GUEST):
        chat(daemon, "nobody", headers=wrong)
    ended = "/v1/responses/" + id_
    assert wait_until(lambda: daemon.ask("GET", ended, headers=BOSS).json()["status"] == "completed", WATCHDOG)
    audit = daemon.data / "log" / "audit.jsonl"
    assert wait_until(lambda: audit.exists() and bool(audit.read_text()), WATCHDOG)
    (line,) = map(json.loads, audit.read_text().splitlines())
    assert (line["trace"], line["model"], line["completion_tokens"], line["outcome"]) == (trace, "m", 3, "answered")
    work, accepted = stories(daemon, f"?trace={trace}", BOSS)
    assert (work["tokens"]["completion"], work["lane"]["instance"]) == (3, "m")
    assert any("background" in sentence for sentence in accepted["story"])
    scrape = lint(daemon.ask("GET", "/metrics", headers=BOSS).body)
    assert scrape.value("blazar_completion_tokens_total", model="m") == 3
    assert scrape.value("blazar_requests_total", dialect="openai", model="m", status="200") == 1


def test_a_stream_that_is_broken_off_says_so_everywhere(stub_daemon: StubDaemon) -> None:
    """Its status was told before its client left; the tokens are those that were made until then."""
    daemon = stub_daemon()
    with RawClient(daemon.port, CHAT, body_for("long stub:tokens=100000 stub:interval_ms=5")) as client:
        client.read_until(b"Hello")
    assert wait_until(lambda: bool(stories(daemon)), WATCHDOG)
    (story,) = stories(daemon)
    assert (story["status"], story["outcome"]) == (200, "left")
    assert story["tokens"]["completion"] > 0
    audit = daemon.data / "log" / "audit.jsonl"
    assert wait_until(lambda: audit.exists() and bool(audit.read_text()), WATCHDOG)
    line = json.loads(audit.read_text())
    assert (line["outcome"], line["completion_tokens"]) == ("left", story["tokens"]["completion"])
    assert " left " in (daemon.data / "run" / "daemon.log").read_text()


def test_who_waited_in_vain_is_told_how_long(stub_daemon: StubDaemon) -> None:
    """Refused after its own bound: on the refusal, in the story and in the counters; unknown models were in no line."""
    daemon = stub_daemon("slots = 1")
    with RawClient(daemon.port, CHAT, body_for("long stub:tokens=100000 stub:interval_ms=5")) as client:
        client.read_until(b"Hello")
        late = chat(daemon, headers={"x-blazar-deadline-ms": "300", "x-blazar-priority": "high"})
        nobody = chat(daemon, "nobody")
    assert (late.status, int(late.headers["x-blazar-queue-ms"]) >= 300) == (503, True)
    assert "x-blazar-queue-ms" not in nobody.headers
    (story,) = stories(daemon, f"?trace={late.headers['x-blazar-trace-id']}")
    assert story["timings"]["queue"] >= 0.3
    assert any("in vain" in sentence for sentence in story["story"])
    assert "it might wait 300 ms at most" in story["story"]
    assert "it stood in line as interactive work of high priority" in story["story"]
    scrape = lint(daemon.ask("GET", "/metrics").body)
    assert (scrape.value("blazar_queue_wait_seconds_sum", model="m") or 0) >= 0.3
    assert scrape.value("blazar_queue_wait_seconds_count", model="other") == 0
