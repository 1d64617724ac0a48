"""Forks whose time is over."""

from collections.abc import Sequence
from dataclasses import replace

from blazar.application.engines.removal import Unused
from blazar.application.engines.retire_lanes import Retired, RetireLanes
from blazar.domain.capability import DAY_SECS
from blazar.domain.kinds import Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.children import FakeChildren
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

OFFICIAL = an_engine("b2", active=True, architectures=("llama", "novel"))
FORK = an_engine("novel-1", provenance=Provenance.FORK, release="novel", source="o/n@1", architectures=("novel",))


class Shelf:
    """An official build that serves all, a fork, and a clock; `used` are models that run on the fork."""

    def __init__(self, *rows: Engine, used: Sequence[str] = ()) -> None:
        self.catalog = MemoryEngineCatalog(rows or (OFFICIAL, FORK))
        self.builds, self.clock, self.used = MemoryEngineBuilds(), FakeClock(), list(used)
        self.builds.present = {row.tag for row in self.catalog.list_engines()}
        unused = Unused(FakeChildren(self.clock), lambda tag: self.used if tag == FORK.tag else ())
        self.retire = RetireLanes(self.catalog, self.builds, unused, self.clock)

    def pass_days(self, days: float) -> None:
        self.clock._now += days * DAY_SECS

    def tags(self) -> list[str]:
        return sorted(row.tag for row in self.catalog.list_engines())

    def stamp(self) -> float:
        row = self.catalog.find_engine(FORK.tag)
        assert row is not None
        return row.superseded_at


def test_a_covered_fork_is_stamped_and_stays_for_its_days() -> None:
    """Once: the second look tells nothing, and nothing goes before its time."""
    shelf = Shelf()
    assert shelf.retire(7) == Retired(stamped=("novel-1",))
    assert shelf.stamp() == EPOCH
    shelf.pass_days(6.9)
    assert shelf.retire(7) == Retired()
    assert (shelf.tags(), shelf.stamp()) == (["b2", "novel-1"], EPOCH)


def test_it_goes_with_row_and_folder_after_its_days() -> None:
    """By the one way in which builds go: nothing is left aside."""
    shelf = Shelf()
    shelf.retire(7)
    shelf.pass_days(7)
    assert shelf.retire(7) == Retired(removed=("novel-1",))
    assert (shelf.tags(), shelf.builds.present, shelf.builds.aside) == (["b2"], {"b2"}, set())


def test_zero_days_delete_nothing() -> None:
    """`fork_retire_days` 0: never; the stamp is for people all the same."""
    shelf = Shelf()
    shelf.retire(0)
    shelf.pass_days(10_000)
    assert shelf.retire(0) == Retired()
    assert shelf.tags() == ["b2", "novel-1"]


def test_a_fork_in_use_is_postponed() -> None:
    """The next look after its last model left takes it."""
    shelf = Shelf(used=["qwen"])
    shelf.retire(7)
    shelf.pass_days(8)
    (why,) = shelf.retire(7).postponed
    assert "qwen" in why
    assert (shelf.tags(), shelf.builds.aside) == (["b2", "novel-1"], set())
    shelf.used.clear()
    assert shelf.retire(7).removed == ("novel-1",)


def test_a_loop_that_does_not_answer_postpones() -> None:
    """A daemon that stops cannot say who uses what: nothing goes then."""
    shelf = Shelf()
    shelf.retire(7)
    shelf.pass_days(8)

    def silent(_: str) -> Sequence[str]:
        raise TimeoutError

    retire = RetireLanes(shelf.catalog, shelf.builds, Unused(FakeChildren(shelf.clock), silent), shelf.clock)
    assert len(retire(7).postponed) == 1
    assert shelf.tags() == ["b2", "novel-1"]


def test_a_pinned_fork_and_a_persons_own_stay() -> None:
    """For ever, whoever covers them (brief of the documents: user forks and pinned lanes never)."""
    pinned = an_engine(
        "novel-2", provenance=Provenance.FORK, release="novel", source="o/n@2", architectures=("novel",), pinned=True
    )
    own = an_engine("own-1", provenance=Provenance.FORK, source="me/n@3", architectures=("novel",))
    shelf = Shelf(OFFICIAL, pinned, own)
    shelf.retire(7)
    shelf.pass_days(100)
    assert shelf.retire(7).removed == ()
    assert shelf.tags() == ["b2", "novel-2", "own-1"]


def test_a_rollback_of_mainstream_starts_the_days_anew() -> None:
    """What served everything is not active any more: the fork is needed again."""
    older = an_engine("b1", architectures=("llama",))
    shelf = Shelf(OFFICIAL, older, FORK)
    shelf.retire(7)
    shelf.pass_days(6)
    shelf.catalog.set_active(older.kind, "b1")
    shelf.retire(7)
    assert shelf.stamp() == 0.0
    shelf.catalog.set_active(older.kind, "b2")
    assert shelf.retire(7).stamped == ("novel-1",)
    shelf.pass_days(2)
    assert shelf.retire(7).removed == ()


def test_an_official_build_of_which_nothing_is_known_covers_nothing() -> None:
    """Without its list of architectures nobody can say that the fork is not needed."""
    shelf = Shelf(an_engine("b2", active=True), FORK)
    assert shelf.retire(7) == Retired()
    assert shelf.stamp() == 0.0


def test_a_fork_that_a_model_insists_on_stays() -> None:
    """An override that names it is as good as a pin, for as long as it does."""
    shelf = Shelf()
    shelf.retire(7)
    shelf.pass_days(8)
    assert replace(shelf.retire, named=lambda: ["novel-1"])(7) == Retired()
    assert shelf.retire(7).removed == ("novel-1",)


def test_a_fork_that_is_pinned_meanwhile_is_postponed() -> None:
    """Decided with the row: whoever pins it while it is put aside keeps it."""
    shelf = Shelf()
    shelf.retire(7)
    shelf.pass_days(8)
    aside = shelf.builds.set_aside

    def slow(tag: str) -> bool:
        done = aside(tag)
        shelf.catalog.amend_engine(tag, lambda row: replace(row, pinned=True))
        return done

    shelf.builds.set_aside = slow  # type: ignore[method-assign]
    (why,) = shelf.retire(7).postponed
    assert "needed again" in why
    assert (shelf.tags(), shelf.builds.aside) == (["b2", "novel-1"], set())
