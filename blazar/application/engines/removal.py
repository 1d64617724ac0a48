"""The one way in which a build goes, whoever removes it: aside, row, discard (contract). Never under a running child."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from blazar.application.ports.children import Children
from blazar.application.ports.engines import EngineBuilds, EngineCatalog, Judge
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.versions import newest_first

InUse = Callable[[str], Sequence[str]]
"""Which models a build serves right now: the supervisor's views, or what a running daemon answers."""


class Unused(NamedTuple):
    """Raises `Conflict` while a build is in use: by a daemon's child, or by one that a dead daemon left (D6)."""

    children: Children
    in_use: InUse

    def __call__(self, tag: str) -> None:
        models = self.in_use(tag)
        if models:
            raise Conflict(teaching.engine_in_use(tag, models))
        for orphan in self.children.orphans():
            if orphan.tag == tag:
                raise Conflict(teaching.engine_orphaned(tag, orphan.pid))


def remove_engine_row_and_tree(
    engines: EngineCatalog, builds: EngineBuilds, unused: Unused, tag: str, judge: Judge
) -> None:
    """The folder comes back if the row stays. Raises `Conflict` while it is in use, `EngineNotFound` without a row.

    `judge` raises why it must stay, by the rows as they are at the very end: other processes remove and choose builds, too.
    """
    if engines.find_engine(tag) is None:
        raise EngineNotFound(tag, newest_first(row.tag for row in engines.list_engines()))
    unused(tag)
    aside = builds.set_aside(tag)
    with ExitStack() as undo:
        if aside:  # whatever goes wrong, a row must never point at a folder that is gone
            undo.callback(builds.restore, tag)
        # A daemon may have started a child since; from here on it can start no other, for the program is gone.
        unused(tag)
        with suppress(EngineNotFound):  # another process was faster, and what stands aside is nobody's
            engines.remove_engine(tag, judge)
        undo.pop_all()
    if aside:
        builds.discard(tag)
