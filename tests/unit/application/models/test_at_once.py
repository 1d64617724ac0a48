"""How many transfer at the same time."""

import asyncio

import pytest

from blazar.application.models.at_once import AtOnce, ThreadSlot
from blazar.domain.errors import Refusal

WATCHDOG = 10.0


def test_the_others_wait_in_their_order() -> None:
    """Each goes on when one before it is done."""

    async def play() -> None:
        at_once, order, ends = AtOnce(2), list[int](), [asyncio.Event() for _ in range(5)]

        async def one(number: int) -> None:
            async with at_once.turn(lambda _: None):
                order.append(number)
                await ends[number].wait()

        tasks = [asyncio.create_task(one(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert (order, at_once.running) == ([0, 1], 2)
        for number in range(5):
            ends[number].set()
            await tasks[number]
        assert (order, at_once.running) == ([0, 1, 2, 3, 4], 0)

    asyncio.run(asyncio.wait_for(play(), WATCHDOG))


def test_who_waits_may_be_stopped() -> None:
    """At once, and takes nobody's turn along: neither by an error nor by leaving."""

    async def play() -> None:
        at_once, end, turns = AtOnce(1), asyncio.Event(), list["asyncio.Future[None]"]()

        async def one() -> None:
            async with at_once.turn(turns.append):
                await end.wait()

        tasks = [asyncio.create_task(one()) for _ in range(4)]
        await asyncio.sleep(0)
        turns[0].set_exception(Refusal("enough"))
        with pytest.raises(Refusal, match="enough"):
            await tasks[1]
        tasks[2].cancel()
        end.set()
        await asyncio.wait(tasks)
        assert tasks[2].cancelled()
        assert tasks[3].exception() is None
        assert at_once.running == 0

    asyncio.run(asyncio.wait_for(play(), WATCHDOG))


def test_who_leaves_when_its_turn_has_come_hands_it_on() -> None:
    """In the very moment: nothing is lost for those behind it."""

    async def play() -> None:
        at_once, end = AtOnce(1), asyncio.Event()

        async def one() -> None:
            async with at_once.turn(lambda _: None):
                await end.wait()

        tasks = [asyncio.create_task(one()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].add_done_callback(lambda _: tasks[1].cancel())
        end.set()
        await asyncio.wait(tasks)
        assert at_once.running == 0
        assert tasks[2].exception() is None

    asyncio.run(asyncio.wait_for(play(), WATCHDOG))


def test_a_turn_that_is_lent_is_another_s_and_comes_back_first() -> None:
    """Before those who have not begun; who ends while it is lent gives nothing away twice."""

    async def play() -> None:
        at_once, order, ends = AtOnce(1), list[str](), {name: asyncio.Event() for name in "abc"}

        async def lending() -> None:
            async with at_once.turn(lambda _: None) as turn:
                turn.lend()
                turn.lend()
                await asyncio.sleep(0)
                await turn.take_back()
                order.append("a")
                turn.lend()
                await ends["a"].wait()

        async def one(name: str) -> None:
            async with at_once.turn(lambda _: None) as turn:
                await turn.take_back()
                order.append(name)
                await ends[name].wait()

        tasks = [asyncio.create_task(lending()), asyncio.create_task(one("b")), asyncio.create_task(one("c"))]
        while order != ["b"]:
            await asyncio.sleep(0)
        ends["b"].set()
        await tasks[1]
        while len(order) < 3:
            await asyncio.sleep(0)
        assert order == ["b", "a", "c"]
        ends["a"].set()
        await tasks[0]
        assert at_once.running == 1
        ends["c"].set()
        await tasks[2]
        assert at_once.running == 0

    asyncio.run(asyncio.wait_for(play(), WATCHDOG))


def test_where_the_loop_has_ended_nobody_counts() -> None:
    """A thread that outlives it is not held up by it."""

    async def play() -> ThreadSlot:
        async with AtOnce(1).turn(lambda _: None) as turn:
            return ThreadSlot(asyncio.get_running_loop(), turn)

    slot = asyncio.run(play())
    slot.lend()
    slot.take_back(lambda: None)
