"""One pull for everybody who wants the same: its steps to all of them; the last one who leaves stops it. Decides nothing about models.

Used on the event loop only. What blocks, blocks in a thread of its own, whose steps cross to the loop gathered.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from types import TracebackType
from typing import Final, Self

from blazar.application.models.at_once import AtOnce, ThreadSlot, Turn
from blazar.application.models.create_model import settled
from blazar.application.models.pulling import DONE, MANIFEST, OnePull, Pulled, Step, Wish
from blazar.application.models.slots import Slot
from blazar.application.ops.caller import Caller
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Events
from blazar.application.supervise.waiting import settle, within
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Fault, Refusal
from blazar.domain.harmless import public, public_sentence

logger = logging.getLogger("blazar.pulls")

BETWEEN_SECS: Final = 0.1
"""Between two lines about files that one watcher gets, whole ones too: a folder has hundreds. A status is told at once, behind them."""
MOST_AT_ONCE: Final = 4
"""Pulls that transfer at the same time. Each has a thread and up to 8 connections, and hashes what comes: with fifty of them every other
answer of the daemon took a second. A line is full with one."""
STOP_SECS: Final = 1.0
"""How long a stop of the daemon waits for the threads."""

_Key = tuple[str, str, str]
Told = dict[_Key, Step]
"""The last of each kind, in the order in which the kinds came first: what is replaced is progress of the same file."""


def _key(step: Step) -> _Key:
    return step.status, step.digest or step.file, step.note


def _is_paced(step: Step) -> bool:
    """Whether it can wait a little: it is about a file, and the next of its kind says all that this one does."""
    return bool(step.digest or step.file)


class Watching:
    """One who waits for a pull. `pulled` is there after the last step. Leave with `close`."""

    def __init__(self, transfer: "_Transfer", clock: Clock) -> None:
        self._transfer, self._clock = transfer, clock
        self._pending: Told = dict(transfer.told)
        self._changed: asyncio.Future[None] | None = None
        self._paced_at = float("-inf")

    @property
    def pulled(self) -> Pulled | None:
        """What came of it."""
        return self._transfer.pulled

    async def next(self, seconds: float = math.inf) -> Step | None:
        """The next step, `success` the last; None after `seconds` without one. Raises what ended the pull."""
        end = self._clock.now() + seconds
        while (due := self._due()) is None:
            if self._transfer.error is not None:
                raise self._transfer.error
            if self._clock.now() >= end:
                return None
            await self._change(min(end, self._paced_at) if self._pending else end)
        self._paced_at = self._clock.now() + BETWEEN_SECS
        return self._pending.pop(due)

    def add(self, step: Step) -> None:
        """One more."""
        self._pending[_key(step)] = step
        self.wake()

    def wake(self) -> None:
        """Something has changed."""
        if self._changed is not None:
            settle(self._changed)

    def close(self) -> None:
        """Idempotent."""
        self._transfer.leave(self)

    def _due(self) -> _Key | None:
        paced = self._clock.now() >= self._paced_at or self._transfer.is_over
        for key, step in self._pending.items():
            if paced:
                return key
            if not _is_paced(step):  # it comes behind all that was told before it
                return next(iter(self._pending))
        return None

    async def _change(self, until: float) -> None:
        """Something new, or that moment."""
        self._changed = asyncio.get_running_loop().create_future()
        if until == math.inf:
            await self._changed
        else:
            await within(self._clock, until - self._clock.now(), self._changed)


def _shown(wish: Wish) -> dict[str, str]:
    """Which pull an event is about: several of one reference may be under way, each by another name."""
    return {"reference": public(wish.reference)} | ({"name": wish.name} if wish.name else {})


def _nothing_to_mend() -> bool:
    return False


class _Transfer:
    """One pull under way."""

    def __init__(self, wish: Wish, clock: Clock) -> None:
        self.wish, self._clock = wish, clock
        self.caller = Caller()
        self.told: Told = {}
        self.pulled: Pulled | None = None
        self.error: BlazarError | None = None
        self.stopped = False
        self.task: asyncio.Task[None] | None = None
        self._watching: set[Watching] = set()

    @property
    def is_over(self) -> bool:
        """Nothing follows."""
        return self.pulled is not None or self.error is not None

    def watch(self) -> Watching:
        watching = Watching(self, self._clock)
        self._watching.add(watching)
        return watching

    def leave(self, watching: Watching) -> None:
        self._watching.discard(watching)
        if not self._watching and not self.is_over:
            self.stop(Refusal(teaching.pull_left()))

    def stop(self, why: BlazarError) -> None:
        """It ends with `why` as soon as its thread notices."""
        if not self.stopped:
            self.stopped = True
            self.caller.leave(why)

    def tell(self, step: Step) -> None:
        if self.is_over or self.told.get(_key(step)) == step:
            return
        self.told[_key(step)] = step
        for watching in self._watching:
            watching.add(step)

    def fail(self, error: BlazarError) -> None:
        """Everybody hears the same."""
        if not self.is_over:
            self.error = error
            self._wake()

    def succeed(self, pulled: Pulled) -> None:
        if not self.is_over:
            self.tell(Step(DONE))
            self.pulled = pulled
            self._wake()

    def _wake(self) -> None:
        for watching in self._watching:
            watching.wake()


class _Crossing:
    """From the thread of one pull to the loop: what comes before the loop gets to it is gathered."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Callable[[Step], None]) -> None:
        self._loop, self._tell = loop, tell
        self._lock = Lock()
        self._fresh: Told = {}

    def put(self, step: Step) -> None:
        """In the thread. The last step is told by whoever knows that everything has come of it."""
        if step.status == DONE:
            return
        with self._lock:
            waits = bool(self._fresh)
            self._fresh[_key(step)] = step
        if not waits:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self.drain)

    def drain(self) -> None:
        """On the loop."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for step in fresh.values():
            self._tell(step)


class _Outcome:
    """Takes what is raised inside to where it is waited for: in a thread nobody would hear it. What nobody foresaw is the log's."""

    error: BlazarError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, BlazarError):
            # Without what led to it: its frames hold a client with its certificates, a megabyte that would wait for the collector.
            error.__cause__ = error.__context__ = None
            self.error = error.with_traceback(None)
        elif error is not None:
            logger.error("a pull failed", exc_info=error)
            self.error = Fault(teaching.unexpected(type(error).__name__, str(error)))
        return True


