"""One slot, held by one request."""

import asyncio

import pytest

from blazar.application.supervise.lease import ChildLease
from blazar.application.supervise.surroundings import Handling
from blazar.domain.admission.work import Work
from blazar.domain.errors import ChildDied
from blazar.domain.manners import LLAMACPP
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.fakes.upstream import FakeUpstream


class Plan:
    ctx = 4096
    ctx_key = "kv_unified_per_slot"


class Launch:
    plan, model, blind = Plan, a_model("a", ctx_train=8192), "no projector"
    engine = an_engine("b1")
    called, manners, handling = (
        "default",
        LLAMACPP,
        Handling(toolless=True, late="mean", guesses=True, thoughtless=True),
    )


class Child:
    upstream = FakeUpstream()


class Tenure:
    """As much of one as a lease looks at."""

    launch, child, key = Launch, Child, "a"

    async def explain(self, fault):
        return ChildDied(f"{fault}, with its last words")


class House:
    """The landlord's book."""

    def __init__(self):
        self.back, self.abandoned, self.unheard = [], [], []

    def on_release(self, tenure, keep_alive, *, failed, abandoned, raw):
        self.back.append((tenure, keep_alive, failed))
        self.unheard.append(abandoned)
        self.raw = raw

    def on_abandon(self, tenure, keep_alive):
        self.abandoned.append((tenure, keep_alive))

    def on_refund(self, tenure, work):
        self.refunds = [*getattr(self, "refunds", []), (tenure, work)]

    def on_condemn(self, tenure):
        self.condemned = [*getattr(self, "condemned", []), tenure]


def test_it_shows_what_it_is_for():
    """Taken when it is made: the child may be gone by the time somebody looks."""
    lease = ChildLease(House(), Tenure(), 1.5, 0.5)
    assert (lease.key, lease.engine) == ("a", "b1")
    assert (lease.model.name, lease.ctx, lease.upstream) == ("a", 4096, Child.upstream)
    assert (lease.toolless, lease.late, lease.guesses, lease.thoughtless) == (True, "mean", True, True)
    assert lease.ctx_key == "kv_unified_per_slot"
    assert (lease.called, lease.manners, lease.blind) == ("default", LLAMACPP, "no projector")
    assert (lease.load_seconds, lease.queue_seconds) == (1.5, 0.5)


@pytest.mark.parametrize(("keep_alive", "failed"), [(None, False), (0.0, False), (-1.0, True)])
def test_it_is_given_back_exactly_once(keep_alive, failed):
    """With the wish of the request that gave it back first; a second time changes no counter."""
    house, tenure = House(), Tenure()
    lease = ChildLease(house, tenure)
    lease.release(keep_alive, failed=failed)
    lease.release(99.0)
    assert house.back == [(tenure, keep_alive, failed)]


def test_it_condemns_its_own_child_as_long_as_it_holds_a_place():
    """Afterwards it knows nothing of it."""
    house, tenure = House(), Tenure()
    lease = ChildLease(house, tenure)
    lease.condemn()
    lease.release()
    lease.condemn()
    assert house.condemned == [tenure]


def test_faults_are_explained_by_its_child():
    """By that one, whoever has replaced it."""
    assert str(asyncio.run(ChildLease(House(), Tenure()).explain(ChildDied("gone")))) == "gone, with its last words"


def test_without_a_child_there_is_no_lease():
    """A bug in the owner."""
    with pytest.raises(AssertionError):
        ChildLease(House(), type("Empty", (), {"launch": None, "child": None})())


def test_a_raw_generation_says_so_when_it_ends():
    """Its slot is counted apart."""
    for raw in (False, True):
        house = House()
        ChildLease(house, Tenure(), raw=raw).release()
        assert house.raw is raw


def test_it_is_abandoned_once_and_then_still_given_back():
    """Its wish is told when it is left, not again at the end; who has given it back has nothing to abandon."""
    house, tenure = House(), Tenure()
    lease = ChildLease(house, tenure)
    lease.abandon(9.0)
    lease.abandon(8.0)
    assert (house.abandoned, house.back) == ([(tenure, 9.0)], [])
    lease.release(9.0)
    lease.abandon()
    assert (house.abandoned, house.back, house.unheard) == ([(tenure, 9.0)], [(tenure, None, False)], [True])


def test_what_was_of_no_use_is_refunded_once():
    """With the work that paid for it; the slot is free."""
    house = House()
    lease = ChildLease(house, Tenure())
    lease.hand_back(Work(key="a"))
    lease.hand_back(Work(key="a"))
    assert [work.key for _, work in house.refunds] == ["a"]
    assert len(house.back) == 1


def test_no_setting_bounds_a_window_that_is_all_a_model_was_trained_for():
    """Or people would be told to raise `ctx` beyond it (U11)."""

    class Small(Launch):
        model = a_model("a", ctx_train=4096)

    class Short(Tenure):
        launch = Small

    assert ChildLease(House(), Short()).ctx_key == ""
