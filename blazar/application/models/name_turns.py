"""Whose turn a name of the catalog is while its row, its links and its words change together. Changes nothing itself, fetches nothing.

Held for moments, behind every other claim and with nothing claimed inside: whoever removes, copies or creates waits for no download.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from hashlib import sha256
from typing import Final, Protocol

from blazar.application.models.arrivals import KEY
from blazar.application.ports.landing import Landing
from blazar.domain import teaching
from blazar.domain.errors import Busy, StoreTrouble
from blazar.domain.names import folded

MOST_LOOKS: Final = 150
"""At a name that is somebody else's: half a minute, as often as a landing looks. A process that stands still must not hold up `rm` for ever."""

Waiting = Callable[[], None]


class Turns(Protocol):
    """Of several names at once; `waiting` is called while one of them is somebody else's, without it `Busy` ends the wait."""

    def __call__(self, *names: str, waiting: Waiting | None = None) -> AbstractContextManager[None]: ...


def unclaimed(*_: str, waiting: Waiting | None = None) -> AbstractContextManager[None]:  # noqa: ARG001 - a turn is asked for so
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
