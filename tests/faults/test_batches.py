"""Batches and files on a whole daemon that is killed, left, filled and kept busy."""

import contextlib
import json
import re
import socket
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import CHAOS, StubDaemon
from tests.support.batch_calls import CHAT, EDGE, chat_line, ended, form, lines_of, look, make, upload
from tests.support.daemon import WATCHDOG, Daemon, paused, wait_until
from tests.support.engine import recorded

KEYS = """
[[keys]]
name = "whole"
key = "plm_whole"
[[keys]]
name = "scoped"
key = "plm_scoped"
models = ["m"]
"""


def asked(daemon: Daemon) -> list[str]:
    """The names in the texts of the requests that came to the engine, in order."""
    bodies = [row["body"] for row in recorded(daemon.home / "record.jsonl", "request") if row["path"] == CHAT]
    return [found[0] for body in bodies if (found := re.findall(r"name-([a-z0-9]+)", body))]


def answered(daemon: Daemon, batch: str) -> int:
    counts = look(daemon, batch)["request_counts"]
    return int(counts["completed"] + counts["failed"])


def as_key(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize("kills", [(3,), (0, 1, 5)] if not CHAOS else [tuple(range(0, 12, step)) for step in (1, 2, 3)])
def test_a_killed_daemon_ends_in_each_id_exactly_once(stub_daemon: StubDaemon, kills: tuple[int, ...]) -> None:
    """Whatever was answered is not asked again; only the one under way is."""
    daemon = stub_daemon()
    ids = [f"r{n}" for n in range(12)]
    batch = make(daemon, *(chat_line(id_, f"name-{id_} stub:prefill_ms=60") for id_ in ids))
    for number in kills:
        wait_until(lambda wanted=number: answered(daemon, batch) >= wanted, WATCHDOG)
        daemon.kill()
        daemon.start()
    done = ended(daemon, batch)
    assert done["status"] == "completed"
    assert done["request_counts"] == {"total": 12, "completed": 12, "failed": 0}
    told = lines_of(daemon, done["output_file_id"])
    assert sorted(line["custom_id"] for line in told) == sorted(ids)
    often = Counter(asked(daemon))
    assert set(often) == set(ids)
    assert sum(often.values()) <= len(ids) + len(kills)
    assert [path.name for path in (daemon.data / "files").glob(".batches/*")] == []


def test_a_stopped_daemon_goes_on_too(stub_daemon: StubDaemon) -> None:
    """The request under way is given up at once; nothing holds the end up."""
    daemon = stub_daemon()
    batch = make(daemon, chat_line("a", "name-a"), chat_line("b", "name-b stub:silent"))
    assert wait_until(lambda: asked(daemon) == ["a", "b"], WATCHDOG)
    assert daemon.stop() == 0
    daemon.start()
    assert wait_until(lambda: asked(daemon) == ["a", "b", "b"], WATCHDOG)
    daemon.ask("POST", f"/v1/batches/{batch}/cancel", {})
    daemon.ask("POST", "/api/evict", {"model": "m", "force": True})
    done = ended(daemon, batch)
    assert done["status"] == "cancelled"
    told = lines_of(daemon, done["output_file_id"]) + lines_of(daemon, done["error_file_id"])
    assert sorted(line["custom_id"] for line in told) == ["a", "b"]


def row_of(daemon: Daemon) -> dict[str, Any]:
    """Of `m`, which is loaded."""
    row: dict[str, Any]
    (row,) = (one for one in daemon.ask("GET", "/api/ps").json()["models"] if one["name"] == "m")
    return row


def people_waiting(daemon: Daemon) -> int:
    return sum(one["waiting"] for one in row_of(daemon)["queued"] if one["work"] == "interactive")


def test_people_come_first(cases: Daemon) -> None:
    """While anybody waits for the model nothing of a batch is asked: at most the one request under way is in front."""
    daemon = cases
    batch = make(daemon, *(chat_line(f"b{n}", f"name-b{n} stub:prefill_ms=400") for n in range(3)))
    assert wait_until(lambda: "b0" in asked(daemon), WATCHDOG)
    people = [
        threading.Thread(
            target=daemon.ask, args=("POST", CHAT, chat_line("", f"name-p{n} stub:prefill_ms=100")["body"])
        )
        for n in range(3)
    ]
    with paused(row_of(daemon)["pid"]):  # or a slow machine ends the first before all have come
        for person in people:
            person.start()
        assert wait_until(lambda: people_waiting(daemon) == len(people), WATCHDOG)
    for person in people:
        person.join(WATCHDOG)
    assert ended(daemon, batch)["status"] == "completed"
    order = [name for name in asked(daemon) if name[0] in "bp"]
    assert order[0] == "b0"
    assert sorted(order[1:4]) == ["p0", "p1", "p2"]
    assert order[4:] == ["b1", "b2"]


def test_a_keys_models_hold_for_each_line(stub_daemon: StubDaemon) -> None:
    """And nobody else sees file, batch or results (A29)."""
    daemon = stub_daemon(config=KEYS)
    mine, other = as_key("plm_scoped"), as_key("plm_whole")
    batch = make(daemon, chat_line("in", "name-in"), chat_line("out", "name-out", "other"), **mine)
    done = ended(daemon, batch, **mine)
    assert done["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    (bad,) = lines_of(daemon, done["error_file_id"], **mine)
    assert (bad["custom_id"], bad["response"]["status_code"]) == ("out", 403)
    assert asked(daemon) == ["in"]
    for path in (
        f"/v1/batches/{batch}",
        f"/v1/files/{done['output_file_id']}",
        f"/v1/files/{done['input_file_id']}/content",
    ):
        assert daemon.ask("GET", path, headers=other).status == 404
    assert daemon.ask("GET", "/v1/files", headers=other).json()["data"] == []


def test_a_child_that_dies_is_asked_again(cases: Daemon) -> None:
    """Nobody waits: one line is tried a few times before it counts as failed, and the others are answered."""
    daemon = cases
    batch = make(daemon, chat_line("a", "name-x1 stub:fail=503"), chat_line("b", "name-x2"))
    done = ended(daemon, batch)
    assert done["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    (bad,) = lines_of(daemon, done["error_file_id"])
    assert bad["response"]["status_code"] == 503
    assert [name for name in asked(daemon) if name[0] == "x"] == ["x1", "x1", "x1", "x2"]


def begin_upload(daemon: Daemon, size: int, first: bytes) -> socket.socket:
    """An upload whose beginning has been sent."""
    head = f"POST /v1/files HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n"
    client = socket.create_connection(("127.0.0.1", daemon.port), timeout=WATCHDOG)
    client.sendall(f"{head}content-type: multipart/form-data; boundary={EDGE}\r\n\r\n".encode() + first)
    return client


def parts(daemon: Daemon) -> list[Path]:
    return [*(daemon.data / "files" / ".parts").glob("*")]


def kept(daemon: Daemon) -> list[str]:
    return [path.name for path in (daemon.data / "files").glob("*") if path.is_file()]


def test_a_client_that_leaves_and_a_daemon_that_is_killed_leave_no_file(stub_daemon: StubDaemon) -> None:
    """In the middle of an upload; nothing is listed, and nothing lies about."""
    daemon = stub_daemon()
    whole = form(b"x" * 3_000_000)
    with contextlib.closing(begin_upload(daemon, len(whole), whole[:2_000_000])):
        assert wait_until(lambda: any(part.stat().st_size for part in parts(daemon)), WATCHDOG)
    assert wait_until(lambda: parts(daemon) == [], WATCHDOG)
    with contextlib.closing(begin_upload(daemon, len(whole), whole[:2_000_000])):
        assert wait_until(lambda: any(part.stat().st_size for part in parts(daemon)), WATCHDOG)
        daemon.kill()
    daemon.start()
    assert (parts(daemon), kept(daemon)) == ([], [])
    assert daemon.ask("GET", "/v1/files").json()["data"] == []
    assert upload(daemon, b"{}").status == 200


def peak(pid: int) -> int:
    """Bytes of memory that a process had at most since the last `forget`."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def forget(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def test_memory_stays_flat_while_a_large_file_is_sent_and_read(cases: Daemon) -> None:
    """300 MB in, 300 MB out; the loop answers others meanwhile."""
    daemon = cases
    assert daemon.process is not None
    upload(daemon, b"warm")
    pid, size = daemon.process.pid, 300_000_000
    forget(pid)
    before = peak(pid)
    piece = (b'{"custom_id":"x"}\r\n' * 60_000)[:1_000_000]
    begin, end = form(b"@").split(b"@")
    client = begin_upload(daemon, len(begin) + size + len(end), begin)
    with contextlib.closing(client):
        for number in range(size // len(piece)):
            client.sendall(piece)
            if number % 100 == 50:
                assert daemon.ask("GET", "/health").status == 200
        client.sendall(end)
        answer = client.recv(65_536)
    said = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert said["bytes"] == size
    with contextlib.closing(socket.create_connection(("127.0.0.1", daemon.port), timeout=WATCHDOG)) as reader:
        reader.sendall(
            f"GET /v1/files/{said['id']}/content HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
        )
        seen = 0
        while data := reader.recv(1 << 20):
            seen += len(data)
    assert size < seen < size + 10_000
    assert peak(pid) - before < 48 * 2**20
    daemon.ask("DELETE", f"/v1/files/{said['id']}")


@pytest.mark.parametrize("announced", [True, False])
def test_a_file_above_its_cap_is_a_413(cases: Daemon, announced: bool) -> None:
    """Also where nothing was announced (D12); what was written is gone."""
    daemon = cases
    begin, _ = form(b"@").split(b"@")
    before = kept(daemon)
    length = f"content-length: {600 * 2**20}" if announced else "transfer-encoding: chunked"
    head = f"POST /v1/files HTTP/1.1\r\nhost: localhost\r\n{length}\r\nexpect: 100-continue\r\n"
    with contextlib.closing(socket.create_connection(("127.0.0.1", daemon.port), timeout=WATCHDOG)) as client:
        client.sendall(f"{head}content-type: multipart/form-data; boundary={EDGE}\r\n\r\n".encode())
        seen = client.recv(65_536)
        # Who is asked to go on sends the body; one that is announced too large is not read, and so not asked for.
        assert seen.startswith(b"HTTP/1.1 413 " if announced else b"HTTP/1.1 100 ")
        if not announced:
            _send_chunks(client, [begin] + [b"x" * 2**20] * 514)
        while b"\r\n\r\n{" not in seen:
            data = client.recv(65_536)
            assert data, seen
            seen += data
    assert b"HTTP/1.1 413 " in seen
    assert wait_until(lambda: parts(daemon) == [], WATCHDOG)
    assert kept(daemon) == before


def _send_chunks(client: socket.socket, pieces: list[bytes]) -> None:
    for piece in pieces:
        client.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
    client.sendall(b"0\r\n\r\n")


def test_nothing_that_a_client_sends_is_our_fault(cases: Daemon) -> None:
    """Bodies of every wrong kind on every route: a 4xx with a sentence, and the daemon is well."""
    daemon = cases
    bodies: list[Any] = [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 5000, {"requests": [None]}, {"a": None}]
    routes = [
        "/v1/files",
        "/v1/batches",
        "/v1/batches/x/cancel",
        "/v1/messages/batches",
        "/v1/messages/batches/x/cancel",
    ]
    for route in routes:
        for body in bodies:
            got = daemon.ask("POST", route, body)
            assert 400 <= got.status < 500, (route, body, got.body)
            assert b"Traceback" not in got.body
    for path in ("/v1/files/..%2f..%2fblazar.db", "/v1/files/.parts/content", "/v1/batches/%00", "/v1/files/x%0a"):
        assert daemon.ask("GET", path).status == 404
    assert daemon.ask("GET", "/health").status == 200
