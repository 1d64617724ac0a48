"""serve, stop, restart, status."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.cli.background import Bind
from blazar.adapters.cli.locate import Note
from blazar.adapters.cli.verbs import daemon
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, BindConflict, DataDirLocked
from tests.support.command_line import Cli, FakeRoot, StubDaemon

NOTE = Note("http://127.0.0.1:1", 4711, "5")


class Deeds:
    """What would have been done to processes."""

    def __init__(self) -> None:
        self.started: list[Bind] = []
        self.stopped: list[Note] = []
        self.words: list[str] = []
        self.slow = False


@pytest.fixture
def deeds(monkeypatch: pytest.MonkeyPatch) -> Deeds:
    """Nothing is started or stopped; a daemon is there when a test says so."""
    done = Deeds()

    def start(_: FakeRoot, bind: Bind) -> Note:
        done.started.append(bind)
        return NOTE

    monkeypatch.setattr(daemon, "start_daemon", start)

    def stop(_: object, note: Note, waiting: Callable[[], None]) -> None:
        if done.slow:
            waiting()
        done.stopped.append(note)

    monkeypatch.setattr(daemon, "stop_daemon", stop)
    monkeypatch.setattr(daemon, "started_with", lambda _: done.words)
    monkeypatch.setattr(daemon, "read_note", lambda *_: NOTE if done.words else None)
    return done


def test_serve_is_the_daemon_with_its_options(cli: Cli, root: FakeRoot) -> None:
    """The composition gets address, port and file; its exit code is ours."""
    seen: list[argparse.Namespace] = []

    def serving(args: argparse.Namespace) -> int:
        seen.append(args)
        return 0

    root.serving = serving
    assert cli("serve", "--host", "0.0.0.0", "--port", "0", "--config", "c.toml").code == 0
    assert (seen[0].bind_host, seen[0].bind_port, seen[0].config) == ("0.0.0.0", 0, "c.toml")


@pytest.mark.parametrize("refusal", [BindConflict("taken"), DataDirLocked("taken")])
def test_a_taken_address_or_folder_is_exit_3(cli: Cli, root: FakeRoot, refusal: Exception) -> None:
    """Systemd must not restart into a port war (contract)."""

    def serving(_: argparse.Namespace) -> int:
        raise refusal

    root.serving = serving
    assert cli("serve") == (3, "", "error: taken\n")


def test_the_global_host_is_not_an_address_to_listen_on(cli: Cli) -> None:
    """`blazar --host X serve` is a misunderstanding, and said so."""
    said = cli("--host", "0.0.0.0", "serve")
    assert said.code == 2
    assert "blazar serve --host ADDRESS" in said.err


def test_detach_starts_one_in_the_background(
    cli: Cli, deeds: Deeds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And says where it is; a relative file is made absolute."""
    monkeypatch.chdir(tmp_path)
    said = cli("start", "--detach", "--port", "0", "--config", "c.toml")
    assert said == (0, "Blazar serves at http://127.0.0.1:1 (pid 4711)\n", "")
    assert deeds.started == [Bind(None, 0, str(tmp_path / "c.toml"))]
    assert cli("serve", "--detach", "--json").json() == {"url": "http://127.0.0.1:1", "pid": 4711}


def test_what_only_its_log_would_say_is_told(cli: Cli, deeds: Deeds, root: FakeRoot) -> None:
    """Of the options it was started with: a daemon in the background has no other voice."""
    root.warns_at_start = True
    said = cli("serve", "--detach", "--host", "0.0.0.0")
    assert (said.out, said.err) == ("Blazar serves at http://127.0.0.1:1 (pid 4711)\n", "warning: 0.0.0.0 None\n")
    said = cli("serve", "--detach", "--json")
    assert (said.json()["warnings"], said.err) == (["None None"], "")


def test_stop(cli: Cli, deeds: Deeds) -> None:
    """The one pid of the note; without one a sentence and exit 4."""
    said = cli("stop")
    assert (said.code, said.out) == (4, "")
    assert said.err == f"error: {teaching.nothing_to_stop()}\n"
    deeds.words = ["--port", "0"]
    assert cli("stop").out == "the daemon (pid 4711) has stopped\n"
    assert cli("stop", "--json").json() == {"stopped": True, "pid": 4711}
    assert deeds.stopped == [NOTE, NOTE]


def test_restart_keeps_the_options_it_was_started_with(cli: Cli, deeds: Deeds) -> None:
    """But for those given now."""
    deeds.words = ["--host", "0.0.0.0", "--port", "5000"]
    assert cli("restart").code == cli("restart", "--port", "6000").code == 0
    assert deeds.started == [Bind("0.0.0.0", 5000), Bind("0.0.0.0", 6000)]
    deeds.words = ["--unknown"]
    assert cli("restart").code == 0
    assert deeds.started[-1] == Bind()


def test_a_stop_that_waits_says_for_how_long_at_most(cli: Cli, deeds: Deeds) -> None:
    """On stderr, so that results stay results; not with --quiet."""
    deeds.words, deeds.slow = ["--port", "0"], True
    assert cli("stop").err == cli("restart").err == f"{teaching.daemon_stopping()}\n"
    assert cli("stop", "--quiet").err == ""


def test_restart_stops_nothing_that_could_not_start_again(cli: Cli, deeds: Deeds, root: FakeRoot) -> None:
    """The file that the running daemon was started with is judged first, or the one that is named now."""
    deeds.words = ["--config", "/c.toml"]
    root.unstartable = BadConfig(["/c.toml line 1: unknown key 'x'"])
    assert cli("restart") == (1, "", "error: /c.toml line 1: unknown key 'x'\n")
    assert cli("restart", "--config", "/d.toml").code == 1
    assert (root.checked, deeds.started, deeds.stopped) == (["/c.toml", "/d.toml"], [], [])


def test_restart_without_a_daemon_starts_one(cli: Cli, deeds: Deeds) -> None:
    """Nothing to stop is no error here."""
    assert cli("restart").code == 0
    assert (deeds.started, deeds.stopped) == ([Bind()], [])


def test_status(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """Where, since when; exit 4 when nobody answers."""
    assert cli("status").code == 4
    root.use(stub)
    root.note = Note(stub.url, os.getpid(), 0)
    lines = dict(line.split(maxsplit=1) for line in cli("status").out.splitlines())
    assert lines == {"url": stub.url, "status": "ok", "pid": str(os.getpid()), "version": "9.9", "up": "1m 15s"}
    assert cli("status", "--json").json()["uptime_secs"] == 75
    stub.answers["GET", "/health"] = (503, {"status": "starting"})
    assert "starting" in cli("status").out
