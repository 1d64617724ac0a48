"""A coroutine that was begun outside of any task, and what is left of it: a task carries on where it had to wait.

What can mostly be done without waiting is done without waking anybody: a turn of the loop costs more than sending a piece does.
"""

from collections.abc import Coroutine, Generator
from typing import Any


class Begun:
    """`waits_for` is what its first `send(None)` gave; awaiting this is awaiting the rest."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], waits_for: Any) -> None:
        self._coroutine, self._waits_for = coroutine, waits_for

    def close(self) -> None:
        """Nobody will carry on."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        coroutine, waits_for = self._coroutine, self._waits_for
        try:
            while True:
                try:
                    got = yield waits_for
                except BaseException as error:  # noqa: BLE001 - passed on, a cancellation above all
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(got)
        except StopIteration:
            return
