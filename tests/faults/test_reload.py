"""The configuration changes while the daemon runs: by a signal, by the file, badly, in the middle of an answer."""

import http.client
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.archives import Entry, digest, write_tar
from tests.support.daemon import WATCHDOG, Daemon, paused, wait_until
from tests.support.engine import stub_server

BASE = "spawn_mem_guard = false\nslots = 1\n"
KEYED = '[[keys]]\nname = "{}"\nkey = "{}"\n'


class Ears:
    """A client of /api/events that keeps what it heard."""

    def __init__(self, daemon: Daemon, headers: dict[str, str] | None = None) -> None:
        self.heard: list[dict[str, Any]] = []
        self.ended = False
        self._connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=WATCHDOG)
        self._connection.request("GET", "/api/events", headers=headers or {})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        assert self._answer.readline() == b": \n"
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        try:
            while line := self._answer.readline():
                if line.startswith(b"data: "):
                    self.heard.append(json.loads(line.removeprefix(b"data: ")))
            self.ended = True
        except (OSError, ValueError, http.client.HTTPException):
            pass

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.heard if event["kind"] == kind]

    def wait(self, kind: str, count: int = 1) -> dict[str, Any]:
        """The newest event of that kind, once there are so many."""
        assert wait_until(lambda: len(self.of(kind)) >= count, WATCHDOG), (kind, self.heard)
        return self.of(kind)[-1]

    def join(self) -> None:
        self._thread.join(WATCHDOG)
        self._answer.close()  # it holds the socket, whatever becomes of the connection
        self._connection.close()


@contextmanager
def listening(daemon: Daemon) -> Iterator[Ears]:
    """Ears that outlive the daemon: its end is the end of the stream."""
    ears = Ears(daemon)
    try:
        yield ears
    finally:
        daemon.stop()
        ears.join()


def hang_up(daemon: Daemon) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGHUP)


def chat(daemon: Daemon, model: str = "m", key: str = "") -> int:
    headers = {"authorization": f"Bearer {key}"} if key else None
    return daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False) | {"model": model}, headers).status


def running(daemon: Daemon, key: str = "") -> dict[str, dict[str, Any]]:
    headers = {"authorization": f"Bearer {key}"} if key else None
    return {row["key"]: row for row in daemon.ask("GET", "/api/ps", headers=headers).json()["models"]}


def window_of(daemon: Daemon) -> int:
    """Of the child that runs `m`; 0 while it is being exchanged and none does."""
    return int(running(daemon).get("m", {}).get("context_length") or 0)


def config_of(daemon: Daemon, key: str = "") -> dict[str, Any]:
    headers = {"authorization": f"Bearer {key}"} if key else None
    shown: dict[str, Any] = daemon.ask("GET", "/api/config", headers=headers).json()
    return shown


def argv_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")


def test_a_changed_override_replaces_that_child_and_no_other(stub_daemon: StubDaemon) -> None:
    """Its next request starts the new one; explain says beforehand that nothing differs, and the other keeps its pid."""
    daemon = stub_daemon(config="slots = 1\n[model_overrides.m]\nctx = 256\n")
    with listening(daemon) as ears:
        assert [chat(daemon), chat(daemon, "other")] == [200, 200]
        before = running(daemon)
        explained = daemon.ask("GET", "/api/explain?model=m").json()
        assert explained["difference"] | {"pid": 0} == {
            "pid": 0,
            "added": [],
            "removed": [],
            "changed": [],
            "env": {"added": [], "removed": [], "changed": []},
            "engine": None,
        }
        assert any(one["words"][:1] == ["--ctx-size"] and one["reason"] for one in explained["decisions"])
        daemon.config_file.write_text(BASE + "[model_overrides.m]\nctx = 512\n")
        hang_up(daemon)
        assert ears.wait("config_reloaded")["changed"] == ["model_overrides.m.ctx"]
        assert ears.wait("evicted") | {"at": ""} == {"at": "", "kind": "evicted", "model": "m", "cause": "reload"}
        assert chat(daemon) == 200
        after = running(daemon)
        assert after["other"]["pid"] == before["other"]["pid"]
        assert after["m"]["pid"] != before["m"]["pid"]
        words = argv_of(after["m"]["pid"])
        assert words[words.index("--ctx-size") + 1] == "512"
    assert ears.ended, "the stream of events ends with the daemon"


