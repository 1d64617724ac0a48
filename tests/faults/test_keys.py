"""API keys of a real daemon: made and taken away while it runs, fifty at once, over a kill and over a disk that refuses."""

import http.client
import json
import stat
import subprocess
import sys
import threading
import tomllib
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import StubDaemon
from tests.support.daemon import WATCHDOG, Answer, Daemon, wait_until

ROOT = "plm_root_5ecret0fTheOwner"
HEAD = "# mine, by hand\nlog_level = 'debug' # all of it\naudit_log = true\n\n# the owner\n"
OWNER = f'[[keys]]\nname = "owner"\nkey = "{ROOT}"\n'


def ask(daemon: Daemon, method: str, path: str, body: Any = None, key: str = ROOT) -> Answer:
    return daemon.ask(method, path, body, {"authorization": f"Bearer {key}"})


@pytest.fixture
def daemon(tmp_path: Path) -> Any:
    """One with a key, without a model."""
    made = Daemon(tmp_path, HEAD + OWNER)
    with made:
        yield made


def test_fifty_changes_at_once_all_land(daemon: Daemon) -> None:
    """Beside three that write other keys of the same file; what was written by hand stays, and it survives a restart."""
    told: dict[str, str] = {}

    def add(name: str) -> None:
        answer = ask(daemon, "POST", "/api/keys", {"name": name, "rpm": 100})
        assert answer.status == 201, answer.body
        told[name] = answer.json()["key"]

    threads = [threading.Thread(target=add, args=(f"n{number}",)) for number in range(50)]
    others = [
        subprocess.Popen(
            [sys.executable, "-m", "blazar", "config", "set", f"engine_env.X{number}", "x"],
            env=daemon.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG)
    for other in others:
        assert other.communicate(timeout=WATCHDOG)[1] == b""
    assert len(told) == len(set(told.values())) == 50
    raw = tomllib.loads(daemon.config_file.read_text())
    assert {row["name"]: row["key"] for row in raw["keys"]} == told | {"owner": ROOT}
    assert raw["engine_env"] == {"X0": "x", "X1": "x", "X2": "x"}
    assert daemon.config_file.read_text().startswith(HEAD)
    assert stat.S_IMODE(daemon.config_file.stat().st_mode) == 0o600
    for key in told.values():
        assert ask(daemon, "GET", "/v1/models", key=key).status == 200
    daemon.stop()
    daemon.start()
    for key in told.values():
        assert ask(daemon, "GET", "/v1/models", key=key).status == 200


def test_a_change_holds_when_it_is_answered(daemon: Daemon) -> None:
    """The very next request is judged by it: added, scoped, rotated, removed."""
    for number in range(5):
        made = ask(daemon, "POST", "/api/keys", {"name": "guest"}).json()["key"]
        assert ask(daemon, "GET", "/api/config", key=made).status == 200
        assert ask(daemon, "PATCH", "/api/keys/guest", {"models": ["m"]}).status == 200
        assert ask(daemon, "GET", "/api/config", key=made).status == 403
        turned = ask(daemon, "POST", "/api/keys/guest/rotate").json()["key"]
        assert ask(daemon, "GET", "/v1/models", key=made).status == 401
        assert ask(daemon, "GET", "/v1/models", key=turned).status == 200, number
        assert ask(daemon, "DELETE", "/api/keys/guest").status == 200
        assert ask(daemon, "GET", "/v1/models", key=turned).status == 401


def test_what_was_answered_survives_a_kill(daemon: Daemon) -> None:
    """In the middle of many changes; the file is whole, and whoever was told a secret has it."""
    told: list[str] = []
    enough = threading.Event()

    def add_on() -> None:
        with suppress(OSError, http.client.HTTPException):
            for number in range(1000):
                answer = ask(daemon, "POST", "/api/keys", {"name": f"n{number}"})
                assert answer.status == 201
                told.append(answer.json()["key"])
                if len(told) == 5:
                    enough.set()

    thread = threading.Thread(target=add_on)
    thread.start()
    assert enough.wait(WATCHDOG)
    daemon.kill()
    thread.join(WATCHDOG)
    daemon.start()
    for key in told:
        assert ask(daemon, "GET", "/v1/models", key=key).status == 200
    assert daemon.config_file.read_text().startswith(HEAD)


def test_a_file_that_cannot_be_written_changes_nothing(daemon: Daemon) -> None:
    """A sentence with the file and the reason; the keys of before hold, and no half-made file is left."""
    lock = daemon.config_file.with_name(".config.toml.lock")
    lock.mkdir()
    before = sorted(path.name for path in daemon.config_file.parent.iterdir())
    text = daemon.config_file.read_bytes()
    for method, path, body in (
        ("POST", "/api/keys", {"name": "new"}),
        ("POST", "/api/keys/owner/rotate", None),
        ("PATCH", "/api/keys/owner", {"rpm": 3}),
    ):
        answer = ask(daemon, method, path, body)
        assert answer.status == 500
        assert str(daemon.config_file).encode() in answer.body
    assert [row["name"] for row in ask(daemon, "GET", "/api/keys").json()["keys"]] == ["owner"]
    assert daemon.config_file.read_bytes() == text
    assert sorted(path.name for path in daemon.config_file.parent.iterdir()) == before
    lock.rmdir()
    assert ask(daemon, "POST", "/api/keys", {"name": "new"}).status == 201


def test_a_file_that_is_broken_by_hand_is_not_written_over(daemon: Daemon) -> None:
    """409 with what is wrong; the daemon goes on as it was."""
    daemon.config_file.write_text(daemon.config_file.read_text() + "prot = 1\n")
    answer = ask(daemon, "POST", "/api/keys", {"name": "new"})
    assert answer.status == 409
    assert b"prot" in answer.body
    assert ask(daemon, "GET", "/v1/models").status == 200


def test_a_gateway_without_keys_refuses_and_its_owner_makes_the_first(tmp_path: Path) -> None:
    """By the command line, while it runs: everything needs a key from then on, and who listened is let go."""
    with Daemon(tmp_path, "") as daemon:
        refused = daemon.ask("POST", "/api/keys", {"name": "me"})
        assert refused.status == 403
        assert refused.json()["error"]["message"] == (
            "no keys configured: add the first [[keys]] entry in config.toml (or BLAZAR_KEYS env) and restart, or run "
            "blazar keys add NAME on the gateway's machine, which needs no restart"
        )
        with closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=WATCHDOG)) as connection:
            connection.request("GET", "/api/events")
            with connection.getresponse() as events:
                assert events.status == 200
                secret = daemon.must("keys", "add", "me").strip()
                events.read()
        assert wait_until(lambda: daemon.ask("GET", "/v1/models").status == 401, WATCHDOG)
        assert ask(daemon, "GET", "/v1/models", key=secret).status == 200
        assert daemon.must("keys", "list", "--quiet") == "me\n"


