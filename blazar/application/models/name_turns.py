"""Whose turn a name of the catalog is while its row, its links and its words change together. Changes nothing itself, fetches nothing.

Held for moments, behind every other claim and with nothing claimed inside: whoever removes, copies or creates waits for no download.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from hashlib import sha256
from typing import Final, Protocol

from blazar.application.models.arrivals import KEY
from blazar.application.ports.clock import Clock
from blazar.application.ports.landing import Landing
from blazar.application.supervise.waiting import settle
from blazar.domain import teaching
from blazar.domain.errors import Busy, StoreTrouble
from blazar.domain.names import folded

MOST_LOOKS: Final = 150
"""At a name that is somebody else's: half a minute, as often as a landing looks. A process that stands still must not hold up `rm` for ever."""
MOST_SECS: Final = 30.0
"""The same for who waits on the loop."""
LOOK_SECS: Final = 0.2
"""Between two looks at a name that another process has."""

Waiting = Callable[[], None]


class Turns(Protocol):
    """Of several names at once; `waiting` is called while one of them is somebody else's, without it `Busy` ends the wait."""

    def __call__(self, *names: str, waiting: Waiting | None = None) -> AbstractContextManager[None]: ...


class AwaitedTurns(Protocol):
    """The same on the event loop; `Busy` ends the wait."""

    def __call__(self, *names: str) -> AbstractAsyncContextManager[None]: ...


def unclaimed(*_: str, waiting: Waiting | None = None) -> nullcontext[None]:  # noqa: ARG001 - a turn is asked for so
    """Where the turn is had already, or nobody else is there."""
    return nullcontext()


class NameTurns(Turns):
    """By locks that a landing keeps, so that they hold between processes, too. `landing` is opened when the first is claimed."""

    def __init__(self, landing: Callable[[], Landing]) -> None:
        self._landing = landing

    @contextmanager
    def __call__(self, *names: str, waiting: Waiting | None = None) -> Iterator[None]:
        with ExitStack() as held:
            # On a full disk no lock can be made, and removing a model is what makes room.
            with suppress(StoreTrouble):
                held.enter_context(self._landing().claim([_key(name) for name in names], waiting or _limit(names)))
            yield


class LoopTurns(AwaitedTurns):
    """For who changes a name on the daemon's loop: waiting takes no thread, since those at work need the same few.

    Here by who came first; `turns` are tried behind that, for another process may have them.
    """

    def __init__(self, turns: Turns, clock: Clock) -> None:
        self._turns, self._clock = turns, clock
        self._held: set[str] = set()
        self._waiting: dict[asyncio.Future[None], frozenset[str]] = {}

    @asynccontextmanager
    async def __call__(self, *names: str) -> AsyncIterator[None]:
        keys, until = frozenset(map(folded, names)), self._clock.now() + MOST_SECS
        await self._come(keys, names)
        try:
            turn = await self._locked(names, until)
            try:
                yield
            finally:
                await asyncio.to_thread(_left, turn)
        finally:
            self._held -= keys
            self._let_in()

    async def _come(self, keys: frozenset[str], names: tuple[str, ...]) -> None:
        come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[come] = keys
        self._let_in()

        def late() -> None:
            settle(come, error=Busy(teaching.name_busy(names[-1])))

        timer, may = self._clock.call_later(MOST_SECS, late), False
        try:
            await come
            may = True
        finally:
            timer.cancel()
            if not may:
                self._give_up(come, keys)

    def _let_in(self) -> None:
        """Everybody who wants no name that somebody has, or wanted before."""
        taken = set(self._held)
        for come, keys in list(self._waiting.items()):
            if not come.done():
                if taken.isdisjoint(keys):
                    del self._waiting[come]
                    self._held |= keys
                    come.set_result(None)
                taken |= keys

    def _give_up(self, come: "asyncio.Future[None]", keys: frozenset[str]) -> None:
        if self._waiting.pop(come, None) is None:  # it was let in in the very moment
            self._held -= keys
        self._let_in()

    async def _locked(self, names: tuple[str, ...], until: float) -> AbstractContextManager[None]:
        while True:
            entering = asyncio.ensure_future(asyncio.to_thread(_entered, self._turns(*names, waiting=_refusing(names))))
            try:
                return await asyncio.shield(entering)
            except asyncio.CancelledError:
                entering.add_done_callback(_unwanted)
                raise
            except Busy:
                if self._clock.now() >= until:
                    raise
            await self._clock.sleep(LOOK_SECS)


def _entered(turn: AbstractContextManager[None]) -> AbstractContextManager[None]:
    turn.__enter__()
    return turn


def _left(turn: AbstractContextManager[None]) -> None:
    turn.__exit__(None, None, None)


def _unwanted(entering: "asyncio.Future[AbstractContextManager[None]]") -> None:
    """Whoever asked is gone: the thread that had begun to look may have found it free."""
    if not entering.cancelled() and entering.exception() is None:
        _left(entering.result())


def _refusing(names: tuple[str, ...]) -> Waiting:
    def refuse() -> None:
        raise Busy(teaching.name_busy(names[-1]))

    return refuse


def _key(name: str) -> str:
    """One for all names that cannot be told from each other."""
    return sha256(f"changes\0{folded(name)}".encode("utf-8", "replace")).hexdigest()[:KEY]


def _limit(names: tuple[str, ...]) -> Waiting:
    looks = 0

    def waiting() -> None:
        nonlocal looks
        looks += 1
        if looks > MOST_LOOKS:
            raise Busy(teaching.name_busy(names[-1]))

    return waiting
