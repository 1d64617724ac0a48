"""Mistakes of a first user, through the whole program: nothing falls back in silence, nothing that runs is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.conftest import StubDaemon
from tests.support.daemon import ONE_THREAD, WATCHDOG, Daemon


@pytest.mark.parametrize("path", ["/nope/llama-server", "/bin/ls"])
@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("serve", "--detach", "--port", "0"), ("run", "m", "hi")])
def test_a_named_engine_that_cannot_be_used_is_a_refusal(tmp_path: Path, path: str, words: tuple[str, ...]) -> None:
    """Another engine in its place would hide the mistake."""
    config = "port = 0\n" + ONE_THREAD
    daemon = Daemon(tmp_path, config, {"BLAZAR_ENGINE_PATH": path})
    done = daemon.cli(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: BLAZAR_ENGINE_PATH")
    assert path in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (daemon.run_dir / "daemon.json").exists()


def test_a_named_file_that_is_not_there_is_a_refusal(tmp_path: Path) -> None:
    """Served with the defaults, it would listen where nobody asked for."""
    daemon = Daemon(tmp_path)
    for words in (("serve",), ("serve", "--detach"), ("config", "validate"), ("config", "get", "port")):
        done = daemon.cli(*words, "--config", "nofile.toml")
        assert (done.returncode, str(tmp_path / "nofile.toml") in done.stderr) == (1, True), words


def test_a_restart_into_a_broken_file_leaves_the_daemon_running(stub_daemon: StubDaemon) -> None:
    """It is judged before anything is stopped."""
    daemon = stub_daemon()
    assert daemon.process is not None
    daemon.config_file.write_text("prot = 1\n")
    done = daemon.cli("restart")
    assert (done.returncode, "unknown key 'prot'" in done.stderr) == (1, True)
    assert daemon.process.poll() is None
    assert daemon.ask("GET", "/health").status == 200


def test_a_daemon_in_the_foreground_says_as_json_where_it_is(tmp_path: Path) -> None:
    """One line when it is ready, so that a script need not poll a file."""
    daemon = Daemon(tmp_path)
    words = [sys.executable, "-m", "blazar", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        words, env=daemon.env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        daemon.port = int(said["url"].rpartition(":")[2])
        assert said["pid"] == process.pid
        assert daemon.ask("GET", "/health").status == 200
        process.terminate()
        assert process.wait(WATCHDOG) == 0
        assert process.stdout.read() == b""
