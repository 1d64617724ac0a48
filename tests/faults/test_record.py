"""The record of a real daemon: what it says of a request, to whom, and that watching, tracing and counting hold nothing up."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
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
                return sum(row.get("kind") == kind for row in map(json.loads, told.read_text().splitlines()))

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
