"""Removing a build."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from blazar.application.engines.remove_engine import RemoveEngine
from blazar.application.ports.children import Orphan
from blazar.application.ports.engines import Judge
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance, Weights
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.catalog import a_model
from tests.fakes.children import FakeChildren
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine


class House:
    """Two archives, their folders, and whatever a test adds."""

    def __init__(self, catalog: MemoryEngineCatalog | None = None, used: Sequence[str] = ()) -> None:
        self.catalog = catalog or MemoryEngineCatalog([an_engine("b2"), an_engine("b1")])
        self.builds = MemoryEngineBuilds()
        self.builds.present = {"b1", "b2"}
        self.children = FakeChildren(FakeClock())
        self.remove = RemoveEngine(self.catalog, self.builds, self.children, lambda _: used)

    def tags(self) -> list[str]:
        return sorted(row.tag for row in self.catalog.list_engines())


def test_row_and_folder_go() -> None:
    """After a removal neither is left, and another build is active."""
    house = House()
    house.remove("b2")
    assert (house.tags(), house.builds.present, house.builds.aside) == (["b1"], {"b1"}, set())
    assert house.catalog.list_engines()[0].active


def test_a_row_that_stays_keeps_its_folder() -> None:
    """If the row cannot be deleted the folder comes back: a row never points at a deleted folder (contract)."""

    class Stuck(MemoryEngineCatalog):
        def remove_engine(self, tag: str, judge: Judge | None = None) -> None:
            raise OSError("disk full")

    house = House(Stuck([an_engine("b2"), an_engine("b1")]))
    with pytest.raises(OSError, match="disk full"):
        house.remove("b2")
    assert (house.builds.present, house.builds.aside) == ({"b1", "b2"}, set())


def test_a_build_in_use_stays() -> None:
    """A live child keeps its build; the sentence names the models."""
    house = House(used=["qwen", "llama"])
    with pytest.raises(Conflict, match="qwen, llama"):
        house.remove("b2")
    assert house.tags() == ["b1", "b2"]


def test_a_build_of_an_orphan_stays() -> None:
    """With the daemon down a live pidfile still protects its build, and only that one (D6)."""
    house = House()
    house.children.left = [Orphan("m", 77, "b2")]
    with pytest.raises(Conflict, match="77"):
        house.remove("b2")
    house.remove("b1")
    assert house.tags() == ["b2"]


class Racing(MemoryEngineBuilds):
    """A daemon starts a child at the very moment in which the folder is renamed."""

    def __init__(self, start: Callable[[], None]) -> None:
        super().__init__()
        self.start = start

    def set_aside(self, tag: str) -> bool:
        done = super().set_aside(tag)
        self.start()
        return done


def test_a_child_that_starts_meanwhile_keeps_its_build() -> None:
    """By the daemon's word: the folder comes back and the row was never touched."""
    used: list[str] = []
    house = House(used=used)
    builds = Racing(lambda: used.append("qwen"))
    builds.present = {"b1", "b2"}
    with pytest.raises(Conflict, match="qwen"):
        replace(house.remove, builds=builds)("b2")
    assert (house.tags(), builds.present, builds.aside) == (["b1", "b2"], {"b1", "b2"}, set())


def test_a_pidfile_that_appears_meanwhile_keeps_its_build() -> None:
    """Written by a daemon that was killed right after (D6)."""
    house = House()
    builds = Racing(lambda: house.children.left.append(Orphan("m", 77, "b2")))
    builds.present = {"b1", "b2"}
    with pytest.raises(Conflict, match="77"):
        replace(house.remove, builds=builds)("b2")
    assert (house.tags(), builds.present, builds.aside) == (["b1", "b2"], {"b1", "b2"}, set())


def test_the_last_build_stays() -> None:
    """A kind never loses its only build."""
    house = House(MemoryEngineCatalog([an_engine("b1")]))
    with pytest.raises(Conflict, match="only"):
        house.remove("b1")
    assert house.builds.present == {"b1", "b2"}


def test_a_last_build_that_is_gone_can_be_removed() -> None:
    """Doctor says to remove it and to install it again."""
    house = House(MemoryEngineCatalog([an_engine("b1")]))
    house.builds.present, house.builds.empty = set(), {"b1"}
    house.remove("b1")
    assert house.tags() == []


def test_kinds_that_serve_a_few_models_can_go_altogether() -> None:
    """A Python environment of gigabytes is not kept because it is the only one."""
    house = House(MemoryEngineCatalog([an_engine("b1"), an_engine("sd", kind=EngineKind.SDCPP)]))
    house.remove("sd")
    assert house.tags() == ["b1"]


