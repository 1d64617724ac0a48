"""Whose turn a name is while it changes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from blazar.adapters.files.landing import DiskLanding
from blazar.application.models.name_turns import LOOK_SECS, MOST_LOOKS, LoopTurns, NameTurns, unclaimed
from blazar.domain.errors import Busy
from tests.fakes.clock import FakeClock


@pytest.fixture
def turns(tmp_path: Path) -> NameTurns:
    return NameTurns(lambda: DiskLanding(tmp_path / "downloads", sleep=lambda _: None))


@pytest.mark.parametrize("other", ["d:1", "D:1", "e"])
def test_who_changes_a_name_has_it_alone(turns: NameTurns, other: str) -> None:
    """In whatever letters; one of two names is enough. Who waits too long hears that somebody else has it."""
    with turns("d:1", "e"), pytest.raises(Busy, match="changing the model"), turns(other):
        pass


def test_latest_means_no_tag(turns: NameTurns) -> None:
    """As it does in the catalog."""
    with turns("m:latest"), pytest.raises(Busy), turns("m"):
        pass


def test_other_names_are_free(turns: NameTurns, tmp_path: Path) -> None:
    """And nothing of the turns is left behind; it may be had again at once."""
    with turns("d:1"), turns("d:2"):
        pass
    with turns("d:1"):
        pass
    assert list((tmp_path / "downloads").iterdir()) == []


def test_who_waits_goes_on_when_it_is_free(turns: NameTurns) -> None:
    """And may say that it waits, for as long as it likes."""
    looked, left = Event(), Event()
    looks = []

    def waiting() -> None:
        looks.append(1)
        if len(looks) > MOST_LOOKS:
            looked.set()

    def second() -> bool:
        with turns("d:1", waiting=waiting):
            return left.is_set()

    with ThreadPoolExecutor(1) as pool:
        with turns("d:1"):
            waits = pool.submit(second)
            assert looked.wait(30)
            left.set()
        assert waits.result(30)


def test_a_disk_that_takes_no_lock_keeps_nobody_from_removing(tmp_path: Path) -> None:
    """A full one most of all."""
    (tmp_path / "downloads").write_bytes(b"")  # no folder can be made there
    with NameTurns(lambda: DiskLanding(tmp_path / "downloads"))("d:1"):
        pass


def test_nothing_is_claimed_where_the_turn_is_had() -> None:
    """For what a use case is made of that has it already."""
    with unclaimed("d:1"), unclaimed("d:1"):
        pass


class Loop:
    """A loop with two threads for everybody, and what was changed one after another."""

    def __init__(self, turns: NameTurns) -> None:
        self.clock, self.done = FakeClock(), list[str]()
        self.turns = LoopTurns(turns, self.clock)

    def run(self, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def bounded() -> None:
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
            await asyncio.wait_for(main(), 60)

        asyncio.run(bounded())

    async def change(self, *names: str, work: Callable[[], Awaitable[Any]] | None = None) -> None:
        """By whoever needs threads for it, as all do."""
        async with self.turns(*names):
            for _ in range(3):
                await asyncio.to_thread(lambda: None)
            if work is not None:
                await work()
            self.done.append("+".join(names))

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.to_thread(lambda: None)


@pytest.fixture
def loop(turns: NameTurns) -> Loop:
    return Loop(turns)


def test_who_waits_on_the_loop_leaves_the_threads_to_who_works(loop: Loop) -> None:
    """Of many more than there are threads none waits for time, and all come to their turn in the order in which they came."""
    pairs = [("m", f"c{number}") for number in range(9)]

    async def main() -> None:
        await asyncio.gather(*(loop.change(*pair) for pair in pairs))

    loop.run(main)
    assert loop.done == ["+".join(pair) for pair in pairs]
    assert loop.clock.pending == 0


def test_a_name_that_another_process_has_holds_up_no_other_name(loop: Loop, turns: NameTurns) -> None:
    """However many wait for it; once it is free they go on, without a word."""

    async def main() -> None:
        with turns("d:1"):
            waiting = [asyncio.ensure_future(loop.change("D:1")) for _ in range(6)]
            await loop.change("e")
            assert loop.done == ["e"]
            await loop.until(lambda: loop.clock.pending == len(waiting))  # the first pauses, the others wait for it
        await loop.clock.advance(LOOK_SECS)
        await asyncio.gather(*waiting)

    loop.run(main)
    assert loop.done == ["e", *["D:1"] * 6]


def test_who_waits_too_long_on_the_loop_hears_who_has_it(loop: Loop, turns: NameTurns) -> None:
    """Whether another process has it or another task, whoever is before it."""
    ended, held = asyncio.Event(), list[BaseException | None]()

    async def main() -> None:
        with turns("d:1"):
            waiting = [asyncio.ensure_future(loop.change("d:1")) for _ in range(3)]
            works = asyncio.ensure_future(loop.change("e", work=ended.wait))
            behind = asyncio.ensure_future(loop.change("e"))
            while not all(one.done() for one in (*waiting, behind)):
                assert not works.done()
                await loop.clock.advance(1.0)
                await asyncio.to_thread(lambda: None)
            held.extend(one.exception() for one in (*waiting, behind))
            ended.set()
            await works
        await loop.change("d:1", "e")

    loop.run(main)
    assert [type(error) for error in held] == [Busy] * 4
    assert "changing the model d:1" in str(held[0])
    assert loop.done == ["e", "d:1+e"]


def test_who_leaves_while_it_waits_on_the_loop_keeps_nobody_out(loop: Loop) -> None:
    """Those behind it come to their turn."""
    ended = asyncio.Event()

    async def main() -> None:
        works = asyncio.ensure_future(loop.change("d", work=ended.wait))
        leaves = asyncio.ensure_future(loop.change("d", "e"))
        behind = asyncio.ensure_future(loop.change("e"))
        await asyncio.sleep(0)
        leaves.cancel()
        with suppress(asyncio.CancelledError):
            await leaves
        await behind
        ended.set()
        await works

    loop.run(main)
    assert loop.done == ["e", "d"]
    assert loop.clock.pending == 0


def test_who_leaves_as_its_thread_finds_the_name_free_has_it_no_more(loop: Loop, turns: NameTurns) -> None:
    """Or nobody could change that model until the daemon ends."""
    begun, on = Event(), Event()

    @contextmanager
    def slow(*names: str, waiting: Any = None) -> Iterator[None]:
        begun.set()
        assert on.wait(60)
        with turns(*names, waiting=waiting):
            yield

    async def main() -> None:
        loop.turns = LoopTurns(slow, loop.clock)
        leaves = asyncio.ensure_future(loop.change("d"))
        await loop.until(begun.is_set)
        leaves.cancel()
        with suppress(asyncio.CancelledError):
            await leaves
        on.set()
        behind = asyncio.ensure_future(loop.change("d"))
        while not behind.done():
            if loop.clock.pending:  # it came while the other's thread was still on its way out
                await loop.clock.advance(LOOK_SECS)
            await asyncio.to_thread(lambda: None)
        await behind

    loop.run(main)
    assert loop.done == ["d"]
