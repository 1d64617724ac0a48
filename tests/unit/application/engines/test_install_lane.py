"""Forks: what the registry offers, and installing one at its commit."""

from collections.abc import Callable

import pytest

from blazar.application.engines.build_engine import Order
from blazar.application.engines.install_engine import InstallEngine, Origin
from blazar.application.engines.install_lane import InstallLane, ListLanes, Wish
from blazar.application.ports.engines import Program
from blazar.domain.building import Backend
from blazar.domain.capability import Fork, ForkLane, LaneAsset, LaneList
from blazar.domain.errors import Conflict, Malformed, NotFound, RegistryTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.venv_lanes import Site
from tests.fakes.builds import FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.forks import FakeCapabilityRegistry, FakeSources

SHA, DIGEST = "0123456789abcdef0123456789abcdef01234567", "b" * 64
BUILT = ForkLane("novel", EngineKind.LLAMACPP, "owner/llama.cpp", SHA, ("novel",), "MIT", "cmake")
ASSET = LaneAsset("linux", "x86_64", "https://files.example/novel.tar.gz", DIGEST)
READY = BUILT._replace(name="ready", build="", assets=(ASSET,))
ELSEWHERE = BUILT._replace(name="mac", build="", assets=(ASSET._replace(system="darwin"),))
OTHER = BUILT._replace(name="other", kind=EngineKind.MISTRALRS)


class Yard:
    """A registry with four lanes, and a builder that enters what it is told."""

    def __init__(self, *, nvidia: bool = False) -> None:
        self.catalog, self.builds, self.sources = MemoryEngineCatalog(), MemoryEngineBuilds(), FakeSources()
        self.builds.archives["/downloads/novel.tar.gz"] = ("whatever", DIGEST)
        self.registry = FakeCapabilityRegistry(LaneList((BUILT, READY, ELSEWHERE, OTHER), ("lane 'x' is left out",)))
        self.orders: list[tuple[Order, str]] = []
        self.told: list[tuple[str, int, int]] = []
        self.broken: Malformed | None = None
        self.bare: Backend | None = None
        programs = {kind: Program("server") for kind in EngineKind}
        enter = InstallEngine(self.catalog, self.builds, FakeEngineTrial(), FakeClock(), programs)
        self.site = Site("linux", "x86_64", nvidia)
        self.install = InstallLane(self.catalog, self.registry, self.sources, enter, self, lambda: self.site)
        self.list = ListLanes(self.catalog, self.registry, lambda: self.site)

    def check_machine(self, backend: Backend) -> None:
        if backend is self.bare:
            raise Malformed("no cmake", "backend")

    def __call__(
        self, order: Order, told: Callable[[int, int], None], *, origin: Origin | None = None, tag: str = ""
    ) -> Engine:
        self.orders.append((order, tag))
        told(1, 2)
        if self.broken is not None:
            raise self.broken
        assert origin is not None
        row = an_engine(
            tag,
            provenance=origin.provenance,
            release=origin.release,
            source=origin.source,
            pinned=origin.pinned,
            architectures=origin.architectures,
        )
        self.catalog.add_engine(row)
        return row

    def tell(self, name: str, done: int, whole: int) -> None:
        self.told.append((name, done, whole))


def test_a_curated_lane_is_built_from_its_commit() -> None:
    """With its provenance, its name and what it serves in the row; not pinned, so that it retires."""
    yard = Yard()
    engine = yard.install.lane("novel", yard.tell)
    assert yard.sources.fetched == [(f"owner/llama.cpp@{SHA}", "")]
    assert yard.orders == [(Order(Backend.CPU, f"/downloads/{SHA}.tar.gz", "a" * 64, ""), "novel-01234567")]
    assert (engine.tag, engine.provenance, engine.release) == ("novel-01234567", Provenance.FORK, "novel")
    assert (engine.source, engine.pinned, engine.architectures) == (f"owner/llama.cpp@{SHA}", False, ("novel",))
    assert yard.told == [("owner/llama.cpp@01234567", 10, 10), ("novel-01234567", 1, 2)]
    assert yard.sources.dropped == [f"/downloads/{SHA}.tar.gz"]


@pytest.mark.parametrize(
    ("nvidia", "wish", "backend"),
    [(True, None, Backend.CUDA), (True, Backend.CPU, Backend.CPU), (False, None, Backend.CPU)],
)
def test_what_a_fork_computes_with(nvidia: bool, wish: Backend | None, backend: Backend) -> None:
    """The graphics card where there is one, unless somebody says otherwise."""
    yard = Yard(nvidia=nvidia)
    yard.install.lane("novel", yard.tell, wish)
    assert yard.orders[0][0].backend is backend


def test_a_published_build_is_installed_as_it_is() -> None:
    """Verified by the list's digest, under the lane's name and not the archive's."""
    yard = Yard()
    engine = yard.install.lane("ready", yard.tell)
    assert (engine.tag, engine.provenance, engine.digest) == ("ready-01234567", Provenance.FORK, DIGEST)
    assert yard.sources.fetched == [(ASSET.url, DIGEST)]
    assert (yard.orders, yard.sources.dropped) == ([], ["/downloads/novel.tar.gz"])


