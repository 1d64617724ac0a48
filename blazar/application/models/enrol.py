"""Putting linked files into the catalog so that a lost race leaves neither a row without files nor files without a row."""

from collections.abc import Callable
from contextlib import ExitStack, suppress

from blazar.application.models.arrivals import KEY
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import Conflict
from blazar.domain.names import twin
from blazar.domain.records import Model


def spelled(catalog: ModelCatalog, name: str) -> str:
    """As the catalog has it already, if in other letters alone: the links of both would be one file where case is ignored."""
    return twin(name, {row.name for row in catalog.list_models()}) or name


def enrol(catalog: ModelCatalog, weights: WeightFiles, model: Model) -> Model:
    """Add the row, or take its links away again where the name was taken in between."""
    with ExitStack() as undo:
        undo.callback(_withdraw, catalog, weights, model)
        if (taken := spelled(catalog, model.name)) != model.name:
            raise Conflict(teaching.name_taken(taken))
        try:
            catalog.add_model(model)
        except Conflict:
            winner = catalog.find_model(model.name)
            if winner is None or winner.digest != model.digest or not weights.same(winner.files, model.files):
                raise
            return winner  # another process imported the same file at the same time
        undo.pop_all()
    return model


def link_beside(
    weights: WeightFiles, name: str, digest: str, files: tuple[str, ...], names: tuple[str, ...]
) -> tuple[tuple[str, ...], bool]:
    """As `weights.link`, for a name that has links of another model: those stay until its row has changed."""
    with suppress(Conflict):  # those other links are called so
        return weights.link(f"{name}@{digest.rpartition(':')[2][:KEY]}", files, names)
    return weights.link(name, files, names)


def take_place(
    catalog: ModelCatalog, weights: WeightFiles, present: Model, model: Model, lay: Callable[[Model], None]
) -> Model:
    """Put the row in the place of that one, then `lay` words over it; where that fails in any way, all is as before.

    What only the row before had is not deleted here.
    """
    kept = {*present.files, present.draft, ""}
    with ExitStack() as undo:
        if model.owned:
            links = tuple(file for file in (*model.files, model.draft) if file not in kept)
            undo.callback(weights.unlink, links, model.folder)
        catalog.replace_model(model)
        undo.callback(catalog.replace_model, present)
        lay(model)
        undo.pop_all()
    return model


def _withdraw(catalog: ModelCatalog, weights: WeightFiles, model: Model) -> None:
    """Unlink what was linked, unless a row under that name is there and names the very same links."""
    winner = catalog.find_model(model.name)
    if model.owned and (winner is None or not set(winner.files) & set(model.files)):
        weights.unlink((*model.files, *([model.draft] if model.draft else [])), model.folder)
