"""Children that lie, linger or vanish, and swaps that race, seen from outside."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, body_for
from tests.support.daemon import WATCHDOG, Answer, Daemon, alive, wait_until
from tests.support.engine import recorded


def names(daemon: Daemon) -> set[str]:
    return {row["name"] for row in daemon.ask("GET", "/api/ps").json()["models"]}


def chat(daemon: Daemon, model: str = "m", words: str = "hi", **more: Any) -> Answer:
    return daemon.ask("POST", PATHS["openai"], body_for(words, stream=False, model=model) | more)


def pid_of(daemon: Daemon, model: str = "m") -> int:
    (pid,) = [row["pid"] for row in daemon.ask("GET", "/api/ps").json()["models"] if row["name"] == model]
    return int(pid)


def test_a_dead_child_is_not_listed(cases: Daemon) -> None:
    """Killed while idle, it is reaped and gone from the list; nothing of it is left in the run folder (G5)."""
    assert chat(cases).status == 200
    pid = pid_of(cases)
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: "m" not in names(cases), WATCHDOG)
    assert wait_until(lambda: not Path(f"/proc/{pid}").exists(), WATCHDOG)
    for file in ("m.pid", "m.apikey"):
        assert wait_until(lambda file=file: not (cases.run_dir / file).exists(), WATCHDOG), file
    assert chat(cases).status == 200


def test_a_child_that_is_healthy_but_cannot_infer_is_replaced(cases: Daemon) -> None:
    """/health says yes, every answer is a 500: after three it goes, whoever asks next gets another (G6)."""
    assert chat(cases, "third").status == 200
    first = pid_of(cases, "third")
    for _ in range(3):
        assert chat(cases, "third", "stub:fail=500").status == 500
    assert wait_until(lambda: not alive(first), WATCHDOG)
    assert wait_until(lambda: chat(cases, "third").status == 200, WATCHDOG)
    assert pid_of(cases, "third") != first


def test_racing_swaps_end_in_an_answer_or_a_busy_with_reason(stub_daemon: StubDaemon) -> None:
    """One model at a time and two impatient clients: every request ends, none with an empty body (G8, G10)."""
    daemon = stub_daemon(config="max_loaded_models = 1\n")
    answers: list[Answer] = []

    def loop(model: str) -> None:
        answers.extend(chat(daemon, model) for _ in range(6))

    threads = [threading.Thread(target=loop, args=(model,)) for model in ("m", "other", "m", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 24
    for got in answers:
        assert got.status in (200, 503)
        if got.status == 503:
            assert got.json()["error"]["message"]
            assert int(got.headers["retry-after"]) >= 1
    assert len(daemon.children()) == 1


def test_a_row_whose_file_is_gone_spawns_nothing(stub_daemon: StubDaemon, record: Path) -> None:
    """A child without a model would be a router that never loads: the caller is told which file is missing (G11)."""
    daemon = stub_daemon()
    (path,) = [Path(one) for one in (daemon.data / "models").rglob("*") if one.is_file() and "other" in str(one)]
    path.unlink()
    for dialect in PATHS.values():
        got = daemon.ask("POST", dialect, body_for("hi", stream=False, model="other"))
        assert got.status == 404
        assert b"which is gone" in got.body
    assert daemon.ask("POST", "/api/load", {"model": "other"}).status == 404
    assert recorded(record, "start") == []
    assert chat(daemon).status == 200


def test_every_way_of_unloading_gives_the_child_its_grace(stub_daemon: StubDaemon, record: Path) -> None:
    """Evict, keep_alive, rm and capacity all ask before they kill (G23)."""
    daemon = stub_daemon(config="max_loaded_models = 1\n")

    def asked() -> int:
        return len(recorded(record, "term"))

    assert chat(daemon).status == 200
    assert daemon.ask("POST", "/api/evict", {"model": "m"}).status == 200
    assert asked() == 1
    assert daemon.ask("POST", "/api/chat", body_for("hi", stream=False) | {"keep_alive": 0}).status == 200
    assert wait_until(lambda: asked() == 2, WATCHDOG)
    assert chat(daemon).status == 200
    assert chat(daemon, "other").status == 200
    assert asked() == 3
    daemon.must("rm", "other")
    assert asked() == 4
    assert chat(daemon).status == 200
    assert daemon.stop() == 0
    assert asked() == 5


@pytest.mark.parametrize("trouble", [{"oom": 1}, {"load_exit": 3}, {"exit_at_start": 4}])
def test_a_failed_load_leaves_nothing_behind(stub_daemon: StubDaemon, trouble: dict[str, int]) -> None:
    """No process, no key, no pid file, and the reason in the answer (G24, G28)."""
    daemon = stub_daemon(**trouble)
    got = chat(daemon)
    assert got.status == 502
    assert "stopped while loading" in got.json()["error"]["message"]
    assert daemon.children() == []
    assert not list(daemon.run_dir.glob("*.pid"))
    assert not list(daemon.run_dir.glob("*.apikey"))
    assert names(daemon) == set()


def test_a_child_that_will_not_stop_holds_nobody_up(cases: Daemon) -> None:
    """While TERM is being ignored every other route and model answers (G6, G16)."""
    assert chat(cases, "deaf").status == 200
    pid = pid_of(cases, "deaf")
    answers: list[Answer] = []
    evict = lambda: answers.append(cases.ask("POST", "/api/evict", {"model": "deaf", "force": True}))  # noqa: E731
    evicting = threading.Thread(target=evict)
    evicting.start()
    told = cases.home / "record.jsonl"
    assert wait_until(lambda: any(row["pid"] == pid for row in recorded(told, "term")), WATCHDOG)
    assert chat(cases, "other").status == 200
    assert cases.ask("GET", "/api/ps").status == 200
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)  # what the ladder comes to after its grace
    evicting.join()
    assert answers[0].json() == {"evicted": ["deaf"]}


def test_only_generation_and_an_explicit_load_spawn(cases: Daemon) -> None:
    """Whatever a browser tab or a dashboard polls (G22)."""
    for model in ("m", "other", "third", "small", "e", "deaf"):
        cases.ask("POST", "/api/evict", {"model": model})
    for path in ("/", "/health", "/metrics", "/v1/models", "/v1/models/m", "/api/tags", "/api/ps", "/api/version"):
        for method in ("GET", "HEAD", "OPTIONS"):
            cases.ask(method, path)
    for path in ("/api/explain?model=m", "/api/doctor", "/api/engines", "/favicon.ico", "/v1/chat/completions"):
        cases.ask("GET", path)
    cases.ask("POST", "/api/show", {"model": "m"})
    cases.ask("POST", "/api/copy", {"source": "m", "destination": "m"})
    assert cases.children() == []


def test_slots_are_never_oversubscribed(stub_daemon: StubDaemon, record: Path) -> None:
    """Sixty at once on three slots: the child never sees a fourth (L5)."""
    daemon = stub_daemon(config="slots = 3\n")
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(chat(daemon, words="stub:tokens=3 stub:interval_ms=5").status))
        for _ in range(60)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 60
    rows = [row for row in recorded(record, "request") if row["path"] == "/v1/chat/completions"]
    assert max(row["active"] for row in rows) <= 2  # counted before the request itself
