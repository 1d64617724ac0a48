"""Which builds ended over which architecture, and where such a model goes instead. Starts and stops nothing.

Kept in memory: what a build lists as its architectures is written down elsewhere, and the next daemon may try each build once more.
"""

from collections.abc import Sequence
from typing import NamedTuple

from blazar.domain.architectures import classify_unknown_arch, same_architecture
from blazar.domain.errors import ArchitectureUnserved
from blazar.domain.records import Engine, Model

LAST_WORDS = 200
"""Lines of a dead engine's log that are searched: SGLang's parent prints the tracebacks of its workers after the one that says it."""


class Detour(NamedTuple):
    """After a death over an unknown architecture.

    `to` is the build that advertises it, None where none does; `error` is what is said where that way is not taken.
    """

    to: Engine | None
    error: ArchitectureUnserved


class Lacks:
    """What the daemon has seen. A build is the same one while its tag and the time of its installation are."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, float, str], str] = {}

    def note(self, engine: Engine, model: Model, said: Sequence[str]) -> bool:
        """Read a dead child's last lines; whether it died because its build does not know the model's architecture."""
        arch = classify_unknown_arch("\n".join(said))
        if not arch or not same_architecture(arch, model.arch):
            return False
        self._seen[engine.tag, engine.installed_at, _subject_of(model)] = arch
        return True

    def tags(self, model: Model, engines: Sequence[Engine]) -> frozenset[str]:
        """The builds among these that ended over its architecture."""
        what = _subject_of(model)
        return frozenset(engine.tag for engine in engines if (engine.tag, engine.installed_at, what) in self._seen)

    def named(self, model: Model) -> str:
        """How engines named the architecture of a model whose files do not say it; "" where none did."""
        what = _subject_of(model)
        return next((arch for (_, _, subject), arch in self._seen.items() if subject == what), "")


def _subject_of(model: Model) -> str:
    # A space is no part of a model's name: a name never looks like an architecture of that spelling.
    return model.arch or f"model {model.name}"
