"""Putting linked files into the catalog so that a lost race leaves neither a row without files nor files without a row."""

from contextlib import ExitStack

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


def _withdraw(catalog: ModelCatalog, weights: WeightFiles, model: Model) -> None:
    """Unlink what was linked, unless a row under that name is there and names the very same links."""
    winner = catalog.find_model(model.name)
    if model.owned and (winner is None or not set(winner.files) & set(model.files)):
        weights.unlink((*model.files, *([model.draft] if model.draft else [])), model.folder)
