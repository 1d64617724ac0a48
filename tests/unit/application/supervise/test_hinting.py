"""The scrape of a minute: who is asked, what follows, and that nobody is waited for."""

import asyncio
from typing import Any

from blazar.adapters.engines.drivers import SPECS
from blazar.application.ports.upstream import ChildAnswer
from blazar.application.supervise.hinting import EVERY_SECS, Resident, WatchHints
from blazar.domain.errors import ChildSilent
from tests.fakes.clock import FakeClock
from tests.fakes.engines import an_engine

TEXT = b"llamacpp:prompt_tokens_total %d\nllamacpp:prompt_tokens_cached_total %d\n"


class Door:
    """An upstream that answers as told; `None` never does."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []

    async def fetch(self, call: Any, within: float) -> ChildAnswer:
        self.asked.append(call.path)
        answer = self.answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return ChildAnswer(
            200 if isinstance(answer, bytes) else answer, (), answer if isinstance(answer, bytes) else b""
        )


class Serving:
    """As much of a tenure as is looked at."""

    def __init__(self, door: Door) -> None:
        from blazar.domain.instance.hints import CacheHints

        self.hints, self.hinted_at = CacheHints(), None
        self.launch = type("L", (), {"engine": an_engine()})()
        self.child = type("C", (), {"upstream": door})()


def watching(clock: FakeClock, *residents: Resident) -> WatchHints:
    return WatchHints(lambda: residents, SPECS, clock)


def test_a_child_that_is_used_is_asked_every_minute():
    """What it counted becomes its hint."""

    async def go() -> None:
        clock, door = FakeClock(), Door(TEXT % (50, 50), TEXT % (50, 150))
        tenure: Any = Serving(door)
        task = asyncio.create_task(watching(clock, Resident(tenure, None)).run())
        await clock.settle()
        await clock.advance(EVERY_SECS)
        assert tenure.hints.cache_hint == 0.5
        await clock.advance(EVERY_SECS)
        assert tenure.hints.cache_hint > 0.6
        assert door.asked == [b"/metrics", b"/metrics"]
        task.cancel()

    asyncio.run(go())


def test_odd_a_child_is_asked_only_where_it_was_used_since_the_last_time():
    """Once after its last request, and no more."""

    async def go() -> None:
        clock, door = FakeClock(), Door(TEXT % (1, 1), TEXT % (1, 1))
        tenure: Any = Serving(door)
        watch = watching(clock, Resident(tenure, clock.now()))
        await watch.look()
        await clock.advance(60.0)
        await watch.look()
        await watch.look()
        assert len(door.asked) == 1

    asyncio.run(go())


def test_one_that_hangs_or_fails_holds_nobody_up():
    """The others' hints are there at once, and its own stay as they were."""

    async def go() -> None:
        clock = FakeClock()
        hangs, broke, refuses, well = Door(None), Door(ChildSilent("x")), Door(503), Door(TEXT % (9, 3))
        tenures: list[Any] = [Serving(door) for door in (hangs, broke, refuses, well)]
        task = asyncio.create_task(watching(clock, *(Resident(one, None) for one in tenures)).look())
        await clock.settle()
        assert [one.hints.cache_hint for one in tenures] == [None, None, None, 0.25]
        assert not task.done()
        task.cancel()

    asyncio.run(go())


def test_a_kind_that_counts_nothing_is_not_asked():
    """It has no such route."""

    async def go() -> None:
        from blazar.domain.kinds import EngineKind

        door = Door()
        tenure: Any = Serving(door)
        tenure.launch.engine = an_engine(kind=EngineKind.MLX)
        await watching(FakeClock(), Resident(tenure, None)).look()
        assert door.asked == []

    asyncio.run(go())
