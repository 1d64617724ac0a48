"""Which row a caller means. Every use case that is given a model's name comes through here."""

from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BadName, NotFound
from blazar.domain.names import LONGEST_NAME
from blazar.domain.records import Model
from blazar.domain.references import LONGEST
from blazar.domain.row_names import not_one, only_one, row_named


def only_model(catalog: ModelCatalog, name: str) -> Model:
    """The same for what shall be lost: raises, too, where a reference means several rows, be they one model."""
    model = get_model(catalog, name)
    return model if model.name == name else only_one(name, catalog.list_models())


def get_model(catalog: ModelCatalog, name: str, weights: WeightFiles | None = None) -> Model:
    """The model that `name` means, or `ModelNotFound` with near matches. With `weights`, its files must be there too."""
    # Before anything compares it: looking for near matches of a megabyte takes minutes.
    if len(name) > LONGEST:
        raise BadName(name)
    model = catalog.find_model(name) or _find_by_spelling(catalog, name)
    if weights is not None and (gone := weights.missing(model.files)):
        raise NotFound(teaching.model_file_gone(model.name, gone))
    return model


def _find_by_spelling(catalog: ModelCatalog, name: str) -> Model:
    rows = catalog.list_models()
    model = row_named(name, rows)
    if model is None and len(name) > LONGEST_NAME:
        raise BadName(name)
    if model is None:
        raise not_one(name, rows)
    return model
