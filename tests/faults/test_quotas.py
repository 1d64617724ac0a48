"""Limits of keys before a real child: what is charged, what comes back, and what a restart and a killed daemon remember."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.batch_calls import chat_line, ended, make
from tests.support.daemon import WATCHDOG, Answer, Daemon, wait_until
from tests.support.engine import recorded

CHAT = PATHS["openai"]
CONFIG = """
slots = 8
[[keys]]
name = "admin"
key = "plm_admin"
[[keys]]
name = "single"
key = "plm_single"
rpm = 2
max_concurrent = 1
[[keys]]
name = "three"
key = "plm_three"
max_concurrent = 3
[[keys]]
name = "scoped"
key = "plm_scoped"
models = ["m"]
rpm = 1
[[keys]]
name = "tokens"
key = "plm_tokens"
tpm = 10
[[keys]]
name = "busy"
key = "plm_busy"
max_concurrent = 400
rpm = 100000
tpm = 100000000
"""
RESTARTED = """
[[keys]]
name = "daily"
key = "plm_daily"
daily_tokens = 400
"""

GUESTS = """
slots = 1
[[keys]]
name = "admin"
key = "plm_admin"
[[keys]]
name = "guest"
key = "plm_guest"
[[keys]]
name = "scoped"
key = "plm_scoped"
models = ["m"]
"""

Calls = Callable[..., list[dict[str, Any]]]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer plm_{key}"}


def ask(daemon: Daemon, key: str, text: str = "hi", model: str = "m", path: str = CHAT) -> Answer:
    body = {**body_for(text, stream=False, model=model), "max_tokens": 8}
    return daemon.ask("POST", path, body, bearer(key))


def message(answer: Answer) -> str:
    return str(answer.json()["error"]["message"])


def idle(daemon: Daemon) -> bool:
    rows = daemon.ask("GET", "/api/ps", headers=bearer("admin")).json()["models"]
    return all(not row["in_flight"] and not row["waiting"] for row in rows)


def written(daemon: Daemon, key: str) -> tuple[int, int]:
    """Requests and tokens that are written down for a key, all days together."""
    ask_for = "SELECT total(requests), total(prompt_tokens + completion_tokens) FROM key_usage WHERE key = ?"
    with closing(sqlite3.connect(f"file:{daemon.data / 'blazar.db'}?mode=ro", uri=True)) as store:
        requests, tokens = store.execute(ask_for, (key,)).fetchone()
    return int(requests), int(tokens)


def test_a_request_that_was_refused_for_another_burns_nothing(cases: Daemon) -> None:
    """Case L3: two a minute, one at a time. A runs; B is refused; A ends; C is served. The next one is beyond the minute."""
    with RawClient(cases.port, CHAT, body_for("A stub:tokens=100000 stub:interval_ms=20"), bearer("single")) as first:
        first.read_until(b"Hello")
        refused = ask(cases, "single", "B")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "(max_concurrent)" in message(refused)
        assert refused.headers["x-ratelimit-remaining-requests"] == "1"
    told = cases.ask("GET", "/api/why?key=single&status=429", headers=bearer("admin")).json()["requests"]
    assert [row["model"] for row in told] == ["m"], (
        "a refusal's record names the model, though nothing was read of it before"
    )
    assert wait_until(lambda: ask(cases, "single", "stub:tokens=1", model="nobody").status == 404, WATCHDOG)
    answer = ask(cases, "single", "C")
    assert (answer.status, answer.headers["x-ratelimit-remaining-requests"]) == (200, "0")
    beyond = ask(cases, "single", "D")
    assert (beyond.status, beyond.headers["x-ratelimit-limit-requests"]) == (429, "2")
    assert "(rpm)" in message(beyond)
    assert 1 <= int(beyond.headers["retry-after"]) <= 60


def test_what_a_key_must_not_use_costs_it_nothing(cases: Daemon) -> None:
    """Scope before rpm: another model, management, nonsense, a model that is not there; then its one request is served."""
    assert ask(cases, "scoped", model="other").status == 403
    assert cases.ask("POST", "/api/evict", {"model": "m"}, bearer("scoped")).status == 403
    assert cases.ask("POST", CHAT, b"{", bearer("scoped")).status == 400
    assert ask(cases, "scoped", model="nobody").status in (403, 404)
    assert cases.ask("GET", "/v1/models", headers=bearer("scoped")).status == 200
    assert ask(cases, "scoped").status == 200
    assert ask(cases, "scoped", model="other").status == 403, "the scope is told first, also when nothing is left"
    for dialect, path in PATHS.items():
        answer = ask(cases, "scoped", path=path)
        assert answer.status == 429
        said = answer.json()
        assert "(rpm)" in (said["error"] if dialect == "ollama" else said["error"]["message"])
        if dialect == "anthropic":
            assert said["error"]["type"] == "rate_limit_error"


def test_two_hundred_at_once_against_three(cases: Daemon) -> None:
    """Case L5: the child never sees a fourth of this key, everybody is answered, and the count is back."""
    before = len(recorded(cases.home / "record.jsonl", "request"))
    statuses: list[int] = []

    def one(number: int) -> None:
        statuses.append(ask(cases, "three", f"{number} stub:tokens=3 stub:interval_ms=5").status)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200, 429}
    rows = [row for row in recorded(cases.home / "record.jsonl", "request")[before:] if row["path"] == CHAT]
    assert len(rows) == statuses.count(200)
    assert max(row["active"] for row in rows) <= 2  # counted before the request itself
    assert [ask(cases, "three", f"after {number}").status for number in range(3)] == [200] * 3


def test_two_hundred_at_once_against_ten_tokens(cases: Daemon) -> None:
    """Nobody knows yet what the first one costs, and nobody else is let in before (B3); one that leaves holds nothing back."""
    with RawClient(cases.port, CHAT, body_for("stub:tokens=100000 stub:interval_ms=20"), bearer("tokens")) as first:
        first.read_until(b"Hello")
        assert ask(cases, "tokens", "meanwhile").headers["retry-after"] == "1"
    statuses: list[int] = []

    def one(number: int) -> None:
        statuses.append(ask(cases, "tokens", f"{number} stub:tokens=20 stub:interval_ms=20").status)

    assert wait_until(lambda: idle(cases), WATCHDOG)
    threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses)[1:] == [429] * 199
    assert "(tpm)" in message(ask(cases, "tokens"))


WAVES, WAVE = 20, 50


def test_a_thousand_aborted_streams_leave_every_counter_at_zero(cases: Daemon) -> None:
    """While they run and while they wait, in every dialect (K6): the key is as free as before, and so are the slots."""
    for wave in range(WAVES):
        with ExitStack() as stack:
            for number in range(WAVE):
                body = body_for(f"{wave} {number} stub:tokens=100000 stub:interval_ms=20")
                path = list(PATHS.values())[number % 3]
                stack.enter_context(RawClient(cases.port, path, body, bearer("busy")))
            if wave % 2:
                assert wait_until(lambda: not idle(cases), WATCHDOG)
    assert wait_until(lambda: idle(cases), WATCHDOG)
    # As many at once as the key may: were one place lost, the last of these would be refused.
    with ExitStack() as stack:
        clients = []
        for number in range(400):
            body = body_for(f"held {number} stub:tokens=100000 stub:interval_ms=20")
            clients.append(stack.enter_context(RawClient(cases.port, CHAT, body, bearer("busy"))))
        assert wait_until(lambda: _waiting(cases) == 400 - 8, WATCHDOG)
        refused = ask(cases, "busy", "one more")
        assert (refused.status, "(max_concurrent)" in message(refused)) == (429, True)
    assert wait_until(lambda: idle(cases), WATCHDOG)
    assert ask(cases, "busy").status == 200


def _waiting(daemon: Daemon) -> int:
    rows = daemon.ask("GET", "/api/ps", headers=bearer("admin")).json()["models"]
    return sum(int(row["waiting"]) for row in rows)


@pytest.mark.parametrize("path", [*PATHS.values(), "/v1/completions", "/api/generate", "/v1/responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_every_way_of_asking_is_written_down(cases: Daemon, path: str, stream: bool) -> None:
    """One request and its tokens, streamed or not, whether or not the caller wants to hear of usage."""
    before = written(cases, "admin")
    body: dict[str, Any] = {"model": "m", "stream": stream, "max_tokens": 8}
    if path in ("/v1/completions", "/api/generate"):
        body["prompt"] = "hi"
    elif path == "/v1/responses":
        body = {"model": "m", "stream": stream, "input": "hi"}
    else:
        body["messages"] = [{"role": "user", "content": "hi"}]
    answer = cases.ask("POST", path, body, bearer("admin"))
    assert answer.status == 200, answer.body
    assert wait_until(lambda: written(cases, "admin")[0] == before[0] + 1, WATCHDOG)
    assert wait_until(lambda: written(cases, "admin")[1] > before[1], WATCHDOG)


def test_embeddings_are_written_down(cases: Daemon) -> None:
    """In both dialects."""
    for path in ("/v1/embeddings", "/api/embed"):
        before = written(cases, "admin")
        assert cases.ask("POST", path, {"model": "e", "input": "hi"}, bearer("admin")).status == 200
        assert wait_until(lambda before=before: written(cases, "admin") > before, WATCHDOG)
        assert wait_until(lambda before=before: written(cases, "admin")[1] > before[1], WATCHDOG)


def test_a_batch_is_its_keys(cases: Daemon) -> None:
    """Its requests and tokens are those of the key that made it; limits of a minute are for who waits."""
    before = written(cases, "single")
    lines = [chat_line(f"{number}", f"{number} stub:tokens=3") for number in range(4)]
    batch = make(cases, *lines, **bearer("single"))
    assert ended(cases, batch, **bearer("single"))["request_counts"]["completed"] == 4
    assert wait_until(lambda: written(cases, "single")[0] >= before[0] + 4, WATCHDOG)
    assert wait_until(lambda: written(cases, "single")[1] > before[1], WATCHDOG)


def test_limits_of_a_day_survive_a_restart(stub_daemon: StubDaemon) -> None:
    """What was used before counts; the refusal says when the day ends, and tells clients not to hammer."""
    daemon = stub_daemon(config=RESTARTED)
    used = 0
    while (answer := ask(daemon, "daily", f"{used} stub:tokens=60")).status == 200:
        used += answer.json()["usage"]["total_tokens"]
    assert (answer.status, used >= 400) == (429, True)
    assert daemon.stop() == 0
    requests, tokens = written(daemon, "daily")
    assert tokens == used
    daemon.start()
    again = ask(daemon, "daily", "again")
    assert again.status == 429
    assert "(daily_tokens)" in message(again)
    assert "at midnight UTC" in message(again)
    if int(again.headers["retry-after"]) > 60:
        assert again.headers["x-should-retry"] == "false"
    assert daemon.stop() == 0
    assert written(daemon, "daily") == (requests, tokens)


def test_a_killed_daemon_loses_at_most_what_was_not_written_yet(stub_daemon: StubDaemon) -> None:
    """Whole batches are there, nothing is there twice, and the next daemon goes on from them."""
    daemon = stub_daemon(config=RESTARTED)
    assert ask(daemon, "daily", "first").status == 200
    assert wait_until(lambda: written(daemon, "daily")[0] == 1, WATCHDOG)
    kept = written(daemon, "daily")
    for number in range(3):
        assert ask(daemon, "daily", f"lost {number}").status == 200
    daemon.kill()
    requests, tokens = written(daemon, "daily")
    assert requests in range(1, 5)
    assert tokens >= kept[1]
    daemon.start()
    assert ask(daemon, "daily", "next").status == 200
    assert daemon.stop() == 0
    assert written(daemon, "daily")[0] == requests + 1


def test_a_change_of_the_file_keeps_what_was_used(stub_daemon: StubDaemon) -> None:
    """A new secret and a wider limit hold within seconds; the minute goes on with what was used in it."""
    keys = '[[keys]]\nname = "a"\nkey = "plm_{}"\nrpm = {}\n'
    daemon = stub_daemon(config=keys.format("old", 2))
    assert [ask(daemon, "old", f"{number}").status for number in range(3)] == [200, 200, 429]
    text = daemon.config_file.read_text()
    daemon.config_file.write_text(text.replace("plm_old", "plm_new").replace("rpm = 2", "rpm = 3"))
    assert wait_until(lambda: daemon.ask("GET", "/v1/models", headers=bearer("old")).status == 401, WATCHDOG)
    assert [ask(daemon, "new", f"again {number}").status for number in range(2)] == [200, 429]


def test_who_waits_with_a_key_that_goes_is_not_served(stub_daemon: StubDaemon) -> None:
    """Its turn comes after its key has gone: 401, and the child never hears of it; what runs with it ends well (B5)."""
    daemon = stub_daemon(config=GUESTS)
    statuses: dict[str, int] = {}

    def waits(key: str) -> None:
        statuses[key] = ask(daemon, key, f"{key} waits stub:tokens=1").status

    with RawClient(daemon.port, CHAT, body_for("stub:tokens=100000 stub:interval_ms=20"), bearer("guest")) as first:
        first.read_until(b"Hello")
        threads = [threading.Thread(target=waits, args=(key,)) for key in ("guest", "scoped")]
        for thread in threads:
            thread.start()
        assert wait_until(lambda: _waiting(daemon) == 2, WATCHDOG)
        assert daemon.ask("DELETE", "/api/keys/guest", headers=bearer("admin")).status == 200
        changed = daemon.ask("PATCH", "/api/keys/scoped", {"models": ["other"]}, bearer("admin"))
        assert changed.status == 200, changed.body
        first.read_until(b"data:")
    for thread in threads:
        thread.join()
    assert statuses == {"guest": 401, "scoped": 403}
    asked = [row for row in recorded(daemon.home / "record.jsonl", "request") if row["path"] == CHAT]
    assert len(asked) == 1
