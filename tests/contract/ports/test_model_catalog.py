"""What every model catalog must do: the one in memory, the one on SQLite, and the one that verbs read it by."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blazar.adapters.store.catalog import SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.adapters.store.swift import SwiftModelCatalog
from blazar.application.ports.catalog import ModelCatalog
from blazar.domain.errors import Conflict
from tests.fakes.catalog import MemoryModelCatalog, a_model


def _memory(_folder: Path) -> Iterator[ModelCatalog]:
    yield MemoryModelCatalog()


def _sqlite(folder: Path) -> Iterator[ModelCatalog]:
    database = Database(folder / "blazar.db")
    yield SqliteModelCatalog(database)
    database.close()


def _swift(folder: Path) -> Iterator[ModelCatalog]:
    database = Database(folder / "blazar.db")
    yield SwiftModelCatalog(database.path, lambda: database)
    database.close()


@pytest.fixture(params=[_memory, _sqlite, _swift], ids=["memory", "sqlite", "swift"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ModelCatalog]:
    build: Callable[[Path], Iterator[ModelCatalog]] = request.param
    yield from build(tmp_path)


def test_an_empty_catalog_answers(catalog: ModelCatalog) -> None:
    """No rows is no error."""
    assert catalog.list_models() == []
    assert catalog.find_model("tiny") is None
    assert catalog.remove_model("tiny") is False


def test_a_model_comes_back_as_it_went_in(catalog: ModelCatalog) -> None:
    """Every field, shards in order, None and zero kept apart."""
    model = a_model(
        "org/big:q4",
        files=("/m/big-00001-of-00002.gguf", "/m/big-00002-of-00002.gguf"),
        sizes=(2**40, 3),
        pooling=0,
        owned=False,
        template=False,
        parameters=671_000_000_000,
        imported_at=1_234.5,
    )
    catalog.add_model(model)
    catalog.add_model(a_model("plain"))
    assert catalog.find_model("org/big:q4") == model
    assert catalog.find_model("plain") == a_model("plain")


def test_rows_are_listed_by_name(catalog: ModelCatalog) -> None:
    """Whatever the order of insertion."""
    for name in ("b", "a", "c"):
        catalog.add_model(a_model(name))
    assert [model.name for model in catalog.list_models()] == ["a", "b", "c"]


def test_a_name_belongs_to_one_model(catalog: ModelCatalog) -> None:
    """The second is refused with a sentence and changes nothing; names are compared letter by letter."""
    catalog.add_model(a_model("tiny"))
    with pytest.raises(Conflict, match="'tiny' exists already"):
        catalog.add_model(a_model("tiny", quant="Q8_0"))
    catalog.add_model(a_model("TINY", quant="Q8_0"))
    assert catalog.find_model("tiny") == a_model("tiny")


def test_removing_says_whether_there_was_a_row(catalog: ModelCatalog) -> None:
    """Once yes, then no; the name is free again."""
    catalog.add_model(a_model())
    assert catalog.remove_model("tiny") is True
    assert catalog.remove_model("tiny") is False
    catalog.add_model(a_model())


def test_the_revision_changes_with_every_change_and_only_then(catalog: ModelCatalog) -> None:
    """Adding and removing move it; reading and failing do not."""
    before = catalog.revision()
    catalog.add_model(a_model())
    added = catalog.revision()
    assert added != before
    catalog.list_models()
    catalog.find_model("tiny")
    with pytest.raises(Conflict):
        catalog.add_model(a_model())
    catalog.remove_model("other")
    assert catalog.revision() == added
    catalog.remove_model("tiny")
    assert catalog.revision() not in (before, added)
