"""Taking files into the catalog."""

import shutil
from pathlib import Path

import pytest

from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.adapters.store.catalog import SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.application.models.import_model import ImportModel
from blazar.application.ports.weights import FileFacts
from blazar.domain.errors import BadModelFile, BadName, Conflict, Malformed, NotFound, StoreTrouble
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog
from tests.fakes.clock import FakeClock
from tests.fakes.weights import MemoryWeightFiles, some_facts
from tests.support.gguf_files import save_shards, tiny
from tests.support.safetensors_files import model_folder

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


DIT, VAE = "/in/dit.safetensors", "/in/sub/vae.safetensors"


def drawing() -> FileFacts:
    """A diffusion set of two files."""
    return some_facts(
        *(DIT, VAE),
        weights=Weights.DIFFUSION,
        names=("dit.safetensors", "vae.safetensors"),
        components=(("diffusion_model", DIT), ("vae", VAE)),
        stem="DiT",
    )


def test_a_set_lies_together_and_its_parts_are_known_by_role(catalog: MemoryModelCatalog) -> None:
    """In a folder of its own; the row says where each part lies now."""
    weights = MemoryWeightFiles({DIT: drawing()})
    model = ImportModel(catalog, weights, FakeClock())(DIT, parts=[("--VAE", VAE)]).model
    assert weights.parts == (("vae", VAE),)
    assert (model.name, model.folder, model.weights) == ("dit", "/models/dit", Weights.DIFFUSION)
    assert model.components == (
        ("diffusion_model", "/models/dit/dit.safetensors"),
        ("vae", "/models/dit/vae.safetensors"),
    )
    assert ImportModel(catalog, weights, FakeClock())(DIT, parts=[("vae", VAE)]) == (model, True)


def test_a_set_that_cannot_be_linked_is_referred_to(catalog: MemoryModelCatalog) -> None:
    """Each file where it lies; they share no folder (D36)."""
    weights = MemoryWeightFiles({DIT: drawing()}, linkable=False)
    model = ImportModel(catalog, weights, FakeClock())(DIT).model
    assert (model.files, model.folder, model.owned) == ((DIT, VAE), "", False)
    assert model.components == drawing().components


def test_a_folder_that_cannot_be_linked_is_where_it_was(catalog: MemoryModelCatalog) -> None:
    """Engines are told of it there (D36)."""
    facts = drawing()._replace(weights=Weights.MLX_QUANT, components=(), folder="/in")
    weights = MemoryWeightFiles({"/in": facts}, linkable=False)
    assert ImportModel(catalog, weights, FakeClock())("/in").model.folder == "/in"


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([("foo", VAE)], "'foo' is no part"),
        ([("", VAE)], "'' is no part"),
        ([("llm", VAE), ("qwen2vl", VAE)], "part llm is named twice"),
    ],
)
def test_a_part_needs_a_role_of_its_own(
    import_model: ImportModel, catalog: MemoryModelCatalog, parts: list[tuple[str, str]], why: str
) -> None:
    """Before a header is read."""
    with pytest.raises(Malformed, match=why):
        import_model("/in/not-even-there.gguf", parts=parts)
    assert catalog.list_models() == []


def test_what_is_left_of_a_model_is_not_deleted_for_its_own_import(catalog: MemoryModelCatalog, tmp_path: Path) -> None:
    """Its folder under our roof may hold the only copy."""
    weights = DiskWeightFiles(tmp_path / "models")
    add = ImportModel(catalog, weights, FakeClock())
    source = model_folder(tmp_path / "in" / "m", special__json={})
    row = add(str(source)).model
    shutil.rmtree(source)
    Path(row.folder, "special.json").unlink()
    again = add(row.folder).model
    assert not again.owned
    assert weights.missing(again.files) is None


def test_an_import_that_was_killed_is_picked_up(catalog: MemoryModelCatalog, tmp_path: Path) -> None:
    """Links without a row are no stranger's, whichever of them were made."""
    weights = DiskWeightFiles(tmp_path / "models")
    source = model_folder(tmp_path / "in" / "m")
    for name in ("model.safetensors", "config.json"):
        (tmp_path / "models" / "m").mkdir(parents=True, exist_ok=True)
        (tmp_path / "models" / "m" / name).hardlink_to(source / name)
        row = ImportModel(MemoryModelCatalog(), weights, FakeClock())(str(source)).model
        assert row.owned
        weights.unlink(row.files, row.folder)


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


def test_a_name_in_other_letters_is_the_one_that_is_there(
    import_model: ImportModel, catalog: MemoryModelCatalog, weights: MemoryWeightFiles
) -> None:
    """The same model is there already; another one is refused before it is linked."""
    import_model(FILE, "zed")
    assert import_model(FILE, "ZED:LATEST") == (catalog.list_models()[0], True)
    before = dict(weights.content)
    with pytest.raises(Conflict, match="'zed' exists already"):
        import_model(OTHER, "ZED")
    assert weights.content == before


def test_an_import_over_another_model(
    import_model: ImportModel, catalog: MemoryModelCatalog, weights: MemoryWeightFiles
) -> None:
    """Its links lie beside; where its words cannot be laid, the model before is there as it was."""
    present = import_model(FILE, "m").model
    before = dict(weights.content)

    def refuse(_: Model) -> None:
        raise StoreTrouble("no")

    with pytest.raises(StoreTrouble):
        import_model.over(OTHER, present, refuse)
    assert (catalog.list_models(), weights.content) == ([present], before)
    row = import_model.over(OTHER, present, lambda _: None)
    assert (row.name, row.digest, catalog.list_models()) == ("m", "cd" * 32, [row])
    assert weights.content == {**before, row.files[0]: OTHER}
