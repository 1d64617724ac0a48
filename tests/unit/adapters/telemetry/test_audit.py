"""The audit log: its fields, its bounds, its rotation."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from blazar.adapters.http.routes import ROUTES
from blazar.adapters.telemetry.audit import GENERATION, ROTATE_AT, AuditLine, AuditLog
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import a_served


def run(path, *served, **options) -> AuditLog:
    """Start, tell, close."""

    async def go() -> AuditLog:
        log = AuditLog(path, FakeClock(), **options)
        await log.start()
        for one in served:
            log.on_served(one)
        await log.aclose()
        return log

    return asyncio.run(go())


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


SPECIFIED = ["ts", "trace", "key", "method", "path", "model", "status", "ms", "priority", "queue_depth"]
"""The specification's AuditLine."""


def test_the_fields_of_a_line(tmp_path):
    """Exactly the documented fields, in their order; never the content, never the query."""
    path = tmp_path / "log" / "audit.jsonl"
    waited = {"work": "tool", "wait_bound": 2.0, "load_seconds": 1.5}
    run(path, a_served(path="/v1/messages?beta=true", priority="high", queue_depth=3, **waited))
    (row,) = rows(path)
    assert tuple(row) == AuditLine.__struct_fields__
    assert list(row)[:10] == SPECIFIED
    assert row == {
        "ts": "2027-01-15T08:00:00.000Z",
        "trace": "plm-0011-1",
        "key": "editor",
        "method": "POST",
        "path": "/v1/messages",
        "model": "tiny",
        "status": 200,
        "ms": 250.0,
        "priority": "high",
        "queue_depth": 3,
        "work": "tool",
        "deadline_ms": 2000.0,
        "queue_ms": 10.0,
        "load_ms": 1500.0,
        "prompt_tokens": 12,
        "completion_tokens": 34,
        "outcome": "answered",
    }


def test_only_generation_requests_are_kept(tmp_path):
    """Listings and health checks leave no line; a generation that failed at its model does."""
    path = tmp_path / "audit.jsonl"
    asked = a_served(method="GET", status=405)
    run(path, a_served(path="/v1/models"), a_served(path="/healthz"), asked, a_served(status=502))
    assert [row["status"] for row in rows(path)] == [502]
    assert "/api/chat" in GENERATION


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 499, 503])
def test_who_gets_no_place_at_a_model_writes_no_line(tmp_path, status):
    """Else anybody could fill the file: without a key, with broken JSON, with a name that nobody has."""
    path = tmp_path / "audit.jsonl"
    run(path, a_served(status=status, placed=False, known=False), a_served(placed=False, accepted=True))
    assert not path.exists() or not rows(path)


def test_an_answer_that_was_made_for_another_is_a_line_too(tmp_path):
    """A model computed it, at once or before."""
    path = tmp_path / "audit.jsonl"
    hit = a_served(placed=False, notes=[(0.1, "cache", {"outcome": "hit"})])
    run(path, hit, a_served(placed=False, instance="tiny"))
    assert len(rows(path)) == 2


def test_how_it_ended_is_told_where_a_status_cannot(tmp_path):
    """A stream's status is told before its end."""
    path = tmp_path / "audit.jsonl"
    broken = a_served(notes=[(0.1, "failed_in_stream", {"status": 500})])
    run(path, a_served(left=True), broken, a_served(status=503), a_served(status=499))
    assert [row["outcome"] for row in rows(path)] == ["left", "broken", "refused", "left"]


def test_every_route_at_which_a_model_computes_is_a_generation():
    """A new row of the hot lane has to be one or the other."""
    counts_only = {
        "/v1/responses/input_tokens",
        "/tokenize",
        "/detokenize",
        "/apply-template",
        "/v1/messages/count_tokens",
    }
    assert {route.path for route in ROUTES if route.lane} == GENERATION | counts_only
    assert not GENERATION & counts_only


def test_text_of_clients_stays_in_its_line(tmp_path):
    """Quotes and newlines in a model's name are JSON, not lines."""
    path = tmp_path / "audit.jsonl"
    run(path, a_served(model='a"\n{}'), a_served())
    assert [row["model"] for row in rows(path)] == ['a"\n{}', "tiny"]


def test_a_full_file_is_set_aside(tmp_path):
    """At the limit the file becomes audit.jsonl.1 and a new one begins; no line is lost."""
    path = tmp_path / "audit.jsonl"
    path.write_text('{"old":1}\n' * 20)
    run(path, a_served(), rotate_at=100)
    assert len(rows(path)) == 1
    assert len(rows(path.with_name("audit.jsonl.1"))) == 20
    assert ROTATE_AT == 16 * 2**20


def test_lines_are_added_across_starts(tmp_path):
    """A restart continues the file, which is the owner's alone."""
    path = tmp_path / "audit.jsonl"
    run(path, a_served())
    run(path, a_served())
    assert len(rows(path)) == 2
    assert path.stat().st_mode & 0o077 == 0


def test_a_broken_disk_costs_lines_and_nothing_else(tmp_path):
    """When nothing can be written, requests go on and the drops are counted."""
    (tmp_path / "log").write_text("in the way")
    assert run(tmp_path / "log" / "audit.jsonl", a_served(), a_served()).dropped == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
def test_a_full_disk_slows_no_request(tmp_path):
    """Handing a line over takes as long as ever while none can be written, and each that is lost is counted."""
    path = tmp_path / "audit.jsonl"
    path.symlink_to("/dev/full")
    began = time.perf_counter()
    log = run(path, *[a_served()] * 5000)
    assert log.dropped == 5000
    assert time.perf_counter() - began < 50


def test_more_than_the_bound_is_dropped(tmp_path):
    """Before the writer runs, only so many lines wait."""
    log = AuditLog(tmp_path / "audit.jsonl", FakeClock(), bound=3)
    for _ in range(5):
        log.on_served(a_served())
    assert log.dropped == 2


@pytest.mark.parametrize("name", ["a\udc80", "\x00"])
def test_strange_names_do_not_stop_the_writer(tmp_path, name):
    """A name that JSON cannot carry costs at most its own line."""
    path = tmp_path / "audit.jsonl"
    run(path, a_served(model=name), a_served())
    assert rows(path)[-1]["model"] == "tiny"
