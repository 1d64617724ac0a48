"""Python environments for engines, made by `venv` and `pip`, in a hidden folder beside the builds. Knows no engine and no index.

They can be moved: an interpreter finds its packages by where it lies itself, and the scripts beside it, which do not, are told of the
place where they will be. So they become visible by one rename, as archives do. pip asks whatever index the person's own
configuration names.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from blazar.adapters.engines.asking import ask
from blazar.adapters.engines.environment import engine_env
from blazar.application.ports.venvs import Made, Say, Venvs
from blazar.domain import teaching
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.harmless import harmless
from blazar.domain.kinds import EngineKind
from blazar.domain.venv_lanes import LOCK, read_pins

TRIAL_SECS = 300.0
"""SGLang imports some thousand modules from a cold disk before it answers; mlx-lm needs two seconds."""
END_SECS = 5.0
LAST_LINES = 3
LONGEST_LINE = 500

_QUIET = ("--disable-pip-version-check", "--no-input", "--no-color")
# Whatever would have it install elsewhere, or have the interpreter find other packages than its own.
_SCRUBBED = (
    "PYTHON",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_ROOT",
    "PIP_REQUIRE_VIRTUALENV",
    "VIRTUAL_ENV",
    "__PYVENV",
)
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+]{0,40}")
_REMARK = re.compile(r"^(WARNING|DEPRECATION|\[notice\])")
_NOISE = re.compile(r"^(Requirement already satisfied|Looking in )")


class PipVenvs(Venvs):
    """Environments under `engines_dir`. `python` is the interpreter that they are made of."""

    def __init__(self, engines_dir: Path, python: str = sys.executable, extra: Mapping[str, str] | None = None) -> None:
        self._dir, self._python, self._extra = engines_dir, python, extra or {}

    def newest(self, requirement: str) -> str:
        report = [*_pip(self._python), "install", *_QUIET, "--quiet", "--dry-run", "--no-deps", "--ignore-installed"]
        found = self._run([*report, "--report", "-", requirement], requirement, lambda _: None, out=True)
        try:
            version = json.loads(found[found.index("{") :])["install"][0]["metadata"]["version"]
        except (ValueError, LookupError, TypeError):
            version = ""
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            raise RegistryTrouble(teaching.pip_unreadable(requirement))
        return version

    def make(
        self, tag: str, requirements: Sequence[str], more: Callable[[tuple[str, ...]], Sequence[str]], say: Say
    ) -> Made:
        self._dir.mkdir(parents=True, exist_ok=True)
        # Swept like an archive that is being unpacked, should this process end before its time.
        folder = Path(tempfile.mkdtemp(prefix=f".staging-{os.getpid()}-", suffix=f"-{tag}", dir=self._dir))
        folder.chmod(0o755)  # as every other build
        done = False
        try:
            made = self._made(folder, tag, requirements, more, say)
            done = True
            return made
        finally:
            if not done:
                shutil.rmtree(folder, ignore_errors=True)

    def _made(
        self,
        folder: Path,
        tag: str,
        requirements: Sequence[str],
        more: Callable[[tuple[str, ...]], Sequence[str]],
        say: Say,
    ) -> Made:
        what = " ".join(requirements)
        say(teaching.venv_making(tag))
        self._run([self._python, "-m", "venv", "--clear", str(folder)], what, say, venv=True)
        python = _interpreter(folder)
        install = [*_pip(str(folder / python)), "install", *_QUIET, "--progress-bar", "off", "--prefer-binary"]
        self._run([*install, *requirements], what, say)
        pins = self._pins(folder / python, what)
        companions = tuple(more(pins))
        if companions:
            # With what is there already as a bound: an addition must not change what it was chosen for.
            lock = _write_lock(folder, pins)
            self._run([*install, "--constraint", str(lock), *companions], " ".join(companions), say)
            pins = self._pins(folder / python, what)
        _write_lock(folder, pins)
        _point(folder, self._dir / tag)
        return Made(str(folder), str(python), pins)

    def try_out(self, made: Made, kind: EngineKind, words: Sequence[str], knows: str) -> None:
        python = str(Path(made.folder, made.python))
        try:
            said = ask((python, *words, "--help"), self._env(), TRIAL_SECS)
        except subprocess.TimeoutExpired:
            raise Malformed(teaching.venv_did_not_run(kind, teaching.no_answer_within(TRIAL_SECS)), "engine") from None
        except OSError as error:
            raise Malformed(teaching.venv_did_not_run(kind, error.strerror or str(error)), "engine") from error
        if said.code != 0 or not re.search(rf"(?<![\w-]){re.escape(knows)}(?![\w-])", said.text):
            why = _last(said.text.splitlines()) or teaching.ended_with(said.code)
            raise Malformed(teaching.venv_did_not_run(kind, why), "engine")

    def drop(self, made: Made) -> None:
        shutil.rmtree(made.folder, ignore_errors=True)

    def _pins(self, python: Path, what: str) -> tuple[str, ...]:
        return read_pins(self._run([*_pip(str(python)), "freeze", *_QUIET], what, lambda _: None, out=True))

    def _env(self) -> dict[str, str]:
        return engine_env(_SCRUBBED, self._extra.items()) | {"PYTHONUNBUFFERED": "1"}

    def _run(self, words: Sequence[str], what: str, say: Say, *, out: bool = False, venv: bool = False) -> str:
        """Its output line by line to `say`; what it printed on stdout alone where `out`. Ctrl-C ends this one process."""
        heard: list[str] = []
        last: deque[str] = deque(maxlen=50)
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            try:
                process = subprocess.Popen(
                    words,
                    env=self._env(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors if out else subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise RegistryTrouble(teaching.pip_failed(what, error.strerror or str(error))) from error
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    if out:
                        heard.append(line)
                    elif text := _told(line):
                        last.append(text)
                        say(text)
                code = process.wait()
            finally:
                _end(process)
            errors.seek(0)
            last.extend(text for line in errors if (text := _told(line)))
        if code != 0:
            why = _last(last) or teaching.ended_with(code)
            raise RegistryTrouble(teaching.venv_failed(why) if venv else teaching.pip_failed(what, why))
        return "".join(heard)


def _end(process: subprocess.Popen[str]) -> None:
    """By its pid alone; asked to end, pip takes along what it has started to build a package."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _pip(python: str) -> list[str]:
    return [python, "-m", "pip"]


