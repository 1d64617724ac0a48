"""Creating the environment, and the one line that says what is missing."""

import builtins
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts import make_venv


class Version(tuple[int, ...]):
    """As much of `sys.version_info` as is looked at."""

    __slots__ = ()
    major = property(lambda self: self[0])
    minor = property(lambda self: self[1])


def runs(monkeypatch: pytest.MonkeyPatch, code: int, also: Callable[[], None] = lambda: None) -> list[Any]:
    """Nothing is created; what would have been run."""
    asked: list[Any] = []

    def run(words: list[str], **_: Any) -> Any:
        asked.append(words)
        also()
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


@pytest.mark.parametrize("old", [(3, 10, 14), (3, 8, 0), (2, 7, 18)])
def test_too_old_a_python_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], old: tuple[int, ...]
) -> None:
    """With what to write instead; nothing is created."""
    asked = runs(monkeypatch, 0)
    monkeypatch.setattr(sys, "version_info", Version(old))
    monkeypatch.setattr(sys, "version", "3.10.14 (main)")
    assert make_venv.main("x") == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "3.11 or newer, this is 3.10.14" in said
    assert "make PYTHON=python3.12" in said
    assert asked == []


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_a_missing_module_is_answered_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    """Debian ships Python without either: the package is that of this very version."""
    asked = runs(monkeypatch, 0)
    plain = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == missing:
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert make_venv.main("x") == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith(f"sudo apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv\n")
    assert asked == []


def test_the_environment_is_made_by_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its exit code is ours."""
    asked = runs(monkeypatch, 0)
    assert make_venv.main("some/folder") == 0
    assert asked == [[sys.executable, "-m", "venv", "some/folder"]]


def test_half_an_environment_is_taken_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its `bin/python` would keep the next make from trying again; one that was there before stays."""
    folder = tmp_path / "venv"
    python = folder / "bin" / "python"

    def half() -> None:
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()

    runs(monkeypatch, 7, half)
    assert make_venv.main(str(folder)) == 7
    assert not folder.exists()
    half()
    assert make_venv.main(str(folder)) == 7
    assert python.exists()


def test_old_pythons_can_read_it() -> None:
    """It must be able to say what it has to say: no syntax that is newer than 3.6."""
    compile(Path(make_venv.__file__).read_text(), "make_venv.py", "exec", dont_inherit=True, _feature_version=6)
