"""A copy onto a name that is taken."""

import asyncio
import threading

import pytest

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.copy_over import CopyOver
from blazar.application.models.remove_model import RemoveModel
from blazar.domain.errors import BadName, Conflict, ModelNotFound, NotFound, StoreTrouble
from blazar.domain.overlay import Overlay
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.clock import FakeClock
from tests.fakes.overlays import MemoryOverlays
from tests.fakes.weights import MemoryWeightFiles, some_facts

BASE, OTHER = "/models/base.gguf", "/models/other.gguf"


class Rig:
    """The use case over fakes."""

    def __init__(self) -> None:
        self.weights = MemoryWeightFiles({file: some_facts(file) for file in (BASE, OTHER)})
        rows = [a_model("base", files=(BASE,)), a_model("other", files=(OTHER,), digest="cd" * 32)]
        self.catalog, self.overlays = MemoryModelCatalog(rows), MemoryOverlays()
        copy = CopyModel(self.catalog, self.weights, FakeClock(), self.overlays)
        self.over = CopyOver(copy, RemoveModel(self.catalog, self.weights, None, self.overlays))

    def copied(self, source: str, target: str, *, overwrite: bool = True) -> Model:
        return asyncio.run(self.over(source, target, overwrite=overwrite))

    def names(self) -> list[str]:
        return [row.name for row in self.catalog.list_models()]


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize("target", ["other", "OTHER", "other:latest"])
def test_it_takes_that_model_s_place(rig: Rig, target: str) -> None:
    """In whatever letters it was named: its files and what lay over it go, what holds for the source comes."""
    rig.overlays.keep("other", Overlay(system="old"), {})
    row = rig.copied("base", target)
    assert (row.name, row.digest, rig.names()) == ("other", a_model("base").digest, ["base", "other"])
    assert rig.overlays.find("other") is None
    assert rig.weights.content[row.files[0]] == rig.weights.content[BASE]


def test_a_free_name_is_a_copy_as_any(rig: Rig) -> None:
    """Nothing goes."""
    assert rig.copied("base", "third").name == "third"
    assert rig.names() == ["base", "other", "third"]


def test_onto_itself_it_changes_nothing(rig: Rig) -> None:
    """In other letters, too."""
    before = rig.catalog.list_models(), dict(rig.weights.content)
    assert rig.copied("base", "BASE").name == "base"
    assert (rig.catalog.list_models(), rig.weights.content) == before


def test_without_overwrite_a_taken_name_is_refused(rig: Rig) -> None:
    """As `cp` does."""
    with pytest.raises(Conflict):
        rig.copied("base", "other", overwrite=False)
    assert rig.names() == ["base", "other"]


def test_what_is_refused_takes_nothing_away(rig: Rig) -> None:
    """No source, no file of it, no name."""
    for source, target, error in (("none", "other", ModelNotFound), ("base", "a#1", BadName)):
        with pytest.raises(error):
            rig.copied(source, target)
    del rig.weights.content[BASE]
    with pytest.raises(NotFound):
        rig.copied("base", "other")
    assert rig.names() == ["base", "other"]


def test_what_was_there_leaves_no_file(rig: Rig) -> None:
    """Of the model before and of the words that lay over it; as often as it is done."""
    adapter = "/models/other%40lora-1.gguf"
    rig.weights.content[adapter] = adapter
    rig.overlays.keep("other", Overlay(adapters=(adapter, BASE)), {})
    for _ in range(3):
        row = rig.copied("base", "other")
        assert set(rig.weights.content) == {BASE, *row.files}


@pytest.mark.parametrize("error", [StoreTrouble, ValueError])
@pytest.mark.parametrize("what", ["carry", "link", "replace_model"])
def test_where_the_copy_fails_what_was_there_stays(
    rig: Rig, what: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However, and at whichever step: row, files and words."""

    def fails(*_: object) -> None:
        raise error("no")

    rig.overlays.keep("other", Overlay(system="old"), {})
    before = rig.catalog.list_models(), dict(rig.weights.content)
    with monkeypatch.context() as patched:
        kind = {"carry": rig.overlays, "link": rig.weights, "replace_model": rig.catalog}[what]
        patched.setattr(kind, what, fails)
        with pytest.raises(error):
            rig.copied("base", "other")
    assert (rig.catalog.list_models(), rig.weights.content) == before
    assert rig.overlays.find("other") == Overlay(system="old")


def test_the_names_are_looked_through_off_the_loop(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may hold the catalog for seconds."""
    loop, looked = threading.get_ident(), list[bool]()
    real = rig.catalog.list_models

    def list_models() -> list[Model]:
        looked.append(threading.get_ident() == loop)
        return real()

    monkeypatch.setattr(rig.catalog, "list_models", list_models)
    rig.copied("base", "other")
    rig.copied("base", "third")
    assert looked
    assert not any(looked)
