"""Which architectures installed mainstream builds know, asked once a build: routing and retirement of forks go by it."""

import re
from dataclasses import dataclass, field, replace
from functools import partial

from blazar.application.ports.capability import ArchitectureSource
from blazar.application.ports.engines import EngineCatalog
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine

_RELEASE = re.compile(r"b\d+")
_ASKED = frozenset({Provenance.ARCHIVE, Provenance.BUILT})
"""Builds of a published source. What a wheel or a person's own binary was made of, nobody knows."""


@dataclass(slots=True)
class MineArchitectures:
    """A release that could not be asked is asked again by the next process, not by every look."""

    engines: EngineCatalog
    source: ArchitectureSource
    _asked: set[str] = field(default_factory=set, init=False)

    def __call__(self) -> list[str]:
        """Tags of the builds that are known better now."""
        found = []
        for row in self.engines.list_engines():
            release = release_of(row)
            if row.architectures or not release or row.tag in self._asked:
                continue
            self._asked.add(row.tag)
            known = self.source.architectures(release)
            if known:
                self.engines.amend_engine(row.tag, partial(_knowing, known))
                found.append(row.tag)
        return found


def _knowing(known: tuple[str, ...], row: Engine) -> Engine:
    return replace(row, architectures=known)


def release_of(row: Engine) -> str:
    """The upstream release that a build is of, "" where there is none to ask for."""
    if row.kind is not EngineKind.LLAMACPP or row.provenance not in _ASKED:
        return ""
    match = _RELEASE.match(row.release or row.tag)
    return match[0] if match else ""
