"""Bring an engine up to what its channel has: the newer build beside the old one, active once the gate let it through."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from blazar.application.engines.install_release import Installed, InstallRelease, Told
from blazar.application.engines.pick_release import Picked
from blazar.application.engines.use_engine import UseEngine
from blazar.domain import teaching
from blazar.domain.errors import Conflict
from blazar.domain.gate import GateVerdict
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.releases import STABLE, is_newer

Gate = Callable[[Engine, Engine], GateVerdict]
"""Whether the first may take over from the second."""
NEVER_COMPARED = frozenset({Provenance.EMBEDDED})
"""A stand-in (D20): whatever replaces it is better."""


class Outcome(StrEnum):
    """How an update ended."""

    UPDATED = "updated"
    CURRENT = "up to date"
    HELD_BACK = "held back"


class Update(NamedTuple):
    """`now` serves, `before` did (None: nothing of the kind); `fresh` is the build that came, `gate` what the gate said."""

    outcome: Outcome
    now: Engine
    before: Engine | None
    fresh: Engine | None = None
    gate: str = ""


@dataclass(frozen=True, slots=True)
class UpdateEngine:
    """`gate` None: nothing is compared."""

    install: InstallRelease
    use: UseEngine
    gate: Gate | None = None

    def __call__(self, kind: EngineKind, told: Told) -> Update:
        """Raises `Conflict` for a pinned build and a broken one, and what picking, downloading and installing raise; the old one serves on then."""
        engines = self.install.install.engines
        active = next((row for row in engines.list_engines() if row.kind is kind and row.active), None)
        if active is not None and active.pinned:
            raise Conflict(teaching.engine_pinned_stays(active.tag))
        picked = self.install.pick(kind)
        if active is not None and not self.wanted(picked, active):
            if flaw := self.use.builds.flaw(active):  # what serves nobody is not up to date, whatever it is called
                raise Conflict(teaching.engine_broken(active.tag, kind, flaw))
            return Update(Outcome.CURRENT, active, active)
        came = self.install.take(picked, told)
        return self._take_over(came, active)

    def wanted(self, picked: Picked, active: Engine) -> bool:
        """Whether a release is news to the build that serves.

        By content first: a release that repeats the same file is none (case H11). The stable channel goes back, too.
        """
        if active.digest and active.digest == picked.choice.asset.sha256:
            return False
        if active.tag == picked.tag:
            return False
        release = active.release or active.tag
        if active.provenance in NEVER_COMPARED or self.install.pick.sources.channel == STABLE:
            return True
        return is_newer(picked.release.tag, release) or release == picked.release.tag

    def _take_over(self, came: Installed, active: Engine | None) -> Update:
        fresh = came.engine
        if active is None or active.tag == fresh.tag:
            return Update(Outcome.UPDATED, fresh, None, fresh)
        said = ""
        if self.gate is not None and active.provenance not in NEVER_COMPARED:
            verdict = self.gate(fresh, active)
            said = verdict.sentence
            if not verdict.passed:
                return Update(Outcome.HELD_BACK, active, active, fresh, said)
        return Update(Outcome.UPDATED, self.use(fresh.tag), active, fresh, said)
