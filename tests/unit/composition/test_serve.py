"""The daemon's life around its parts. As a whole program it runs in tests/faults."""

import argparse
import asyncio
import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from blazar.adapters.files.daemonfiles import DaemonNote, DataDirLock
from blazar.composition import serve as module
from blazar.composition.listener import BACKLOG, bind
from blazar.composition.serve import (
    LARGEST_HEAD,
    Ground,
    bound,
    hangup_signal,
    hangups_ignored,
    main,
    say_ready,
    server_config,
    stop_signal,
)
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, BindConflict, DataDirLocked

WATCHDOG = 30.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of our own, and nothing inherited."""
    for name in [name for name in os.environ if name.startswith(("BLAZAR_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "d"))
    return tmp_path


def asked(port: int = 0) -> argparse.Namespace:
    return argparse.Namespace(config=None, bind_host=None, bind_port=port, json=False)


def test_the_ground_is_laid_before_the_loop_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listening, locked, the log open, no collection; and all of it is undone at the end (D2)."""
    seen: list[Ground] = []

    def looking(ground: Ground) -> int:
        seen.append(ground)
        with socket.create_connection(ground.listener.getsockname()):
            pass
        with pytest.raises(DataDirLocked):
            DataDirLock(ground.folders.run).acquire()
        assert not gc.isenabled()
        return 7

    monkeypatch.setattr(module, "run_loop", looking)
    assert main(asked()) == 7
    assert gc.isenabled()
    lock = DataDirLock(seen[0].folders.run)
    lock.acquire()
    lock.release()
    assert seen[0].listener.fileno() == -1
    assert (home / "d/blazar/run/daemon.log").exists()


def test_a_loop_that_breaks_leaves_no_lock(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a listening socket, nor a process that never collects."""

    def breaking(_: Ground) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "run_loop", breaking)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            main(asked())
    assert gc.isenabled()


def test_a_taken_port_and_a_taken_folder_are_told_apart(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both before anything is built; both are exit 3."""
    monkeypatch.setattr(module, "run_loop", lambda _: pytest.fail("was built"))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BindConflict):
        main(asked(taken.getsockname()[1]))
    run_dir = home / "d/blazar/run"
    lock = DataDirLock(run_dir)
    lock.acquire()
    with pytest.raises(DataDirLocked):
        main(asked())
    lock.release()


def test_a_wrong_configuration_is_told_before_anything_is_taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket, no lock, no log."""
    (home / "c/blazar").mkdir(parents=True)
    (home / "c/blazar/config.toml").write_text("prt = 1")
    monkeypatch.setattr(module, "bind", lambda *_: pytest.fail("was bound"))
    with pytest.raises(BadConfig):
        main(asked())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_either_signal_stops_it_and_a_hangup_does_not(number: signal.Signals) -> None:
    """A second one changes nothing."""
    hangups: list[int] = []

    async def wait() -> None:
        stop = stop_signal(lambda: hangups.append(1))
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), WATCHDOG)
        assert hangups == [1]
        os.kill(os.getpid(), number)
        await asyncio.sleep(0)

    asyncio.run(wait())


def test_a_hangup_while_it_starts_is_ignored() -> None:
    """Nobody listens yet, and the system's own answer would be to end the process; afterwards all is as it was."""
    before = signal.getsignal(signal.SIGHUP)
    with hangups_ignored():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == before


def test_a_system_without_hangups_starts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no SIGHUP: there only the file is watched (D28)."""
    monkeypatch.delattr(signal, "SIGHUP")
    assert hangup_signal() is None

    async def wait() -> None:
        with hangups_ignored():
            stop_signal(lambda: pytest.fail("nobody hung up"))

    asyncio.run(wait())


def test_the_servers_defaults_that_would_hurt_are_replaced() -> None:
    """Keep-alive clients keep their connection, heads may be large, the listen queue is the socket's."""
    config = server_config()
    assert config.backlog == BACKLOG
    assert config.keep_alive_timeout > 60
    assert config.keep_alive_max_requests == sys.maxsize
    assert config.h11_max_incomplete_size == LARGEST_HEAD == 64 * 1024
    assert (config.accesslog, config.errorlog, config.include_server_header) == (None, None, False)


def test_it_says_where_it_listens_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a program that started it; that it no longer reads is no reason to stop."""
    say_ready("http://127.0.0.1:1")
    assert json.loads(capsys.readouterr().out) == {"url": "http://127.0.0.1:1", "pid": os.getpid()}

    class Gone:
        def write(self, _: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None: ...

    monkeypatch.setattr(sys, "stdout", Gone())
    say_ready("http://127.0.0.1:1")


def test_a_port_of_this_folders_own_daemon_is_told_as_such(tmp_path: Path) -> None:
    """With what to do; one that another program has, also where a note of ours is left over, is taken by another program."""
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        DaemonNote(tmp_path).write(f"http://127.0.0.1:{port}", 1, "1")
        with pytest.raises(BindConflict, match="another program"):
            bound("127.0.0.1", port, tmp_path)
        lock = DataDirLock(tmp_path)
        lock.acquire()
        with pytest.raises(BindConflict) as own:
            bound("127.0.0.1", port, tmp_path)
        assert str(own.value) == teaching.already_serving(f"http://127.0.0.1:{port}")
        DaemonNote(tmp_path).write("http://127.0.0.1:1", 1, "1")
        with pytest.raises(BindConflict, match="another program"):
            bound("127.0.0.1", port, tmp_path)
        lock.release()