def _interpreter(folder: Path) -> Path:
    """Within the environment. Windows keeps its programs in another folder."""
    return Path("Scripts", "python.exe") if (folder / "Scripts").is_dir() else Path("bin", "python")


def _write_lock(folder: Path, pins: Sequence[str]) -> Path:
    lock = folder / LOCK
    lock.write_text("".join(f"{pin}\n" for pin in pins), encoding="utf-8")
    return lock


def _point(folder: Path, final: Path) -> None:
    """Have scripts that name their interpreter name the one that will be there. Links and programs are not touched."""
    old, new = str(folder).encode(), str(final.absolute()).encode()
    for path in (folder / "bin").glob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if data.startswith(b"#!") and old in data[:1024]:
            path.write_bytes(data.replace(old, new))


def _told(line: str) -> str:
    """A line for people; "" for what tells nothing."""
    text = line.strip()
    return "" if _NOISE.match(text) else harmless(text)[:LONGEST_LINE]


def _last(lines: Sequence[str] | deque[str]) -> str:
    """The end of what a program said, in one line: its errors if it calls something so."""
    told = [text for line in lines if (text := harmless(line.strip())) and not _REMARK.match(text)]
    errors = [text for text in told if text.startswith("ERROR")]
    return " / ".join(text[:LONGEST_LINE] for text in (errors or told)[-LAST_LINES:])