def test_a_fork_never_takes_over_from_mainstream() -> None:
    """An official build is the active one, whatever comes beside it (contract)."""
    yard = Yard()
    yard.catalog.add_engine(an_engine("b2"))
    assert not yard.install.lane("ready", yard.tell).active


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("nothing", NotFound, "it has: novel, ready, mac, other"),
        ("mac", Malformed, "no build for linux on x86_64"),
        ("other", Malformed, "llamacpp alone and not for mistralrs"),
    ],
)
def test_lanes_that_cannot_be_had(name: str, error: type[Exception], said: str) -> None:
    """Nothing is fetched for them."""
    yard = Yard()
    with pytest.raises(error, match=said):
        yard.install.lane(name, yard.tell)
    assert yard.sources.fetched == []


def test_without_a_registry_there_are_no_lanes() -> None:
    """`capability_registry_url = ""`: nothing is asked, and the sentence says what there is instead."""
    yard = Yard()
    yard.registry.address = ""
    for ask in (lambda: yard.install.lane("novel", yard.tell), yard.list):
        with pytest.raises(NotFound, match="capability_registry_url"):
            ask()
    assert yard.registry.asked == 0


def test_a_persons_own_fork_is_pinned() -> None:
    """And curated by nobody: only a person takes it away."""
    yard = Yard()
    engine = yard.install.fork(Fork("me/llama.cpp", SHA), ("mine",), Wish(), yard.tell)
    assert (engine.tag, engine.pinned, engine.release) == ("me-llama.cpp-01234567", True, "")
    assert (engine.source, engine.architectures) == (f"me/llama.cpp@{SHA}", ("mine",))


def test_a_person_may_name_the_build_and_promise_its_digest() -> None:
    """Both go where they belong."""
    yard = Yard()
    wish = Wish("c" * 64, "mine", Backend.CUDA)
    assert yard.install.fork(Fork("me/llama.cpp", SHA), ("mine",), wish, yard.tell).tag == "mine"
    assert yard.sources.fetched == [(f"me/llama.cpp@{SHA}", "c" * 64)]
    assert yard.orders[0][0].backend is Backend.CUDA


def test_what_is_there_is_not_fetched_again() -> None:
    """Refused before the first byte."""
    yard = Yard()
    yard.install.lane("novel", yard.tell)
    with pytest.raises(Conflict, match="novel-01234567"):
        yard.install.lane("novel", yard.tell)
    assert len(yard.sources.fetched) == 1


def test_a_failed_build_keeps_what_was_fetched() -> None:
    """For the next try; a source of another commit stops everything."""
    yard = Yard()
    yard.broken = Malformed("the compiler ended", "backend")
    with pytest.raises(Malformed, match="compiler"):
        yard.install.lane("novel", yard.tell)
    assert (yard.sources.dropped, yard.catalog.list_engines()) == ([], [])
    yard.broken = Malformed("holds no sources", "source")
    with pytest.raises(Malformed, match="no sources"):
        yard.install.lane("novel", yard.tell)
    assert len(yard.sources.dropped) == 1  # it would hold none the next time either
    yard.sources.refused = Malformed("of another commit", "fork")
    with pytest.raises(Malformed, match="another commit"):
        yard.install.lane("novel", yard.tell)
    assert len(yard.orders) == 2


def test_what_is_missing_here_is_said_before_anything_is_fetched() -> None:
    """Of the backend that would be built; a published build needs no compiler."""
    yard = Yard()
    yard.bare = Backend.CPU
    with pytest.raises(Malformed, match="no cmake"):
        yard.install.lane("novel", yard.tell)
    assert yard.sources.fetched == []
    yard.install.lane("ready", yard.tell)
    yard.install.lane("novel", yard.tell, Backend.CUDA)


def test_offers() -> None:
    """Each lane with what is installed of it, and whether this machine can have it."""
    yard = Yard()
    yard.install.lane("novel", yard.tell)
    offers = yard.list()
    assert [(one.lane.name, one.installed, one.possible) for one in offers.lanes] == [
        ("novel", "novel-01234567", True),
        ("ready", "", True),
        ("mac", "", False),
        ("other", "", True),
    ]
    assert offers.notes == ("lane 'x' is left out",)


def test_an_older_list_is_better_than_none() -> None:
    """It is said to be one; without one the trouble is."""
    yard = Yard()
    yard.registry.trouble = RegistryTrouble("lists.example cannot be reached")
    with pytest.raises(RegistryTrouble):
        yard.list()
    yard.registry.before = LaneList((READY,))
    offers = yard.list()
    assert [one.lane.name for one in offers.lanes] == ["ready"]
    assert "lists.example cannot be reached" in offers.notes[0]
