"""Any interleaving of loads, evictions, requests, crashes and departures ends (case G10), and nothing is left behind.

The order of events is drawn from a seed; time is the test's own, so a failing seed fails every time.
"""

import asyncio
import random

import pytest

from blazar.application.supervise.surroundings import Limits
from blazar.domain.admission.work import Priority, Work, WorkClass
from blazar.domain.errors import BlazarError
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.support.cards import CARD, CARD_BYTES, on_card
from tests.support.supervision import World, run

STEPS = 700
NAMES = ("a", "b", "c")
MANNERS = (
    Script(),
    Script(),
    Script(ready_after=20),
    Script(term_takes=5.0),
    Script(terms_needed=2),
    Script(terms_needed=None),
    Script(dies_after=2),
    Script(ready_after=None, moves=False),
    Script(fails_to_start="no"),
    Script(on_term=1),
)


class Chaos:
    """Draws one event after the other and keeps book of everybody who waits."""

    def __init__(self, world, seed):
        self.world, self.chance = world, random.Random(seed)
        self.asks, self.wishes, self.leases, self.pictures = [], [], [], set()
        world.give_projector("a", "b")
        self.served = self.refused = self.left = 0

    async def step(self):
        """One event, then as much time as it happens to take."""
        chance, world = self.chance, self.world
        world.children.script = chance.choice(MANNERS)
        name = chance.choice(NAMES)
        event = chance.choice(
            ("ask",) * 6
            + ("release",) * 6
            + ("cancel", "cancel", "abandon", "abandon", "evict", "load", "kill", "reset", "row", "fast", "configure")
        )
        await getattr(self, f"do_{event}")(name)
        if chance.random() < 0.7:
            await world.clock.advance(chance.choice((0.0, 0.01, 0.3, 2.0, 11.0)))
        self.collect()

    async def do_ask(self, name):
        """A request of any urgency, perhaps with a window wish or a picture."""
        chance = self.chance
        more = {"num_ctx": chance.choice((0, 0, 0, 6000)), "vision": chance.random() < 0.2}
        work = {"priority": chance.choice(tuple(Priority)), "kind": chance.choice(tuple(WorkClass))}
        self.asks.append(self.world.ask(name, wait=chance.choice((0.5, 30.0)), **work, **more))
        if more["vision"]:
            self.pictures.add(self.asks[-1])

    async def do_release(self, _):
        """One answer ends, well or badly, with or without a keep_alive."""
        if self.leases:
            lease = self.leases.pop(self.chance.randrange(len(self.leases)))
            lease.release(self.chance.choice((None, None, None, 0.0, 5.0, -1.0)), failed=self.chance.random() < 0.3)

    async def do_cancel(self, _):
        """A client leaves."""
        if self.asks:
            self.chance.choice(self.asks).cancel()

    async def do_abandon(self, _):
        """A client leaves an answer that cannot be stopped; it ends with its release, like any other."""
        if self.leases:
            self.chance.choice(self.leases).abandon(self.chance.choice((None, None, 0.0, 5.0)))

    async def do_evict(self, name):
        """An explicit wish, patient or not."""
        supervisor, force = self.world.supervisor, self.chance.random() < 0.4
        ref = name + self.chance.choice(("", "", "@vision"))
        self.wishes.append(asyncio.create_task(supervisor.evict(ref, force=force)))

    async def do_load(self, name):
        """A warm-up; now and then its caller leaves."""
        task = asyncio.create_task(self.world.supervisor.load(name + self.chance.choice(("", "", "@vision"))))
        self.wishes.append(task)
        if self.chance.random() < 0.2:
            await self.world.clock.settle()
            task.cancel()

    async def do_kill(self, _):
        """The kernel takes a child."""
        if self.world.children.alive:
            self.chance.choice(self.world.children.alive).die()

    async def do_reset(self, _):
        """`ps --reset`."""
        self.world.supervisor.reset()

    async def do_row(self, name):
        """A row is replaced by another of the same name."""
        self.world.catalog.remove_model(name)
        self.world.catalog.add_model(a_model(name, ctx_train=8192, digest=f"{self.chance.random()}"))

    async def do_configure(self, name):
        """The file says something else about a model; a child that has it otherwise makes room."""
        said = {"b": {"slots": 3}, "c": {"slots": 0}}
        said.setdefault(name, {})["ctx"] = self.chance.choice((1024, 2048, 4096))
        self.wishes.append(asyncio.create_task(self.world.reconfigure(**said)))

    async def do_fast(self, name):
        """The hot path."""
        work = Work(kind=self.chance.choice(tuple(WorkClass)))
        if (lease := self.world.supervisor.try_lease(name, work=work)) is not None:
            self.leases.append(lease)

    def settled(self):
        """Nothing is counted any more, in `ps` and behind it."""
        lines = [one.front.line for one in self.world.supervisor._instances.values()]
        assert all((line.in_flight, line.raw_in_flight, line.abandoned, line.waiting) == (0, 0, 0, 0) for line in lines)
        assert all(line.depths() == () and line.next_deadline() is None for line in lines)

    def collect(self):
        """Whoever got an answer, good or bad."""
        for task in [task for task in self.asks if task.done()]:
            self.asks.remove(task)
            if task.cancelled():
                self.left += 1
            elif (error := task.exception()) is None:
                self.served += 1
                self.leases.append(task.result())
                assert task not in self.pictures or not task.result().blind
            else:
                assert isinstance(error, BlazarError), error
                self.refused += 1
        for task in [task for task in self.wishes if task.done()]:
            self.wishes.remove(task)
            assert task.cancelled() or task.exception() is None or isinstance(task.exception(), BlazarError)

    async def finish(self):
        """No new events: everybody who waits gets an answer within a bounded time."""
        for _ in range(400):
            while self.leases:
                self.leases.pop().release()
            if not self.asks and not self.wishes:
                return
            await self.world.clock.advance(1.0)
            self.collect()
        raise AssertionError(f"{len(self.asks)} requests and {len(self.wishes)} wishes hang")