def test_a_child_is_told_apart_from_what_the_file_says_now(stub_daemon: StubDaemon) -> None:
    """While a busy child keeps the old words, explain shows what its successor is told (case I12)."""
    daemon = stub_daemon(config="slots = 1\n[model_overrides.m]\nctx = 256\n")
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:tokens=100000 stub:interval_ms=50")) as client:
        client.read_until(b"\n\n")
        daemon.config_file.write_text(BASE + '[model_overrides.m]\nctx = 512\n[engine_env]\nSECRET = "s3cr3t"\n')
        hang_up(daemon)
        assert wait_until(lambda: explain_of(daemon)["changed"], WATCHDOG)
        found = explain_of(daemon)
        assert found["changed"] == [{"flag": "--ctx-size", "was": "256", "is": "512"}]
        assert (found["pid"], found["env"]["added"]) == (running(daemon)["m"]["pid"], ["SECRET"])
        said = daemon.must("explain", "m")
        assert "~ --ctx-size: 256 -> 512" in said
        assert "s3cr3t" not in said + daemon.must("explain", "m", "--json")


def test_another_engine_shows_what_it_would_be_told(stub_daemon: StubDaemon) -> None:
    """After an upgrade the child keeps its build; explain prints what the next one gets otherwise (case I12)."""
    daemon = stub_daemon(config="slots = 1\n")
    with listening(daemon) as ears:
        assert chat(daemon) == 200
        newer = stub_server(daemon.home / "newer").read_bytes()
        archive = write_tar(daemon.home / "llama-b99.tar.gz", [Entry("build/llama-server", newer, mode=0o755)])
        daemon.must("engine", "install", str(archive), "--sha256", digest(archive), "--tag", "b99")
        daemon.must("engine", "use", "b99")
        assert ears.wait("engine_changed") | {"at": ""} == {
            "at": "",
            "kind": "engine_changed",
            "lane": "llamacpp",
            "engine": "b99",
            "was": "local",
        }
        found = explain_of(daemon)
        assert found["engine"] == {"was": "local", "is": "b99"}
        assert found["pid"] == running(daemon)["m"]["pid"]
        assert "engine b99 instead of local" in daemon.must("explain", "m")
        assert ears.of("evicted") == []


def explain_of(daemon: Daemon) -> dict[str, Any]:
    found: dict[str, Any] = daemon.ask("GET", "/api/explain?model=m").json()["difference"]
    return found


def test_an_answer_under_way_is_unharmed(stub_daemon: StubDaemon) -> None:
    """The child is stale and serves on; when it comes to rest it goes (D4)."""
    daemon = stub_daemon(config="slots = 1\n[model_overrides.m]\nctx = 256\n")
    with listening(daemon) as ears:
        with RawClient(daemon.port, PATHS["openai"], body_for("stub:tokens=60 stub:interval_ms=25")) as client:
            client.read_until(b"\n\n")
            pid = running(daemon)["m"]["pid"]
            with paused(pid):
                daemon.config_file.write_text(BASE + "[model_overrides.m]\nctx = 512\n")
                hang_up(daemon)
                ears.wait("config_reloaded")
                assert wait_until(lambda: "replaced" in " ".join(running(daemon)["m"]["notes"]), WATCHDOG)
            assert b"[DONE]" in client.read_all()
        assert ears.wait("evicted")["cause"] == "reload"
        assert chat(daemon) == 200
        assert running(daemon)["m"]["pid"] != pid


def test_a_lower_number_of_models_holds_at_once(stub_daemon: StubDaemon) -> None:
    """Idle ones beyond it leave because of the reload, and the busy one answers to its end (D4)."""
    daemon = stub_daemon(config="slots = 1\n")
    with listening(daemon) as ears:
        daemon.must("cp", "m", "third")
        assert [chat(daemon, name) for name in ("m", "other")] == [200, 200]
        body = body_for("stub:tokens=60 stub:interval_ms=25") | {"model": "third"}
        with RawClient(daemon.port, PATHS["openai"], body) as client:
            client.read_until(b"\n\n")
            daemon.config_file.write_text(BASE + "max_loaded_models = 1\n")
            hang_up(daemon)
            assert ears.wait("evicted", 2)["cause"] == "reload"
            assert {event["model"] for event in ears.of("evicted")} == {"m", "other"}
            assert list(running(daemon)) == ["third"]
            assert b"[DONE]" in client.read_all()
        assert list(running(daemon)) == ["third"]
        assert chat(daemon) == 200
        assert list(running(daemon)) == ["m"]


