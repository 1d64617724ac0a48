"""The program as a process: what a shell sees."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import blazar
from blazar import __main__

WATCHDOG = 60.0


def env_of(home: Path, **more: str) -> dict[str, str]:
    """Folders of its own and no daemon."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BLAZAR_", "XDG_"))}
    return {
        **kept,
        "XDG_CONFIG_HOME": str(home / "c"),
        "XDG_DATA_HOME": str(home / "d"),
        "BLAZAR_HOST": "127.0.0.1:9",
        **more,
    }


def blazar_of(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """One run."""
    command = [sys.executable, "-m", "blazar", *words]
    return subprocess.run(command, env=env_of(home, **more), capture_output=True, text=True, timeout=WATCHDOG)


def test_the_version(tmp_path: Path) -> None:
    """`--version` and nothing else."""
    done = blazar_of(tmp_path, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"blazar {blazar.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "code"), [("config path", 0), ("login", 1), ("nope", 2), ("ps", 4), ("ps --help", 0), ("", 2)]
)
def test_exit_codes_reach_the_shell(tmp_path: Path, words: str, code: int) -> None:
    """The codes of the surface, each with one line at most."""
    done = blazar_of(tmp_path, *words.split())
    assert done.returncode == code
    if code not in (0, 2):
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_version_is_one_line(tmp_path: Path) -> None:
    """The short way to the version must not be a way around the error messages."""
    command = [sys.executable, "-m", "blazar", "--version"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, env=env_of(tmp_path), stdout=full, stderr=subprocess.PIPE, timeout=WATCHDOG)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"error: ")


@pytest.mark.parametrize("words", ["completion bash", "--version"])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, words: str) -> None:
    """`blazar … | head -0` prints nothing on stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "blazar", *words.split()]
    done = subprocess.run(command, env=env_of(tmp_path), stdout=writer, stderr=subprocess.PIPE, timeout=WATCHDOG)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_closed_standard_streams_are_survived(tmp_path: Path) -> None:
    """As cron and some supervisors start programs."""
    command = f'"{sys.executable}" -m blazar config path <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", command], env=env_of(tmp_path), timeout=WATCHDOG).returncode == 0


def test_a_terminal_without_unicode_gets_question_marks(tmp_path: Path) -> None:
    """An encoding error is no reason to stop."""
    done = blazar_of(tmp_path, "evict", "größe", PYTHONIOENCODING="ascii")
    assert done.returncode == 4
    assert "Traceback" not in done.stderr


class Unforeseen(RuntimeError):
    """Something nobody foresaw."""


def test_no_traceback_reaches_a_user(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence and how to see more; with --json as JSON."""

    def broken(_: object) -> object:
        raise Unforeseen("the reason")

    monkeypatch.setattr(__main__, "_root", broken)
    monkeypatch.delenv("BLAZAR_DEBUG", raising=False)
    monkeypatch.setattr(sys, "argv", ["blazar", "list"])
    assert __main__.main() == 1
    said = capsys.readouterr().err
    assert said.startswith("error: something went wrong inside Blazar (Unforeseen: the reason)")
    assert "BLAZAR_DEBUG=1" in said
    monkeypatch.setattr(sys, "argv", ["blazar", "list", "--json"])
    assert __main__.main() == 1
    assert json.loads(capsys.readouterr().err)["error"]["code"] == 1


def test_who_wants_the_traceback_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """BLAZAR_DEBUG=1."""

    def broken(_: object) -> object:
        raise Unforeseen

    monkeypatch.setattr(__main__, "_root", broken)
    monkeypatch.setenv("BLAZAR_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["blazar", "list"])
    with pytest.raises(Unforeseen):
        __main__.main()


def test_ctrl_c_at_any_moment_is_130(tmp_path: Path) -> None:
    """Here while a followed log waits for more."""
    log = tmp_path / "d" / "blazar" / "run" / "daemon.log"
    log.parent.mkdir(parents=True)
    log.write_text("hello\n")
    command = [sys.executable, "-m", "blazar", "logs", "--follow"]
    with subprocess.Popen(
        command, env=env_of(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "hello\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(WATCHDOG) == 130
        assert process.stderr.read() == "error: interrupted\n"
