"""The agents of the matrix: whole programs that read and change files. It decides nothing about what they answer.

Installed once into .cache on first use; each check runs them in an empty home of its own, without this user's settings.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

CACHE = Path(__file__).resolve().parents[2] / ".cache"
NPM = CACHE / "npm-agents"
PACKAGES = {"@anthropic-ai/claude-code": "2.1.197", "@openai/codex": "0.171.0"}
"""Pinned: an agent's own tools and flags change from week to week, and what a check asserts with them."""
AIDER = CACHE / "aider"
AIDER_VERSION = "0.86.2"
"""It pins the versions of all that it uses, so it lives in an environment of its own."""
PROGRAMS = {
    "claude": NPM / "node_modules" / ".bin" / "claude",
    "codex": NPM / "node_modules" / ".bin" / "codex",
    "aider": AIDER / "bin" / "aider",
}
INSTALLING = 600.0
PATIENCE = 90.0
"""Seconds for an installation, and for one run: an agent that waits for a terminal is a miss."""
STAMPING = Path(__file__).resolve().parent / "stamping.py"
NOTE = "a note of its own\n"


def lack(program: str) -> str:
    """Why this agent cannot be driven here, or ""; the first to ask has it installed."""
    reason = _install_aider() if program == "aider" else _install_npm()
    return reason or ("" if PROGRAMS[program].exists() else f"the agent {program} did not get installed")


@cache
def _install_npm() -> str:
    """Their packages fetch the program itself in a script, so scripts run here, of these two packages alone."""
    if not (npm := shutil.which("npm")) or not shutil.which("node"):
        return "node and npm are not on the PATH"
    wanted = json.dumps({"name": "blazar-matrix-agents", "private": True, "dependencies": PACKAGES}, indent=2)
    stamp = NPM / "package.json"
    if stamp.is_file() and stamp.read_text() == wanted and (NPM / "node_modules" / ".package-lock.json").is_file():
        return ""
    NPM.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)
    return _installed([npm, "install", "--no-audit", "--no-fund", "--loglevel=error"], NPM)


@cache
def _install_aider() -> str:
    stamp = AIDER / ".stamp"
    if stamp.is_file() and stamp.read_text() == AIDER_VERSION:
        return ""
    CACHE.mkdir(exist_ok=True)
    python = str(AIDER / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", f"aider-chat=={AIDER_VERSION}"]
    reason = _installed([sys.executable, "-m", "venv", str(AIDER)], CACHE) or _installed(install, CACHE)
    if not reason:
        stamp.write_text(AIDER_VERSION)
    return reason


def _installed(words: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALLING
        )
    except subprocess.TimeoutExpired:
        return f"{Path(words[0]).name} install did not end"
    last = (done.stderr.strip().splitlines() or ["no word"])[-1]
    return "" if done.returncode == 0 else f"{Path(words[0]).name} install failed: {last}"


class Ran(NamedTuple):
    """How one run ended and what it wrote."""

    code: int
    said: str
    errors: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What an agent that writes JSON lines wrote."""
        return [json.loads(line) for line in self.said.splitlines() if line.startswith("{")]

    def one(self, kind: str) -> dict[str, Any]:
        """The only event of this type."""
        found = [event for event in self.events if event["type"] == kind]
        assert len(found) == 1, f"{len(found)} events {kind}: {self.said[-400:]} {self.errors[-400:]}"
        return found[0]

    def well(self) -> "Ran":
        """Itself, where the agent ended well."""
        assert self.code == 0, f"exit {self.code}: {self.said[-600:]} {self.errors[-600:]}"
        return self


class Desk:
    """An empty home, and a folder with one note to work in. What an agent kept in the home is there in its next run."""

    def __init__(self, root: Path) -> None:
        self.home, self.work = root / "home", root / "work"
        self.home.mkdir()
        self.work.mkdir()
        (self.work / "notes.txt").write_text(NOTE)

    def run(self, program: str, words: list[str], env: Mapping[str, str], stdin: str = "") -> Ran:
        """Run it to its end. What it started ends with it: an agent's children hold its output open."""
        names = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.home), "TERM": "dumb", **env}
        process = subprocess.Popen(
            [str(PROGRAMS[program]), *words],
            cwd=self.work,
            env=names,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said, errors = process.communicate(stdin, timeout=PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Ran(process.returncode, said, errors)

    @property
    def stamped(self) -> Any:
        """What the stamp was made with (tests/matrix/stamping.py), or nothing."""
        file = self.work / "stamped.json"
        return json.loads(file.read_text()) if file.is_file() else None


@contextmanager
def desk() -> Iterator[Desk]:
    """A desk that is gone afterwards."""
    # An agent's last words may still be on their way to its home while that is removed.
    with tempfile.TemporaryDirectory(prefix="blazar-agent-", ignore_cleanup_errors=True) as folder:
        yield Desk(Path(folder).resolve())