def test_keys_are_exchanged_while_it_runs(stub_daemon: StubDaemon) -> None:
    """The old key is refused and the new one is not, by the file alone; without the last one the gateway is open, loudly."""
    daemon = stub_daemon(config="slots = 1\n" + KEYED.format("a", "plm_old_secret"))
    assert [chat(daemon, key=key) for key in ("", "plm_old_secret", "plm_new_secret")] == [401, 200, 401]
    pid = running(daemon, "plm_old_secret")["m"]["pid"]
    ears = Ears(daemon, {"authorization": "Bearer plm_old_secret"})
    daemon.config_file.write_text(BASE + KEYED.format("b", "plm_new_secret"))
    assert wait_until(lambda: chat(daemon, key="plm_new_secret") == 200, WATCHDOG), "the file is watched"
    assert [chat(daemon, key=key) for key in ("", "plm_old_secret")] == [401, 401]
    ears.join()
    assert ears.ended, "who listened by the old key is not told any more"
    assert running(daemon, "plm_new_secret")["m"]["pid"] == pid
    shown = daemon.ask("GET", "/api/config", headers={"authorization": "Bearer plm_new_secret"})
    assert shown.json()["values"]["keys"][0]["name"] == "b"
    daemon.config_file.write_text(BASE)
    hang_up(daemon)
    assert wait_until(lambda: chat(daemon) == 200, WATCHDOG)
    log = daemon.run_dir / "daemon.log"
    assert wait_until(lambda: "WARNING blazar.events gateway_open" in log.read_text(), WATCHDOG)
    assert "_secret" not in log.read_text() + shown.body.decode()


def test_a_bad_file_changes_nothing_until_it_is_good(stub_daemon: StubDaemon) -> None:
    """Told by the events, the doctor and the log; a hang-up never ends the daemon."""
    daemon = stub_daemon(config="slots = 1\n")
    with listening(daemon) as ears:
        assert chat(daemon) == 200
        pid = running(daemon)["m"]["pid"]
        daemon.config_file.write_text(BASE + "max_loaded_modles = 3\n")
        hang_up(daemon)
        problem = ears.wait("config_refused")["problems"][0]
        assert "line 3: unknown key 'max_loaded_modles'; did you mean max_loaded_models?" in problem
        report = daemon.ask("GET", "/api/doctor").json()
        rows = [row for section in report["sections"] for row in section["rows"] if row["check"] == "configuration"]
        assert {row["status"] for row in rows} == {"fail"}
        assert len(rows) == 1
        assert rows[0]["detail"].startswith(problem)
        assert "since 20" in rows[0]["detail"]
        assert daemon.ask("GET", "/api/config").json()["refused"]["problems"] == [problem]
        daemon.config_file.write_text(BASE + "max_loaded_models = 3\nport = 1\n")
        hang_up(daemon)
        assert ears.wait("config_reloaded")["changed"] == ["max_loaded_models"]
        config = daemon.ask("GET", "/api/config").json()
        assert (config["refused"], config["values"]["max_loaded_models"]) == (None, 3)
        daemon.config_file.unlink()
        hang_up(daemon)
        assert "max_loaded_models" in ears.wait("config_reloaded", 2)["changed"]
        assert running(daemon)["m"]["pid"] == pid
    assert "did you mean max_loaded_models?" in (daemon.run_dir / "daemon.log").read_text()


def test_a_file_that_is_written_again_and_again_settles_on_its_last(stub_daemon: StubDaemon) -> None:
    """Fifty times, half of them torn, with hang-ups in between: no crash, no child too many (case G7)."""
    daemon = stub_daemon(config="slots = 1\n")
    with listening(daemon) as ears:
        assert chat(daemon) == 200
        for number in range(50):
            text = BASE + f"[model_overrides.m]\nctx = {256 + number}\n"
            daemon.config_file.write_text(text[: len(text) - 9] + "[" if number % 2 else text)
            if number % 10 == 9:
                hang_up(daemon)
        daemon.config_file.write_text(BASE + "[model_overrides.m]\nctx = 400\n")
        # Whatever the hang-ups found half-way: the end is what stands in the file.
        wanted = {"m": {"ctx": 400}}
        assert wait_until(lambda: config_of(daemon)["values"]["model_overrides"] == wanted, WATCHDOG)
        # A request that comes between the new values and the look at the children is still the old child's.
        assert wait_until(lambda: chat(daemon) == 200 and window_of(daemon) == 400, WATCHDOG)
        assert len(ears.of("loading")) <= 3
        assert len(ears.of("config_reloaded")) + len(ears.of("config_refused")) <= 7


