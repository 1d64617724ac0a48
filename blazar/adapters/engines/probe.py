"""What a build says about itself: its flags, its version, whether it runs here at all. Asks each binary once.

Runs the program with `--help` or `--version` and nothing else; never loads a model.
"""

import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from blazar.adapters.engines.environment import engine_env
from blazar.application.ports.drivers import FlagProbe
from blazar.application.ports.engines import EngineTrial
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.records import Engine

ANSWER_SECS = 30.0
"""A cold disk and a CUDA start-up need a few; more is a hang."""

_INDENT = 8  # deeper lines describe the flag above
# Underscores are part of a flag: dropping them once lost a whole family of sd-server's (contract).
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*")
_NEXT = re.compile(r"\s*,\s*(?=--?[A-Za-z])")
_GONE = "argument has been removed"  # llama-server lists retired flags only to refuse them
# A line of its own, as llama-server and the embedded one print it: `ls --version` names a version, too.
_VERSION = re.compile(r"^version:[ \t]*(\S.*)", re.MULTILINE)

Words = tuple[str, ...]


def flags_in(text: str) -> frozenset[str]:
    """Every spelling that a `--help` text offers, aliases and negatives included."""
    found: set[str] = set()
    for line in text.splitlines():
        words = line.lstrip()
        if len(line) - len(words) > _INDENT or _GONE in line:
            continue
        position = 0
        while (match := _FLAG.match(words, position)) is not None:
            found.add(match[0])
            more = _NEXT.match(words, match.end())
            if more is None:
                break
            position = more.end()
    return frozenset(found)


class HelpProbe(FlagProbe, EngineTrial):
    """Runs builds to hear their flags and versions, in the environment that their children will have.

    `scrubbed` are prefixes of variables that they must not inherit, `extra` is what configuration adds (`engine_env`): a
    build that needs a library path to run at all would otherwise be refused, or asked in vain.
    """

    def __init__(self, scrubbed: Words = (), extra: Mapping[str, str] | None = None) -> None:
        self._scrubbed, self._extra = scrubbed, dict(extra or {})
        self._known: dict[tuple[Words, int, int], frozenset[str]] = {}

    def known_flags(self, engine: Engine) -> Collection[str]:
        try:
            facts = Path(engine.server_path).stat()
        except OSError:
            return frozenset()
        key = (engine.words, facts.st_size, facts.st_mtime_ns)
        if key not in self._known:
            self._known[key] = flags_in(self._output((*engine.words, "--help")))
        return self._known[key]

    def try_out(self, words: Words) -> str:
        try:
            done = self._run((*words, "--version"))
        except subprocess.TimeoutExpired:
            raise Malformed(
                teaching.engine_did_not_run(words[0], teaching.no_answer_within(ANSWER_SECS)), "engine"
            ) from None
        except OSError as error:
            raise Malformed(teaching.engine_did_not_run(words[0], error.strerror or str(error)), "engine") from error
        if done.returncode != 0:
            said = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            why = said[-1] if said else teaching.ended_with(done.returncode)
            raise Malformed(teaching.engine_did_not_run(words[0], why), "engine")
        match = _VERSION.search(done.stdout)
        if match is None:
            raise Malformed(teaching.engine_is_none(words[0]), "engine")
        return match[1].strip()

    def _output(self, words: Words) -> str:
        try:
            return self._run(words).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""

    def _run(self, words: Words) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=engine_env(self._scrubbed, self._extra.items()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # --version speaks on stderr
            timeout=ANSWER_SECS,
            encoding="utf-8",
            errors="replace",
        )
