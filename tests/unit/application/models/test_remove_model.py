"""Taking a model out again."""

import asyncio
import threading
from typing import Any

import pytest

from blazar.application.models.remove_model import RemoveModel
from blazar.application.supervise.views import Supervising
from blazar.domain.errors import BadConfig, ModelNotFound, StoreTrouble
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.overlays import MemoryOverlays
from tests.fakes.weights import MemoryWeightFiles, some_facts

OWN, REF = "/models/own.gguf", "/elsewhere/ref.gguf"


class _Supervisor(Supervising):
    """Notes what it is asked to evict, and whether the files were still there then."""

    def __init__(self, weights: MemoryWeightFiles) -> None:
        self.weights = weights
        self.asked: list[tuple[str, bool, str, bool]] = []

    async def evict(self, ref: str, *, force: bool = False, cause: str = "asked") -> list[str]:
        await asyncio.sleep(0)
        self.asked.append((ref, force, cause, self.weights.missing((OWN,)) is None))
        return [ref]


@pytest.fixture
def weights() -> MemoryWeightFiles:
    return MemoryWeightFiles({OWN: some_facts(OWN), REF: some_facts(REF)})


@pytest.fixture
def catalog() -> MemoryModelCatalog:
    return MemoryModelCatalog([a_model("own", files=(OWN,)), a_model("ref", files=(REF,), owned=False)])


def _remove(catalog: MemoryModelCatalog, weights: MemoryWeightFiles, name: str, **more: Any) -> None:
    asyncio.run(RemoveModel(catalog, weights, more.pop("supervising", None))(name, **more))


def test_row_and_link_go(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Under any spelling of the name."""
    _remove(catalog, weights, "own:latest")
    assert [model.name for model in catalog.list_models()] == ["ref"]
    assert weights.missing((OWN,)) == OWN


def test_a_referenced_file_is_never_deleted(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Only the row goes, even if the file lies in our folder (D36)."""
    catalog.add_model(a_model("by-hand", files=(OWN,), owned=False))
    _remove(catalog, weights, "ref")
    _remove(catalog, weights, "by-hand")
    assert weights.missing((OWN, REF)) is None
    assert [model.name for model in catalog.list_models()] == ["own"]


@pytest.mark.parametrize("force", [False, True])
def test_its_child_is_evicted_first(catalog: MemoryModelCatalog, weights: MemoryWeightFiles, *, force: bool) -> None:
    """While the files are still there; the row's own name is used."""
    supervisor = _Supervisor(weights)
    _remove(catalog, weights, "OWN", supervising=supervisor, force=force)
    assert supervisor.asked == [("own", force, "removed", True)]


def test_an_alias_keeps_its_link(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Links are counted by the file system, not by us."""
    links, _ = weights.link("alias", (OWN,))
    catalog.add_model(a_model("alias", files=links))
    _remove(catalog, weights, "own")
    assert weights.missing(links) is None


def test_a_file_that_another_row_refers_to_stays(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """A copy refers to our link where a further one was impossible; removing the first must not break it."""
    catalog.add_model(a_model("copy", files=(OWN,), owned=False))
    _remove(catalog, weights, "own")
    assert weights.missing((OWN,)) is None
    assert catalog.find_model("copy") is not None


def test_a_folder_goes_with_its_model(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Every file of it."""
    links, _ = weights.link("set", (OWN, REF), ("a.safetensors", "sub/b.json"))
    catalog.add_model(a_model("set", files=links, folder="/models/set"))
    _remove(catalog, weights, "set")
    assert not set(links) & set(weights.content)
    assert weights.missing((OWN, REF)) is None


def test_a_row_whose_file_is_gone_can_be_removed(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """It is what the sentence about a missing file advises."""
    del weights.content[OWN]
    _remove(catalog, weights, "own")
    assert catalog.find_model("own") is None


def test_what_cannot_be_deleted_stays_listed(catalog: MemoryModelCatalog) -> None:
    """So that `rm` can be repeated."""

    class Stuck(MemoryWeightFiles):
        def unlink(self, files: tuple[str, ...], folder: str = "") -> None:
            raise StoreTrouble("deleting failed")

    with pytest.raises(StoreTrouble):
        _remove(catalog, Stuck({OWN: some_facts(OWN)}), "own")
    assert catalog.find_model("own") is not None


def test_an_unknown_name_is_refused(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Before anything is evicted."""
    supervisor = _Supervisor(weights)
    with pytest.raises(ModelNotFound):
        _remove(catalog, weights, "nothing", supervising=supervisor)
    assert supervisor.asked == []


def test_a_catalog_that_is_slow_holds_nobody_up(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Another process may lock it for seconds, and on the daemon's loop every answer would stand still meanwhile."""
    answered = threading.Event()

    class Locked(MemoryModelCatalog):
        def remove_model(self, name: str, known: Model | None = None) -> bool:
            assert answered.wait(60), "the loop waited for the catalog"
            return super().remove_model(name, known)

    async def main() -> None:
        removing = asyncio.create_task(RemoveModel(Locked(catalog.list_models()), weights, None)("own"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        answered.set()
        await removing

    asyncio.run(main())


class _Stubborn(MemoryOverlays):
    """Of a configuration that cannot be changed now: told beforehand, or only when it is tried."""

    def __init__(self, *, told: bool) -> None:
        super().__init__()
        self._told = told

    def check_forgettable(self, name: str) -> None:
        if self._told:
            self.forget(name)

    def forget(self, name: str) -> None:
        raise BadConfig(["not now"])


@pytest.mark.parametrize("told", [True, False])
def test_words_that_cannot_be_taken_away_keep_the_model_listed(
    catalog: MemoryModelCatalog, weights: MemoryWeightFiles, *, told: bool
) -> None:
    """So that `rm` can be repeated; where it can be told beforehand nothing is evicted and no file goes."""
    supervisor = _Supervisor(weights)
    with pytest.raises(BadConfig):
        asyncio.run(RemoveModel(catalog, weights, supervisor, _Stubborn(told=told))("own"))
    assert catalog.find_model("own") is not None
    assert (supervisor.asked == [], weights.missing((OWN,)) is None) == (told, told)
    asyncio.run(RemoveModel(catalog, weights, supervisor, MemoryOverlays())("own"))
    assert catalog.find_model("own") is None


def test_what_took_a_model_s_place_keeps_what_is_its_own(
    catalog: MemoryModelCatalog, weights: MemoryWeightFiles
) -> None:
    """Only what nobody names any more goes; what cannot be deleted is no failure."""
    remove = RemoveModel(catalog, weights, None, MemoryOverlays())
    before = catalog.find_model("own")
    assert before is not None
    assert remove.replaced(before, lambda: before) is before
    assert weights.missing((OWN,)) is None
    (link,), _ = weights.link("own@new", (REF,))
    newer = a_model("own", files=(link,))
    catalog.replace_model(newer)
    remove.replaced(before, lambda: newer)
    assert (weights.missing((OWN,)), weights.missing((link,))) == (OWN, None)


def test_an_evicted_name_is_removed_from_nowhere(catalog: MemoryModelCatalog, weights: MemoryWeightFiles) -> None:
    """Only what runs under it ends; without a daemon nothing does."""
    supervisor = _Supervisor(weights)
    asyncio.run(RemoveModel(catalog, weights, supervisor).evict("own"))
    asyncio.run(RemoveModel(catalog, weights, None).evict("own"))
    assert supervisor.asked == [("own", False, "removed", True)]
    assert catalog.find_model("own") is not None
