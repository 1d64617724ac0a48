"""What a build says about itself: its flags, its version, whether it runs here at all. Asks each binary once.

Runs the program with `--help` or `--version` and nothing else; never loads a model.
"""

import re
import subprocess
import threading
from collections.abc import Mapping

from blazar.adapters.engines.asking import Process, Said, ask
from blazar.adapters.engines.drivers import SPECS
from blazar.adapters.engines.environment import engine_env
from blazar.adapters.engines.manifests import Build, ManifestStore, build_of
from blazar.application.ports.drivers import FlagProbe
from blazar.application.ports.engines import EngineTrial
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind
from blazar.domain.manifest import Manifest, parse_help
from blazar.domain.records import Engine

ANSWER_SECS = 30.0
"""A cold disk and a CUDA start-up need a few; more is a hang."""
LONGEST_SAID = 500
"""Characters of a version, or of a program's last line, that are repeated."""

Words = tuple[str, ...]


class HelpProbe(FlagProbe, EngineTrial):
    """Runs builds to hear their flags and versions, in the environment that their children will have.

    `scrubbed` are prefixes of variables that they must not inherit, `extra` is what configuration adds (`engine_env`): a
    build that needs a library path to run at all would otherwise be refused, or asked in vain. Without a `store` every
    process asks anew.
    """

    def __init__(
        self, scrubbed: Words = (), extra: Mapping[str, str] | None = None, store: ManifestStore | None = None
    ) -> None:
        # Not copied: configuration may change it.
        self._scrubbed, self._extra, self._store = scrubbed, extra if extra is not None else {}, store
        self._known: dict[Build, Manifest] = {}
        self._asking: dict[Build, threading.Lock] = {}
        self._running: set[Process] = set()

    def close(self) -> None:
        """End what is still being asked: a build that hangs over its help would outlive us."""
        for process in tuple(self._running):
            process.kill()

    def manifest(self, engine: Engine) -> Manifest:
        build = build_of(engine)
        if build is None:
            return Manifest()
        known = self._known  # what is asked before a `forget` and answered after it goes with the old ones
        # Two who want to know run it once; a build that hangs holds up nobody but those who wait for it.
        with self._asking.setdefault(build, threading.Lock()):
            if build not in known:
                known[build] = self._stored(engine, build)
        return known[build]

    def forget(self) -> None:
        """The environment is another one: what a build says in it may be, too."""
        self._known = {}

    def _stored(self, engine: Engine, build: Build) -> Manifest:
        """From the store, else from the build itself; what could not be heard is not kept for the next start."""
        if self._store is None:
            return self._heard(engine)[0]
        try:
            digest = self._store.digest(build, self._extra)
        except OSError:
            return Manifest()  # it went between two looks
        kept = self._store.load(digest)
        if kept is not None:
            return kept
        heard, whole = self._heard(engine)
        if heard and whole:
            self._store.save(digest, heard)
        return heard

    def _heard(self, engine: Engine) -> tuple[Manifest, bool]:
        """What it says, and whether it came to a good end over it."""
        try:
            done = self._run((*engine.words, "--help"))
        except (OSError, subprocess.TimeoutExpired):
            return Manifest(), False
        return parse_help(done.text), done.code == 0 and done.whole

    def try_out(self, words: Words, kind: EngineKind = EngineKind.LLAMACPP) -> str:
        try:
            done = self._run((*words, "--version"))
        except subprocess.TimeoutExpired:
            raise Malformed(
                teaching.engine_did_not_run(words[0], teaching.no_answer_within(ANSWER_SECS)), "engine"
            ) from None
        except OSError as error:
            raise Malformed(teaching.engine_did_not_run(words[0], error.strerror or str(error)), "engine") from error
        if done.code != 0:
            said = [line.strip() for line in done.text.splitlines() if line.strip()]
            why = said[-1][:LONGEST_SAID] if said else teaching.ended_with(done.code)
            raise Malformed(teaching.engine_did_not_run(words[0], why), "engine")
        # A line of its own, as the server prints it: `ls --version` names a version, too.
        match = re.search(SPECS[kind].versioned, done.text, re.MULTILINE)
        if match is None:
            llama = kind is EngineKind.LLAMACPP
            why = teaching.engine_is_none(words[0]) if llama else teaching.engine_is_no(words[0], SPECS[kind].server)
            raise Malformed(why, "engine")
        return match[1].strip()[:LONGEST_SAID]

    def _run(self, words: Words) -> Said:
        process: Process | None = None

        def started(it: Process) -> None:
            nonlocal process
            process = it
            self._running.add(it)

        try:
            # On both streams: --version speaks on stderr.
            return ask(words, engine_env(self._scrubbed, self._extra.items()), ANSWER_SECS, started=started)
        finally:
            if process is not None:
                self._running.discard(process)
