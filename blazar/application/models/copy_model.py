"""A second name for a model, at the cost of a directory entry."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from blazar.application.models.enrol import enrol, link_beside, spelled, take_place
from blazar.application.models.find import get_model
from blazar.application.models.import_model import folder_of, moved
from blazar.application.models.name_turns import Turns, unclaimed
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.draft_pairs import link_name, told_by
from blazar.domain.errors import BlazarError, Conflict
from blazar.domain.names import check_name
from blazar.domain.records import Model

Lay: TypeAlias = Callable[[Model], None]


@dataclass(frozen=True, slots=True)
class CopyModel:
    """Hardlink the files under the new name; a model that is only referred to gets a second row (D36).

    What holds for the model goes with it: what was laid over it when it was created, and what a person set for it.
    """

    catalog: ModelCatalog
    weights: WeightFiles
    clock: Clock
    overlays: Overlays | None = None
    turns: Turns = unclaimed

    def __call__(self, source: str, target: str, lay: Lay | None = None) -> Model:
        """`lay` has the words laid over the new row, in the place of those of the source. Where it fails, no copy is left."""
        check_name(target)
        with self.turns(get_model(self.catalog, source).name, target):  # its weights and its words are of one version
            return self._copied(source, target, lay)

    def over(self, source: str, present: Model, lay: Lay | None = None) -> Model:
        """In the place of that model, whose row and words are as before where anything fails. The turns are the caller's."""
        model = get_model(self.catalog, source, self.weights)
        files, owned = model.files, False
        if model.owned:
            files, owned = link_beside(self.weights, present.name, model.digest, model.files, _names(model))
        alias = self._alias(model, present.name, files, owned=owned)
        return take_place(self.catalog, self.weights, present, alias, lay or self._carrying(model.name))

    def _copied(self, source: str, target: str, lay: Lay | None) -> Model:
        model = get_model(self.catalog, source, self.weights)
        if self.catalog.find_model(taken := spelled(self.catalog, target)) is not None:
            raise Conflict(teaching.copy_target_taken(taken))
        files, owned = model.files, False
        if model.owned:
            files, owned = self.weights.link(target, model.files, _names(model))
        alias = self._alias(model, target, files, owned=owned)
        try:
            row = enrol(self.catalog, self.weights, alias)
        except Conflict as lost:  # to a process that took the name in between
            raise Conflict(teaching.copy_target_taken(target)) from lost
        with ExitStack() as undo:  # without its words it would be another model than the one that was to be copied
            undo.callback(self._undo, row)
            (lay or self._carrying(model.name))(row)
            undo.pop_all()
        return row

    def _carrying(self, source: str) -> Lay:
        def carry(row: Model) -> None:
            if self.overlays is not None:
                self.overlays.carry(source, row.name)

        return carry

    def _alias(self, model: Model, target: str, files: tuple[str, ...], *, owned: bool) -> Model:
        return replace(
            model,
            name=target,
            files=files,
            owned=owned,
            imported_at=self.clock.wall(),
            folder=folder_of(files, _names(model)) if owned else model.folder,
            components=moved(model.components, model.files, files),
            draft=self._draft(model, target) if owned else model.draft,
        )

    def _undo(self, row: Model) -> None:
        self.catalog.remove_model(row.name)
        if row.owned:
            self.weights.unlink((*row.files, *filter(None, (row.draft,))), row.folder)

    def _draft(self, model: Model, target: str) -> str:
        """A link of its own; a draft that cannot be linked is no reason to have no copy."""
        with suppress(BlazarError):
            if model.draft:
                return self.weights.link(link_name(target, *told_by(model.draft)), (model.draft,))[0][0]
        return ""


def _names(model: Model) -> tuple[str, ...]:
    """What its files are called below its folder."""
    return tuple(file.removeprefix(model.folder).lstrip("/\\") for file in model.files) if model.folder else ()
