"""Which key has had its share: a grant costs its key 1/weight, and who has spent less goes first (D16).

When one has spent `RESET_AT`, all begin anew from where it stood before: who was silent for long must not have saved up turns without
end, and who has just spent more than the others, as a light key does with every grant, still has.
"""

from typing import Final

RESET_AT: Final = 256.0
DEAREST: Final = 2.0**40
"""What a grant costs at most: beyond it the figures of others would be lost in rounding. Nobody waits for that many turns."""


class Credits:
    """What each key has spent at one model. Remembers only those who did since the last reset."""

    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}

    def of(self, key: str) -> float:
        """Spent so far."""
        return self._spent.get(key, 0.0)

    def charge(self, key: str, weight: float) -> bool:
        """One grant; whether with it everybody's figure is another one."""
        before = self._spent.get(key, 0.0)
        spent = before + min(1.0 / weight, DEAREST)
        self._spent[key] = spent
        if spent < RESET_AT or not before:
            return False
        self._spent = {name: left - before for name, left in self._spent.items() if left > before}
        return True

    def refund(self, key: str, weight: float) -> None:
        """A grant that was of no use."""
        left = self._spent.get(key, 0.0) - min(1.0 / weight, DEAREST)
        if left > 0:
            self._spent[key] = left
        else:
            self._spent.pop(key, None)