def test_no_secret_is_told_a_second_time(daemon: Daemon) -> None:
    """Not by a listing, the configuration, the doctor, events, logs at their loudest, the audit or an error; the file has it."""
    words = [json.loads(daemon.must("keys", "add", "a", "--json"))["key"], daemon.must("keys", "rotate", "a").strip()]
    words.append(ask(daemon, "POST", "/api/keys", {"name": "b"}).json()["key"])
    words.append(ask(daemon, "POST", "/api/keys/b/rotate").json()["key"])
    for key in words:
        ask(daemon, "GET", "/v1/models", key=key)
    texts = [
        ask(daemon, method, path).body
        for method, path in (
            ("GET", "/api/keys"),
            ("GET", "/api/keys/b"),
            ("GET", "/api/keys/b/usage"),
            ("GET", "/api/config"),
            ("GET", "/api/doctor"),
            ("GET", "/api/why"),
            ("GET", "/metrics"),
            ("DELETE", "/api/keys/owner2"),
        )
    ]
    for verb in (
        ("keys", "list"),
        ("config", "list"),
        ("config", "list", "--json"),
        ("config", "get", "keys"),
        ("doctor",),
    ):
        done = daemon.cli(*verb)
        texts += [done.stdout.encode(), done.stderr.encode()]
    assert b"key_rotated" in (daemon.run_dir / "daemon.log").read_bytes()
    texts += [path.read_bytes() for path in daemon.data.rglob("*") if path.is_file()]
    texts.append(daemon.errors.read_bytes())
    for secret in (*words, ROOT):
        assert not [text for text in texts if secret.encode() in text]
    assert words[-1] in daemon.config_file.read_text()
    assert words[-2] not in daemon.config_file.read_text()


def test_a_scoped_key_is_stopped_at_a_model_and_managed_by_its_owner(stub_daemon: StubDaemon) -> None:
    """A lane meets the new scope at once, warm or not."""
    daemon = stub_daemon(config=OWNER)
    chat = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": False}
    guest = ask(daemon, "POST", "/api/keys", {"name": "guest", "models": ["m"]}).json()["key"]
    assert ask(daemon, "POST", "/v1/chat/completions", chat, guest).status == 200
    assert ask(daemon, "PATCH", "/api/keys/guest", {"models": ["other"]}).status == 200
    assert ask(daemon, "POST", "/v1/chat/completions", chat, guest).status == 403
    assert ask(daemon, "POST", "/v1/chat/completions", chat | {"model": "other"}, guest).status == 200

    def used() -> bool:
        days = ask(daemon, "GET", "/api/keys/guest/usage").json()["days"]
        return bool(days) and days[0]["requests"] == 2

    assert wait_until(used, WATCHDOG)
