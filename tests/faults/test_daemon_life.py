"""Starting, stopping, and starting again."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.faults.conftest import CHAOS, StubDaemon
from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import WATCHDOG, Daemon, alive, wait_until
from tests.support.engine import recorded

CYCLES = 1000 if CHAOS else 100
STARTS = 1000 if CHAOS else 30
"""Of a daemon: each takes a second and more, and what one of them leaves is seen after one."""


def test_a_taken_port_is_exit_3_with_a_sentence(tmp_path: Path) -> None:
    """A service manager must not restart into a port war (contract)."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = Daemon(tmp_path).cli("serve", "--port", str(port))
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert f"127.0.0.1:{port} is taken" in done.stderr


def test_a_second_daemon_on_the_same_folder_is_exit_3(stub_daemon: StubDaemon) -> None:
    """Two daemons on one data folder would reap each other's children (D2)."""
    daemon = stub_daemon()
    done = daemon.cli("serve", "--port", "0")
    assert done.returncode == 3
    assert "another daemon" in done.stderr
    assert daemon.ask("GET", "/health").status == 200


def test_sigterm_lets_a_running_answer_finish(stub_daemon: StubDaemon) -> None:
    """Drain, stop children, exit 0 (G4)."""
    daemon = stub_daemon()
    with RawClient(daemon.port, PATHS["openai"], body_for("stub:tokens=40 stub:interval_ms=25")) as client:
        client.read_until(b"\n\n")
        children = daemon.children()
        stopped: list[int] = []
        stopper = threading.Thread(target=lambda: stopped.append(daemon.stop()))
        stopper.start()
        assert b"[DONE]" in client.read_all()
        stopper.join()
    assert stopped == [0]
    assert not any(alive(child) for child in children)
    assert not (daemon.run_dir / "daemon.json").exists()
    assert not list(daemon.run_dir.glob("*.apikey"))


def test_fifty_first_requests_start_one_child(stub_daemon: StubDaemon, record: Path) -> None:
    """Single flight: whoever comes while it loads waits for the same child."""
    daemon = stub_daemon(config="slots = 50\n", load_secs=0.5)
    statuses: list[int] = []
    ask = lambda: statuses.append(daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status)  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 50
    assert len(daemon.children()) == 1
    assert len({row.get("pid") for row in recorded(record)}) == 1


def test_daemon_cycles_leak_nothing(stub_daemon: StubDaemon, tmp_path: Path) -> None:
    """Start, serve one answer, stop, again and again: no process, file or port is left."""
    daemon = stub_daemon()
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
    assert daemon.stop() == 0
    before = {path.name for path in daemon.run_dir.iterdir()} | {"m.log.1"}  # logs stay, the last and the one before
    for _ in range(STARTS):
        daemon.start()
        assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
        children = daemon.children()
        port = daemon.port
        assert daemon.stop() == 0
        assert not any(alive(child) for child in children)
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert {path.name for path in daemon.run_dir.iterdir()} == before


def test_hundred_child_cycles_leak_nothing(stub_daemon: StubDaemon) -> None:
    """Load and evict a hundred times: one daemon keeps its descriptors and threads, and no child is left."""
    daemon = stub_daemon()
    assert daemon.process is not None
    proc = Path(f"/proc/{daemon.process.pid}")

    def cycle() -> None:
        assert daemon.ask("POST", "/api/load", {"model": "m"}).status == 200
        assert daemon.ask("POST", "/api/evict", {"model": "m"}).status == 200

    for _ in range(3):
        cycle()
    assert wait_until(lambda: daemon.children() == [], WATCHDOG)
    descriptors, threads = len(list((proc / "fd").iterdir())), len(list((proc / "task").iterdir()))
    for _ in range(CYCLES):
        cycle()
    assert daemon.children() == []
    # What its last clients left is closed a moment after their answers.
    assert wait_until(lambda: len(list((proc / "fd").iterdir())) <= descriptors + 2, WATCHDOG)
    assert wait_until(lambda: len(list((proc / "task").iterdir())) <= threads + 1, WATCHDOG)


@pytest.mark.parametrize("missing", ["HOME", "USER"])
def test_a_bare_environment_is_enough(stub_daemon: StubDaemon, missing: str) -> None:
    """A service manager may give almost nothing."""
    daemon = stub_daemon()
    daemon.stop()
    daemon.env.pop(missing, None)
    daemon.start()
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200


def test_a_broken_configuration_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    """Unknown keys name the line and the nearest key (I1)."""
    daemon = Daemon(tmp_path, "# first\nslots = 1\nprot = 8081\n")
    done = daemon.cli("serve", "--port", "0")
    assert done.returncode == 1
    assert "line 3" in done.stderr
    assert "did you mean " in done.stderr
    assert "port" in done.stderr.partition("did you mean ")[2]
    assert "Traceback" not in done.stderr


def test_an_interrupted_daemon_stops_as_if_terminated(stub_daemon: StubDaemon) -> None:
    """Ctrl-C at a terminal reaches the daemon alone; its children are stopped in order."""
    import signal

    daemon = stub_daemon()
    daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False))
    children = daemon.children()
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.process.wait(60) == 0
    daemon.process = None
    assert not any(alive(child) for child in children)


def test_python_dash_m_is_the_same_program() -> None:
    """`python -m blazar --version` prints the version and nothing else."""
    done = subprocess.run([sys.executable, "-m", "blazar", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("blazar ")


def test_a_daemon_that_only_serves_loads_what_serving_takes(stub_daemon: StubDaemon) -> None:
    """From the second one of an installation on: no ORM, no HTTP client, nothing that draws on terminals."""
    daemon = stub_daemon()
    daemon.stop()
    daemon.env.pop("BLAZAR_GH_BASE")  # an address of the user's is judged by the client
    daemon.env["PYTHONPROFILEIMPORTTIME"] = "1"
    before = daemon.errors.stat().st_size
    daemon.start()
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status == 200
    assert daemon.ask("GET", "/v1/models").status == 200
    lines = daemon.errors.read_bytes()[before:].decode().splitlines()
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines if line.startswith("import time:")}
    assert "quart" in loaded
    assert loaded & {"sqlalchemy", "sqlmodel", "httpx", "rich", "jsonschema", "gguf", "numpy"} == set()