def test_a_link_is_watched_where_it_leads(stub_daemon: StubDaemon) -> None:
    """Dotfile managers exchange the target, or the link."""
    daemon = stub_daemon(config="slots = 1\n")
    first, second = daemon.home / "first.toml", daemon.home / "second.toml"
    first.write_text(BASE + "max_loaded_models = 2\n")
    second.write_text(BASE + "max_loaded_models = 3\n")
    for target in (first, second):
        link = daemon.home / "link"
        link.symlink_to(target)
        link.replace(daemon.config_file)
        wanted = 2 if target is first else 3
        assert wait_until(lambda wanted=wanted: cap_of(daemon) == wanted, WATCHDOG)  # type: ignore[misc]
    second.write_text(BASE + "max_loaded_models = 4\n")
    assert wait_until(lambda: cap_of(daemon) == 4, WATCHDOG)


def cap_of(daemon: Daemon) -> int:
    cap: int = daemon.ask("GET", "/api/config").json()["values"]["max_loaded_models"]
    return cap


def test_keys_that_the_start_wrote_are_no_reload(stub_daemon: StubDaemon) -> None:
    """The daemon itself wrote them (D26): nobody is told of a change that is none."""
    daemon = stub_daemon(config="slots = 1\n")
    daemon.stop()
    daemon.env["BLAZAR_KEYS"] = "boot:plm_bootstrap"
    daemon.start()
    assert "plm_bootstrap" in daemon.config_file.read_text()
    log = daemon.run_dir / "daemon.log"
    # The daemon has read the file again as soon as it is the file that the key comes from.
    assert wait_until(lambda: config_of(daemon, "plm_bootstrap")["origins"]["keys"]["layer"] == "file", WATCHDOG)
    assert "config_reloaded" not in log.read_text()


def test_clients_that_leave_leave_nothing(stub_daemon: StubDaemon) -> None:
    """A hundred listeners come and go; the daemon's descriptors are as many as before."""
    daemon = stub_daemon(config="slots = 1\n")
    assert daemon.process is not None
    folder = Path(f"/proc/{daemon.process.pid}/fd")
    before = len(list(folder.iterdir()))
    for _ in range(100):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=WATCHDOG)
        connection.request("GET", "/api/events")
        answer = connection.getresponse()
        assert answer.readline() == b": \n"
        answer.close()
        connection.close()
    assert wait_until(lambda: len(list(folder.iterdir())) <= before + 2, WATCHDOG)


def test_a_storm_of_changes_ends_with_the_last_one(stub_daemon: StubDaemon) -> None:
    """Good and bad files one after the other, replaced and written over, and hang-ups all the while: nobody notices."""
    daemon = stub_daemon(config="slots = 1\n")
    assert chat(daemon) == 200
    for number in range(40):
        text = BASE + ("bogus = 1\n" if number % 3 == 1 else f"[model_overrides.m]\nctx = {256 + number}\n")
        if number % 2:
            draft = daemon.config_file.with_suffix(".draft")
            draft.write_text(text)
            draft.replace(daemon.config_file)
        else:
            daemon.config_file.write_text(text)
        for _ in range(number):
            hang_up(daemon)
        if number % 10 == 0:
            assert chat(daemon) == 200
    daemon.config_file.write_text(BASE + "[model_overrides.m]\nctx = 480\n")
    hang_up(daemon)
    assert wait_until(lambda: explain_window(daemon) == 480, WATCHDOG)
    assert chat(daemon) == 200
    assert wait_until(lambda: chat(daemon) == 200 and window_of(daemon) == 480, WATCHDOG)
    assert len(daemon.children()) == 1
    assert "Traceback" not in (daemon.run_dir / "daemon.log").read_text()


def explain_window(daemon: Daemon) -> int:
    return int(daemon.ask("GET", "/api/explain?model=m").json().get("ctx") or 0)
