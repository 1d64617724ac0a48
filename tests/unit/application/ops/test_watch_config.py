"""When the configuration is read again."""

import asyncio
from collections.abc import Awaitable, Callable

from blazar.application.ops.watch_config import POLL_SECS, WatchConfig
from tests.fakes.clock import FakeClock
from tests.support.supervision import at_once


class Watched:
    """A file whose stamp a test sets, and the readings that follow."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.stamp: object = 1
        self.readings: list[tuple[object, bool]] = []
        self.watch = WatchConfig(clock, lambda: self.stamp, 1, at_once)

    async def reload(self, *, asked: bool = False) -> None:
        self.readings.append((self.stamp, asked))

    async def look(self, *stamps: object) -> list[tuple[object, bool]]:
        """The readings while the file has these stamps, one a look."""
        before = len(self.readings)
        for self.stamp in stamps:
            await self.clock.advance(POLL_SECS)
        return self.readings[before:]


def watched(scenario: Callable[[Watched], Awaitable[None]]) -> None:
    """Run it beside the watch, and end that."""

    async def main() -> None:
        file = Watched(FakeClock())
        task = asyncio.create_task(file.watch.run(file.reload))
        await file.clock.settle()
        await scenario(file)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert file.clock.pending == 0

    asyncio.run(main())


def test_a_file_at_rest_is_not_read() -> None:
    """However often it is looked at."""

    async def scenario(file: Watched) -> None:
        assert await file.look(1, 1, 1, 1) == []

    watched(scenario)


def test_between_a_change_and_its_reading_the_file_is_ahead() -> None:
    """Who asks what runs is told that the file says more by now."""

    async def scenario(file: Watched) -> None:
        assert not file.watch.behind()
        await file.look(2)
        assert file.watch.behind()
        await file.look(2)
        assert not file.watch.behind()

    watched(scenario)


def test_while_it_is_read_the_file_is_still_ahead() -> None:
    """What was asked then may show what held before."""
    seen: list[bool] = []

    async def scenario(file: Watched) -> None:
        async def reload(*, asked: bool = False) -> None:
            seen.append(asked and file.watch.behind())

        file.stamp = 2
        await file.watch.catch_up(reload)
        assert (seen, file.watch.behind()) == ([True], False)

    watched(scenario)


def test_a_changed_file_is_read_once_two_looks_agree() -> None:
    """One that is still being written is no configuration yet."""

    async def scenario(file: Watched) -> None:
        assert await file.look(2) == []
        assert await file.look(3) == []
        assert await file.look(3, 3, 3) == [(3, False)]

    watched(scenario)


def test_a_file_that_comes_back_as_it_was_is_no_change() -> None:
    """An editor may write beside it and rename."""

    async def scenario(file: Watched) -> None:
        assert await file.look(2, 1, 2, 1, 1, 1) == []

    watched(scenario)


def test_a_file_that_goes_or_appears_is_a_change() -> None:
    """None is a stamp as any other."""

    async def scenario(file: Watched) -> None:
        assert await file.look(None, None, None) == [(None, False)]
        assert await file.look(5, 5) == [(5, False)]

    watched(scenario)


def test_who_asks_is_answered_at_once() -> None:
    """Whatever the stamp says, and what was read then is not read again."""

    async def scenario(file: Watched) -> None:
        file.watch.ask()
        file.watch.ask()
        await file.clock.settle()
        assert file.readings == [(1, True)]
        file.stamp = 2
        file.watch.ask()
        await file.clock.settle()
        assert await file.look(2, 2, 2) == []
        assert file.readings == [(1, True), (2, True)]

    watched(scenario)


def test_a_hangup_while_the_daemon_is_built_is_not_lost() -> None:
    """It is answered as soon as somebody listens."""

    async def main() -> None:
        file = Watched(FakeClock())
        file.watch.ask()
        task = asyncio.create_task(file.watch.run(file.reload))
        await file.clock.settle()
        assert file.readings == [(1, True)]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_what_was_written_before_the_watch_began_is_found() -> None:
    """As the keys of BLAZAR_KEYS are."""

    async def main() -> None:
        clock = FakeClock()
        file = Watched(clock)
        file.watch = WatchConfig(clock, lambda: file.stamp, 0, at_once)
        task = asyncio.create_task(file.watch.run(file.reload))
        await clock.settle()
        assert await file.look(1, 1, 1) == [(1, False)]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_who_has_written_it_has_it_read_at_once() -> None:
    """Where it is another one now, and only once: the next look finds nothing new."""

    async def scenario(file: Watched) -> None:
        await file.watch.catch_up(file.reload)
        assert file.readings == []
        file.stamp = 2
        await file.watch.catch_up(file.reload)
        assert file.readings == [(2, True)]
        assert not file.watch.behind()
        assert await file.look(2, 2, 2) == []

    watched(scenario)


def test_who_catches_up_while_it_is_read_has_it_read_again() -> None:
    """That reading may have begun before the file was written, and its end is waited for by neither stamp."""

    async def scenario(file: Watched) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()
        readings = []

        async def reload(*, asked: bool = False) -> None:
            readings.append(asked)
            if len(readings) == 1:
                begun.set()
                await go_on.wait()

        file.stamp = 2
        first = asyncio.ensure_future(file.watch.catch_up(reload))
        await begun.wait()
        await file.watch.catch_up(reload)
        assert readings == [True, True]
        go_on.set()
        await first
        await file.watch.catch_up(reload)
        assert len(readings) == 2

    watched(scenario)
