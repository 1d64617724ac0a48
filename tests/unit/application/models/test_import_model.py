"""Taking files into the catalog."""

from pathlib import Path

import pytest

from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.adapters.store.catalog import SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.application.models.import_model import ImportModel
from blazar.domain.errors import BadModelFile, BadName, Conflict, NotFound
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog
from tests.fakes.clock import FakeClock
from tests.fakes.weights import MemoryWeightFiles, some_facts
from tests.support.gguf_files import save_shards, tiny

FILE = "/in/SmolLM2-135M.Q4_1.gguf"
OTHER = "/in/other.gguf"


@pytest.fixture
def weights() -> MemoryWeightFiles:
    return MemoryWeightFiles({FILE: some_facts(FILE), OTHER: some_facts(OTHER, digest="cd" * 32)})


@pytest.fixture
def catalog() -> MemoryModelCatalog:
    return MemoryModelCatalog()


@pytest.fixture
def import_model(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> ImportModel:
    return ImportModel(catalog, weights, FakeClock())


def test_an_import_is_a_link_and_a_row(import_model: ImportModel, catalog: MemoryModelCatalog) -> None:
    """The name comes from the file, the time from the clock."""
    model, already = import_model(FILE)
    assert not already
    assert model.name == "smollm2-135m.q4_1"
    assert (model.files, model.owned) == (("/models/smollm2-135m.q4_1.gguf",), True)
    assert model.imported_at == FakeClock().wall()
    assert catalog.list_models() == [model]


def test_a_name_may_be_given(import_model: ImportModel) -> None:
    """Kept letter by letter."""
    assert import_model(FILE, "Org/Smol:q4").model.name == "Org/Smol:q4"


@pytest.mark.parametrize("name", ["a#1", "a@vision", "", "a b", "../up", "a/b/c/d/e", "x" * 201])
def test_a_wrong_name_is_refused_before_anything_happens(
    import_model: ImportModel, weights: MemoryWeightFiles, name: str
) -> None:
    """No header is read, nothing is linked."""
    before = dict(weights.content)
    with pytest.raises(BadName):
        import_model("/in/not-even-there.gguf", name)
    assert weights.content == before


def test_a_file_that_is_no_model_is_refused(import_model: ImportModel, weights: MemoryWeightFiles) -> None:
    """As the reader says it."""
    weights.broken["/in/broken.gguf"] = "it is empty"
    with pytest.raises(BadModelFile):
        import_model("/in/broken.gguf")
    with pytest.raises(NotFound):
        import_model("/in/gone.gguf")


def test_importing_twice_is_importing_once(import_model: ImportModel, catalog: MemoryModelCatalog) -> None:
    """The same file under the same name is a no-op that answers the row, and says so."""
    first = import_model(FILE)
    revision = catalog.revision()
    assert import_model(FILE) == (first.model, True)
    assert catalog.revision() == revision


def test_an_equal_fingerprint_is_no_proof(
    import_model: ImportModel, weights: MemoryWeightFiles, catalog: MemoryModelCatalog
) -> None:
    """Another file with the same header and the same ends must not be taken for the one that is there."""
    first = import_model(FILE, "m")
    weights.facts["/in/new.gguf"] = some_facts("/in/new.gguf")
    weights.content["/in/new.gguf"] = "other bytes in the middle"
    with pytest.raises(Conflict, match="named 'm' exists already"):
        import_model("/in/new.gguf", "m")
    weights.content["/in/new.gguf"] = weights.content[FILE]
    assert import_model("/in/new.gguf", "m") == (first.model, True)
    assert catalog.list_models() == [first.model]


def test_a_name_that_another_model_has_is_refused(import_model: ImportModel, catalog: MemoryModelCatalog) -> None:
    """And that model stays as it was."""
    first = import_model(FILE, "m").model
    with pytest.raises(Conflict, match="named 'm' exists already"):
        import_model(OTHER, "m")
    assert catalog.list_models() == [first]


def test_a_model_whose_file_went_away_is_imported_afresh(
    import_model: ImportModel, weights: MemoryWeightFiles, catalog: MemoryModelCatalog
) -> None:
    """The broken row is replaced, where a no-op would leave it broken."""
    weights.linkable = False
    import_model(FILE, "m")
    moved = "/moved/file.gguf"
    weights.facts[moved] = some_facts(moved)
    weights.content[moved] = moved
    del weights.content[FILE]
    assert import_model(moved, "m").model.files == (moved,)
    assert len(catalog.list_models()) == 1


def test_without_hardlinks_the_row_refers(import_model: ImportModel, weights: MemoryWeightFiles) -> None:
    """D36."""
    weights.linkable = False
    model = import_model(FILE).model
    assert (model.files, model.owned) == ((FILE,), False)


class _Racing(MemoryModelCatalog):
    """Another process adds `rival` between our look and our insert."""

    def __init__(self, rival: Model) -> None:
        super().__init__()
        self.rival: Model | None = rival

    def add_model(self, model: Model) -> None:
        rival, self.rival = self.rival, None
        if rival is not None:
            super().add_model(rival)
        super().add_model(model)


def _row(weights: MemoryWeightFiles, path: str) -> Model:
    return ImportModel(MemoryModelCatalog(), MemoryWeightFiles(weights.facts), FakeClock())(path, "m").model


def test_a_race_for_one_model_has_one_row_and_keeps_the_shared_link(weights: MemoryWeightFiles) -> None:
    """Two imports of the same file under the same name: both answer the one row, whose link stays."""
    rival = _row(weights, FILE)
    catalog = _Racing(rival)
    assert ImportModel(catalog, weights, FakeClock())(FILE, "m") == (rival, True)
    assert weights.missing(rival.files) is None


def test_a_race_that_is_lost_to_another_model_leaves_no_link(weights: MemoryWeightFiles) -> None:
    """The winner is a reference to another file; our link goes again."""
    weights.linkable = False
    refers = MemoryModelCatalog()
    rival = ImportModel(refers, weights, FakeClock())(OTHER, "m").model
    weights.linkable = True
    with pytest.raises(Conflict):
        ImportModel(_Racing(rival), weights, FakeClock())(FILE, "m")
    assert weights.missing(("/models/m.gguf",)) is not None


def test_a_catalog_that_fails_leaves_no_link(weights: MemoryWeightFiles) -> None:
    """No files without a row."""

    class Full(MemoryModelCatalog):
        def add_model(self, model: Model) -> None:
            raise OSError

    with pytest.raises(OSError):
        ImportModel(Full(), weights, FakeClock())(FILE, "m")
    assert weights.missing(("/models/m.gguf",)) is not None


def test_the_real_parts_together(tmp_path: Path) -> None:
    """A shard set on disk into a catalog on SQLite: no byte is copied, and the row survives the process."""
    shards = save_shards(tmp_path / "in", "Big-Model", 3)
    database = Database(tmp_path / "blazar.db")
    catalog, weights = SqliteModelCatalog(database), DiskWeightFiles(tmp_path / "models")
    model = ImportModel(catalog, weights, FakeClock())(str(tmp_path / "in")).model
    tiny().save(tmp_path / "in2" / "x.gguf")
    assert model.name == "big-model"
    assert [Path(link).stat().st_ino for link in model.files] == [shard.stat().st_ino for shard in shards]
    assert model.size == sum(shard.stat().st_size for shard in shards)
    database.close()
    database = Database(tmp_path / "blazar.db")
    assert SqliteModelCatalog(database).find_model("big-model") == model
    database.close()
