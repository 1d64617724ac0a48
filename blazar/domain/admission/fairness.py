"""Which key has had its share: a grant costs its key 1/weight, and who has spent less goes first (D16).

When one has spent `RESET_AT`, all begin anew: who was silent for long must not have saved up turns without end.
"""

from typing import Final

RESET_AT: Final = 256.0


class Credits:
    """What each key has spent at one model. Remembers only those who did since the last reset."""

    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}

    def of(self, key: str) -> float:
        """Spent so far."""
        return self._spent.get(key, 0.0)

    def charge(self, key: str, weight: float) -> bool:
        """One grant; whether with it everybody begins anew."""
        spent = self._spent.get(key, 0.0) + 1.0 / weight
        if spent >= RESET_AT:
            self._spent.clear()
            return True
        self._spent[key] = spent
        return False
