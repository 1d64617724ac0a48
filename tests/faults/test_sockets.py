"""Children on socket files: a whole life, and what a daemon that was killed leaves behind."""

import os
import signal
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, alive, wait_until
from tests.support.engine import recorded, stub_server
from tests.support.gguf_files import tiny

UNIX = 'child_transport = "unix"\n'


def sockets(daemon: Daemon) -> list[Path]:
    return sorted(daemon.run_dir.glob("*.sock"))


def answered(daemon: Daemon) -> int:
    return daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status


def test_load_ask_evict(stub_daemon: StubDaemon, record: Path) -> None:
    """The file is the owner's alone while the child lives, and gone with it; nothing listens on a port, no key is made."""
    daemon = stub_daemon(config=UNIX)
    assert daemon.ask("POST", "/api/load", {"model": "m"}).status == 200
    (path,) = sockets(daemon)
    assert path.name == "m.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list(daemon.run_dir.glob("*.apikey"))
    assert answered(daemon) == 200
    with RawClient(daemon.port, PATHS["openai"], body_for("hi")) as client:
        assert b"[DONE]" in client.read_all()
    (row,) = daemon.ask("GET", "/api/ps").json()["models"]
    assert row.get("port", 0) == 0
    (spawn,) = recorded(record, "start")
    assert spawn["argv"][-2:] == ["--host", str(path)]
    assert "--port" not in spawn["argv"]
    assert daemon.ask("POST", "/api/evict", {"model": "m"}).status == 200
    assert sockets(daemon) == []


def test_the_words_on_a_port_are_what_they_were(stub_daemon: StubDaemon, record: Path) -> None:
    """The port's way is byte for byte what it was before there were sockets (contract)."""
    daemon = stub_daemon()
    assert answered(daemon) == 200
    (spawn,) = recorded(record, "start")
    host, address, port, number, key, file = spawn["argv"][-6:]
    assert (host, address, port, key) == ("--host", "127.0.0.1", "--port", "--api-key-file")
    assert number.isdigit()
    assert file == str(daemon.run_dir / "m.apikey")


@pytest.mark.parametrize(("transport", "keyed"), [("tcp", False), ("unix", True)])
def test_the_key_is_configurations_choice(stub_daemon: StubDaemon, record: Path, transport: str, keyed: bool) -> None:
    """Against what the transport would have by itself."""
    daemon = stub_daemon(config=f'child_transport = "{transport}"\nchild_auth = {str(keyed).lower()}\n')
    assert answered(daemon) == 200
    (spawn,) = recorded(record, "start")
    assert ("--api-key-file" in spawn["argv"]) is keyed
    assert (daemon.run_dir / "m.apikey").exists() is keyed


def test_a_killed_daemon_leaves_no_socket_after_the_next_start(stub_daemon: StubDaemon) -> None:
    """Its children die with it; their files are swept before anything is loaded, and the paths are used again."""
    daemon = stub_daemon(config=UNIX)
    assert answered(daemon) == 200
    (child,) = daemon.children()
    daemon.kill()
    assert wait_until(lambda: not alive(child), WATCHDOG)
    assert len(sockets(daemon)) == 1
    daemon.start()
    assert sockets(daemon) == []
    assert answered(daemon) == 200
    assert len(sockets(daemon)) == 1
    assert daemon.stop() == 0
    assert sockets(daemon) == []


def test_a_child_that_dies_is_replaced_on_the_same_path(stub_daemon: StubDaemon) -> None:
    """The file that it left is no obstacle."""
    daemon = stub_daemon(config=UNIX)
    assert answered(daemon) == 200
    (child,) = daemon.children()
    os.kill(child, signal.SIGKILL)
    assert wait_until(lambda: answered(daemon) == 200, WATCHDOG)
    assert daemon.children() != [child]
    assert len(sockets(daemon)) == 1


def test_a_path_that_is_too_long_is_told_before_anything_starts(tmp_path: Path, record: Path) -> None:
    """With the part that is too long: here the data folder."""
    home = tmp_path / ("d" * 80)
    home.mkdir()
    engine = stub_server(tmp_path / "bin", record=str(record))
    file = replace(tiny(), noise=1).save(tmp_path / "m.gguf")
    made = Daemon(home, f"spawn_mem_guard = false\n{UNIX}", {"BLAZAR_ENGINE_PATH": str(engine)})
    made.must("import", str(file), "--name", "m")
    with made as daemon:
        refused = daemon.ask("POST", "/api/load", {"model": "m"})
        assert refused.status == 400
        assert "the data folder is too long" in refused.body.decode()
        assert recorded(record, "start") == []
        assert daemon.children() == []