@pytest.mark.parametrize("seed", range(8))
def test_fuzz_every_request_ends(seed):
    """Thousands of events with one, two or any number of places: nobody hangs, no counter sticks, no child stays."""
    cap = seed % 4

    def world():
        return World([a_model(name, ctx_train=8192) for name in NAMES], Limits(max_loaded_models=cap), b={"slots": 3})

    async def scenario(world):
        chaos = Chaos(world, seed)
        for _ in range(STEPS):
            await chaos.step()
            if cap:
                assert sum(child.alive for child in world.children.spawned) <= cap
        await chaos.finish()
        assert chaos.served > STEPS / 20
        chaos.settled()
        assert not world.told("supervisor_fault"), world.told("supervisor_fault")

    run(world, scenario)


@pytest.mark.parametrize("seed", range(8))
def test_fuzz_no_byte_is_given_away_twice(seed):
    """Whatever children use or were promised never exceeds the card, which two of the three share at most; nobody hangs."""
    sizes = ((10, 10, 12), (15, 6, 6), (13, 11, 10), (20, 20, 1))[seed % 4]

    async def scenario(world):
        chaos = Chaos(world, seed)
        for _ in range(STEPS // 2):
            await chaos.step()
            assert world.census.used <= CARD_BYTES
            held = [
                one.sizes({}) | {CARD: max(one.sizes({}).get(CARD, 0), dict(one.promised).get(CARD, 0))}
                for one in world.supervisor.tenants()
            ]
            assert sum(one.get(CARD, 0) for one in held) <= CARD_BYTES
        await chaos.finish()
        assert chaos.served > STEPS / 40
        chaos.settled()
        assert not world.told("supervisor_fault"), world.told("supervisor_fault")

    run(on_card(Limits(max_loaded_models=(0, 2)[seed % 2]), sizes, b={"slots": 3}), scenario)
