"""Events for whoever listens."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from blazar.adapters.telemetry.feed import Feed
from blazar.application.ports.telemetry import Listening
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryEvents


def fed(scenario: Callable[[Feed, FakeClock], Awaitable[None]], **sizes: int) -> None:
    """One scenario over a fresh feed; no timer is left."""

    async def main() -> None:
        clock = FakeClock()
        await scenario(Feed(MemoryEvents(), clock, **sizes), clock)
        assert clock.pending == 0

    asyncio.run(main())


async def kinds(listener: Listening) -> list[str] | None:
    """What comes next, in short."""
    told = await listener.next(10)
    return None if told is None else [f"{one.kind}{one.facts.get('count', '')}" for one in told]


def test_every_listener_hears_every_event_once() -> None:
    """In order, with growing numbers and the time; the log hears it first."""

    async def scenario(feed: Feed, clock: FakeClock) -> None:
        one, other = feed.listen(), feed.listen()
        feed.emit("loading", model="m")
        feed.emit("serving", model="m")
        told = await one.next(10)
        assert [(event.id, event.kind, event.facts) for event in told or ()] == [
            (1, "loading", {"model": "m"}),
            (2, "serving", {"model": "m"}),
        ]
        assert {event.at for event in told or ()} == {clock.wall()}
        assert await kinds(other) == ["loading", "serving"]

    fed(scenario)


def test_only_those_part_whose_key_does_not_stay() -> None:
    """Whoever was let in by a key that still stands hears on, over the same stream."""

    async def scenario(feed: Feed, clock: FakeClock) -> None:
        del clock
        feed.emit("started")
        ann, bob = feed.listen(key="ann"), feed.listen(key="bob")
        assert ann.since == 1
        feed.part(lambda key: key == "ann")
        feed.emit("later")
        assert [await kinds(ann), await kinds(bob)] == [["later"], None]
        ann.close()

    fed(scenario)


def test_who_is_parted_hears_what_was_told_before_and_no_more() -> None:
    """The feed goes on: who comes again gets what he missed."""

    async def scenario(feed: Feed, clock: FakeClock) -> None:
        listener = feed.listen()
        feed.emit("loading")
        feed.part()
        feed.emit("serving")
        assert [await kinds(listener), await kinds(listener)] == [["loading"], None]
        assert feed.listeners == 0
        listener.close()
        assert await kinds(feed.listen(1)) == ["serving"]

    fed(scenario)


def test_a_waiting_listener_is_woken() -> None:
    """And after a silence it is told nothing, so that its client can be kept awake."""

    async def scenario(feed: Feed, clock: FakeClock) -> None:
        listener = feed.listen()
        waiting = asyncio.create_task(kinds(listener))
        await clock.settle()
        feed.emit("loading")
        assert await waiting == ["loading"]
        silent = asyncio.create_task(kinds(listener))
        await clock.advance(10)
        assert await silent == []

    fed(scenario)


def test_odd_the_newest_event_is_dropped() -> None:
    """A slow listener loses events and is told how many. What it has is without a hole: the rest can be asked for by the last number."""

    async def scenario(feed: Feed, _: FakeClock) -> None:
        slow = feed.listen()
        for number in range(5):
            feed.emit(f"e{number}")
        told = await slow.next(10)
        assert [(one.id, one.kind) for one in told or ()] == [(1, "e0"), (2, "e1"), (0, "dropped")]
        assert (told or ())[-1].facts == {"count": 3}
        feed.emit("later")
        assert await kinds(slow) == ["later"]
        assert await kinds(feed.listen(2)) == ["e2", "e3", "e4", "later"]

    fed(scenario, bound=2)


def test_who_comes_back_hears_what_was_missed() -> None:
    """As far as it is still known; without a number only what is new."""

    async def scenario(feed: Feed, _: FakeClock) -> None:
        for number in range(1, 6):
            feed.emit(f"e{number}")
        assert await kinds(feed.listen(4)) == ["e5"]
        assert await kinds(feed.listen(1)) == ["dropped1", "e3", "e4", "e5"]
        assert await kinds(feed.listen(0)) == ["dropped2", "e3", "e4", "e5"]
        assert await kinds(feed.listen(700)) == ["dropped2", "e3", "e4", "e5"], "a number of an earlier start"
        fresh = feed.listen()
        feed.emit("e6")
        assert await kinds(fresh) == ["e6"]

    fed(scenario, history=3)


def test_the_end_comes_after_what_was_told_before() -> None:
    """Also to one that waits, and to one that comes too late."""

    async def scenario(feed: Feed, clock: FakeClock) -> None:
        await feed.start()
        idle, behind = feed.listen(), feed.listen()
        waiting = asyncio.create_task(kinds(idle))
        await clock.settle()
        feed.emit("evicted")
        assert await waiting == ["evicted"]
        waiting = asyncio.create_task(kinds(idle))
        await clock.settle()
        await feed.aclose()
        assert await waiting is None
        assert [await kinds(behind), await kinds(behind)] == [["evicted"], None]
        assert await kinds(feed.listen()) is None

    fed(scenario)


def test_who_left_is_forgotten() -> None:
    """A client that goes must not be kept a queue for."""

    async def scenario(feed: Feed, _: FakeClock) -> None:
        listener = feed.listen()
        assert feed.listeners == 1
        listener.close()
        listener.close()
        assert feed.listeners == 0

    fed(scenario)


@pytest.mark.parametrize("count", [200])
def test_events_may_be_told_from_any_thread(count: int) -> None:
    """Each reaches the listener, in the order of their numbers."""

    async def scenario(feed: Feed, _: FakeClock) -> None:
        listener = feed.listen()
        threads = [threading.Thread(target=lambda: [feed.emit("x") for _ in range(count // 4)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told = await listener.next(10)
        assert [one.id for one in told or ()] == list(range(1, count + 1))

    fed(scenario)


def test_no_fact_is_a_secret() -> None:
    """Neither for listeners nor in the log: a path and a model's name are a caller's words."""
    secret = "plm_" + "5ecret" * 8

    async def scenario(feed: Feed, clock: FakeClock) -> None:
        listener = feed.listen()
        feed.emit("key_refused", peer="::1", path=f"/v1/models/{secret}", count=1)
        told = await listener.next(10)
        assert [one.facts for one in told or ()] == [{"peer": "::1", "path": "/v1/models/plm_…", "count": 1}]

    fed(scenario)
