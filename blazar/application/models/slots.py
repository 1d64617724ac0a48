"""The leave to transfer, of which a daemon gives a few at the same time: lent to others while its owner waits for files. Decides nothing."""

from collections.abc import Callable
from typing import Final, Protocol


class Slot(Protocol):
    """Had when a pull begins. From its thread alone."""

    def lend(self) -> None:
        """For as long as it waits for what somebody else brings. As often as it likes."""
        ...

    def take_back(self, waiting: Callable[[], None]) -> None:
        """Before it transfers; `waiting` is called until it may, and ends the wait by what it raises."""
        ...


class Unlimited(Slot):
    """Where nobody counts: a process that pulls one model."""

    def lend(self) -> None:
        pass

    def take_back(self, waiting: Callable[[], None]) -> None:
        pass


UNLIMITED: Final = Unlimited()
