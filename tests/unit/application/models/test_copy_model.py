"""A second name for a model."""

import pytest

from blazar.application.models.copy_model import CopyModel
from blazar.domain import teaching
from blazar.domain.errors import BadName, Conflict, ModelNotFound, NotFound, StoreTrouble
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.clock import FakeClock
from tests.fakes.overlays import MemoryOverlays
from tests.fakes.weights import MemoryWeightFiles, some_facts

OWN, REF = "/models/own.gguf", "/elsewhere/ref.gguf"


@pytest.fixture
def weights() -> MemoryWeightFiles:
    return MemoryWeightFiles({OWN: some_facts(OWN), REF: some_facts(REF)})


@pytest.fixture
def catalog() -> MemoryModelCatalog:
    return MemoryModelCatalog([a_model("own", files=(OWN,)), a_model("ref", files=(REF,), owned=False)])


@pytest.fixture
def copy_model(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> CopyModel:
    return CopyModel(catalog, weights, FakeClock())


def test_a_copy_is_a_hardlink(copy_model: CopyModel, catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """A row of its own with a link of its own to the same content."""
    alias = copy_model("own", "team/alias")
    assert (alias.name, alias.files, alias.owned) == ("team/alias", ("/models/team%2Falias.gguf",), True)
    assert weights.content[alias.files[0]] == weights.content[OWN]
    assert alias.digest == a_model("own").digest
    assert catalog.find_model("team/alias") == alias


def test_a_copy_of_a_reference_is_a_second_row(copy_model: CopyModel, weights: MemoryWeightFiles) -> None:
    """Nothing is linked, and nothing becomes ours to delete (D36)."""
    before = dict(weights.content)
    alias = copy_model("ref", "alias")
    assert (alias.files, alias.owned) == ((REF,), False)
    assert weights.content == before


def test_the_source_may_be_spelled_as_anywhere(copy_model: CopyModel) -> None:
    """`own:latest` is `own`."""
    assert copy_model("own:latest", "alias").name == "alias"


@pytest.mark.parametrize("target", ["own", "ref"])
def test_a_taken_name_is_refused(copy_model: CopyModel, catalog: MemoryModelCatalog, target: str) -> None:
    """Its own too; both rows stay."""
    with pytest.raises(Conflict) as refused:
        copy_model("own", target)
    assert str(refused.value) == teaching.copy_target_taken(target)
    assert "--name" not in str(refused.value)
    assert len(catalog.list_models()) == 2


def test_a_name_that_is_lost_to_another_process_is_refused_alike(weights: MemoryWeightFiles) -> None:
    """An option that `cp` lacks is named in neither sentence."""

    class Racing(MemoryModelCatalog):
        def add_model(self, model: Model) -> None:
            raise Conflict(teaching.name_taken(model.name))

    catalog = Racing()
    MemoryModelCatalog.add_model(catalog, a_model("own", files=(OWN,)))
    with pytest.raises(Conflict) as refused:
        CopyModel(catalog, weights, FakeClock())("own", "alias")
    assert str(refused.value) == teaching.copy_target_taken("alias")


def test_what_is_not_there_cannot_be_copied(copy_model: CopyModel, weights: MemoryWeightFiles) -> None:
    """No row, no file, no name: a sentence each."""
    with pytest.raises(ModelNotFound):
        copy_model("nothing", "alias")
    with pytest.raises(BadName):
        copy_model("own", "alias#2")
    del weights.content[OWN]
    with pytest.raises(NotFound, match="which is gone"):
        copy_model("own", "alias")


def test_a_copy_of_a_folder_has_a_folder_of_its_own(weights: MemoryWeightFiles) -> None:
    """With its parts by role; that of a reference stays where it is."""
    files = ("/models/sd/dit.gguf", "/models/sd/sub/vae.gguf")
    weights.content |= dict(zip(files, files, strict=True))
    parts = (("diffusion_model", files[0]), ("vae", files[1]))
    rows = [
        a_model("sd", files=files, folder="/models/sd", components=parts),
        a_model("far", files=files, folder="/far", components=parts, owned=False),
    ]
    copy = CopyModel(MemoryModelCatalog(rows), weights, FakeClock())
    alias = copy("sd", "alias")
    assert (alias.folder, alias.owned) == ("/models/alias", True)
    assert alias.files == ("/models/alias/dit.gguf", "/models/alias/sub/vae.gguf")
    assert alias.components == (("diffusion_model", alias.files[0]), ("vae", alias.files[1]))
    second = copy("far", "second")
    assert (second.folder, second.files, second.components) == ("/far", files, parts)


@pytest.mark.parametrize("target", ["OWN", "Ref:LATEST", "ref:latest"])
def test_a_name_in_other_letters_is_taken(copy_model: CopyModel, weights: MemoryWeightFiles, target: str) -> None:
    """Told before anything is linked."""
    before = dict(weights.content)
    with pytest.raises(Conflict, match=f"'{target.lower().removesuffix(':latest')}' exists already"):
        copy_model("own", target)
    assert weights.content == before


@pytest.mark.parametrize("error", [StoreTrouble, ValueError])
def test_a_copy_without_what_holds_for_its_source_is_none(weights: MemoryWeightFiles, error: type[Exception]) -> None:
    """However it failed, neither row nor link is left: under the name another model would answer."""

    class Refusing(MemoryOverlays):
        def carry(self, source: str, target: str) -> None:
            raise error("read-only")

    catalog = MemoryModelCatalog([a_model("own", files=(OWN,), draft=OWN)])
    before = dict(weights.content)
    with pytest.raises(error):
        CopyModel(catalog, weights, FakeClock(), Refusing())("own", "alias")
    assert catalog.find_model("alias") is None
    assert weights.content == before


def test_a_copy_over_another_model(copy_model: CopyModel, weights: MemoryWeightFiles) -> None:
    """Links of its own beside those of the one before, which are not deleted here; words other than the source's may be laid."""
    laid = []
    present = a_model("other", files=("/models/other.gguf",), digest="cd" * 32)
    weights.content["/models/other.gguf"] = "other bytes"
    copy_model.catalog.add_model(present)
    row = copy_model.over("own", present, laid.append)
    assert (row.name, row.owned, laid) == ("other", True, [row])
    assert row.files[0] not in (OWN, "/models/other.gguf")
    assert weights.content[row.files[0]] == weights.content[OWN]
    assert weights.content["/models/other.gguf"] == "other bytes"
    assert copy_model.catalog.find_model("other") == row
    second = copy_model.over("ref", row)
    assert (second.owned, second.files) == (False, (REF,))


def test_words_of_the_caller_s_are_laid_over_a_copy(copy_model: CopyModel) -> None:
    """In the place of those of its source."""
    laid = []
    assert copy_model("own", "alias", laid.append) == laid[0]