class Pulls:
    """`begin` makes one pull, in its thread: that is where its modules are loaded. `catch_up` is awaited behind each.

    Has a life: its end ends every pull.
    """

    def __init__(
        self,
        begin: Callable[[Slot], OnePull],
        events: Events,
        clock: Clock,
        catch_up: Callable[[], Awaitable[None]] = settled,
        mended: Callable[[], bool] = _nothing_to_mend,
    ) -> None:
        self._begin, self._events, self._clock, self._catch_up = begin, events, clock, catch_up
        self._mended, self._at_once = mended, AtOnce(MOST_AT_ONCE)
        self._under_way: dict[Wish, _Transfer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def join(self, wish: Wish) -> Watching:
        """Whoever wants what is being pulled joins that, and hears what was told so far; else it begins."""
        if self._closed:
            raise Busy(teaching.shutting_down())
        transfer = self._under_way.get(wish)
        if transfer is None or transfer.stopped:
            before = None if transfer is None else transfer.task
            transfer = self._under_way[wish] = _Transfer(wish, self._clock)
            transfer.task = asyncio.create_task(self._run(transfer, before))
            self._tasks.add(transfer.task)
            transfer.task.add_done_callback(self._tasks.discard)
        return transfer.watch()

    async def start(self) -> None:
        """Nothing is pulled before somebody asks; what an earlier process left half done is put right."""
        if await asyncio.to_thread(self._mended):
            await self._catch_up()

    async def aclose(self) -> None:
        """Whoever waits hears that the daemon stops; what came is kept."""
        self._closed = True
        why = Busy(teaching.pull_shutting_down())
        for transfer in list(self._under_way.values()):
            transfer.stop(why)
            transfer.fail(why)
        if self._tasks:
            await within(self._clock, STOP_SECS, asyncio.gather(*self._tasks, return_exceptions=True))

    async def _run(self, transfer: _Transfer, before: "asyncio.Task[None] | None") -> None:
        if before is not None:  # it was stopped, and holds its files until it has noticed
            await asyncio.wait([before])
        shown = _shown(transfer.wish)
        self._events.emit("pull_started", **shown)
        try:
            async with self._at_once.turn(partial(self._queue, transfer)) as turn:
                pulled = await self._carried(transfer, turn)
            await self._catch_up()
        except BlazarError as error:
            self._events.emit("pull_failed", **shown, why=public_sentence(str(error)))
            transfer.fail(error)
        else:
            name = pulled.path if pulled.model is None else pulled.model.name
            self._events.emit("pulled", **shown, model=name, fresh=pulled.fresh)
            transfer.succeed(pulled)
        finally:
            if self._under_way.get(transfer.wish) is transfer:
                del self._under_way[transfer.wish]

    def _queue(self, transfer: _Transfer, turn: "asyncio.Future[None]") -> None:
        def stop(why: BlazarError) -> None:
            settle(turn, None, why)

        transfer.caller.stopped_by(stop)
        transfer.tell(Step(MANIFEST))
        transfer.tell(Step(MANIFEST, note=teaching.pull_queued(self._at_once.running)))

    async def _carried(self, transfer: _Transfer, turn: Turn) -> Pulled:
        loop = asyncio.get_running_loop()
        crossing, ended = _Crossing(loop, transfer.tell), loop.create_future()

        def carry() -> None:
            pulled, outcome = None, _Outcome()
            with outcome:
                pull = self._begin(ThreadSlot(loop, turn))
                transfer.caller.stopped_by(pull.stop)
                pulled = pull(transfer.wish, crossing.put)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(settle, ended, pulled, outcome.error)

        Thread(target=carry, name="pull", daemon=True).start()
        try:
            pulled: Pulled = await ended
            return pulled
        finally:
            # Lets go of the pull: an error that was raised to a watcher keeps what can be reached from there.
            transfer.caller = Caller()