def test_a_pinned_build_goes_when_somebody_says_so() -> None:
    """The pin holds off what nobody asked for."""
    house = House(MemoryEngineCatalog([an_engine("b2"), an_engine("b1", pinned=True)]))
    house.remove("b1")
    assert house.tags() == ["b2"]


@pytest.mark.parametrize(
    ("provenance", "how"), [(Provenance.LOCAL, "BLAZAR_ENGINE_PATH"), (Provenance.EMBEDDED, "pip uninstall")]
)
def test_what_is_not_ours_is_not_deleted(provenance: Provenance, how: str) -> None:
    """The user's binary and the wheel stay; the sentence says how they go."""
    house = House(MemoryEngineCatalog([an_engine("b1"), an_engine("x", provenance=provenance)]))
    with pytest.raises(Conflict, match=how):
        house.remove("x")


def test_an_unknown_tag_names_what_is_there() -> None:
    """Not found, with the installed builds from the newest down."""
    with pytest.raises(EngineNotFound, match="b2, b1"):
        House().remove("nope")


def test_a_folder_without_a_row_can_be_removed() -> None:
    """What a crash left between unpacking and its row goes by the same command."""
    house = House()
    house.builds.present.add("b3")
    house.remove("b3")
    assert (house.builds.present, house.builds.aside) == ({"b1", "b2"}, set())


def test_what_a_model_insists_on_is_not_removed() -> None:
    """Its requests would be refused from then on; the sentence names the keys."""
    house = House()
    remove = replace(house.remove, named={"b2": ["m", "n"]})
    with pytest.raises(Conflict, match=r"model_overrides\.m\.engine, model_overrides\.n\.engine"):
        remove("b2")
    assert house.tags() == ["b1", "b2"]
    assert remove("b1").kind == "llamacpp"


def test_who_serves_after_a_removal_is_told() -> None:
    """The heir of an active build; nobody where another one was active."""
    house = House(MemoryEngineCatalog([an_engine("b3"), an_engine("b2"), an_engine("b1")]))
    assert house.remove("b2") == ("llamacpp", "", (), ())
    assert house.remove("b3") == ("llamacpp", "b1", (), ())


def test_models_that_lose_their_only_engine_are_named() -> None:
    """By the formats that the kind serves and no other that is left does."""
    rows = [an_engine("b1"), an_engine("sd-1", kind=EngineKind.SDCPP), an_engine("m-1", kind=EngineKind.MISTRALRS)]
    house = House(MemoryEngineCatalog(rows))
    models = [
        a_model("painter", weights=Weights.DIFFUSION),
        a_model("text"),
        a_model("st", weights=Weights.SAFETENSORS),
    ]
    remove = replace(house.remove, models=lambda: models)
    assert remove("sd-1").unserved == ("painter",)
    assert remove("m-1").unserved == ("st",)


def test_models_that_insist_on_a_kind_whose_last_build_goes_are_named() -> None:
    """Apart from those that lose the only engine of their format: others could serve them. Overrides without a model are nobody's."""
    rows = [an_engine("b1"), an_engine("m-1", kind=EngineKind.MISTRALRS), an_engine("m-2", kind=EngineKind.MISTRALRS)]
    house = House(MemoryEngineCatalog(rows))
    models = [a_model("g"), a_model("h"), *(a_model(name, weights=Weights.SAFETENSORS) for name in ("st", "elsewhere"))]
    named = {"mistralrs": ["g", "gone"], "sglang": ["elsewhere"]}
    remove = replace(house.remove, models=lambda: models, named=named)
    assert remove("m-1") == ("mistralrs", "m-2", (), ())
    assert remove("m-2") == ("mistralrs", "", ("g", "st"), ("g",))


class Faster(MemoryEngineBuilds):
    """Another process removes a build while ours is put aside."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act = act

    def set_aside(self, tag: str) -> bool:
        done = super().set_aside(tag)
        self.act()
        return done


def test_the_last_build_stays_though_it_was_not_the_last_when_asked() -> None:
    """Decided with the row: two commands at once cannot take one build each and leave none."""
    house = House()
    builds = Faster(lambda: house.catalog.remove_engine("b2"))
    builds.present = {"b1", "b2"}
    with pytest.raises(Conflict, match="only"):
        replace(house.remove, builds=builds)("b1")
    assert (house.tags(), builds.present, builds.aside) == (["b1"], {"b1", "b2"}, set())


def test_a_build_that_was_only_begun_goes() -> None:
    """It has no row and no folder among the builds; a name of nothing is still refused."""
    house, work = House(), {"b3-cpu"}
    remove = replace(house.remove, drop_begun=lambda tag: tag in work and not work.remove(tag))
    assert remove("b3-cpu").now == ""
    assert work == set()
    with pytest.raises(EngineNotFound):
        remove("b3-cpu")
