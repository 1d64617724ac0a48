"""A coroutine that was begun outside of any task, and what is left of it: a task carries on where it had to wait.

What can mostly be done without waiting is done without waking anybody: a turn of the loop costs more than sending a piece does.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class Begun:
    """`waits_for` is what its first `send(None)` gave; awaiting this is awaiting the rest.

    Cancelled before it was carried on, the coroutine is closed: it must not wait in order to clean up.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, None], waits_for: "asyncio.Future[Any] | None") -> None:
        self._coroutine, self._waits_for = coroutine, waits_for

    def close(self) -> None:
        """Nobody will carry on."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            if self._waits_for is not None:  # a bare turn of the loop has been had by now
                # Waited for and not asked: what it has to say, an error too, is the coroutine's to hear.
                yield from asyncio.wait((self._waits_for,)).__await__()
            yield from self._coroutine.__await__()
        finally:
            self._coroutine.close()
