"""How much has come, how fast, over the last few seconds, and how long the rest will take. Pure: it is told what time it is."""

from math import exp
from typing import Final

SPAN_SECS: Final = 5.0
"""What is older than that counts for a third: long enough that one slow second does not look like the end, short enough to notice a change."""


LEAST_GIB: Final = 2**30 // 10
"""From here on bytes are told in GiB (case B20): with two decimals less would be one digit or nothing."""


def size_told(count: int) -> str:
    """What takes so many bytes is said to take, wherever a person reads it: in lists and in sentences alike."""
    return amount(count, count) if 0 < count < LEAST_GIB else f"{count / 2**30:.2f} GiB"


def amount(count: int, whole: int) -> str:
    """Bytes in the unit of the whole, so that the two can be compared at a glance, and neither reads as nothing."""
    largest = max(count, whole)
    if largest >= 2**30:
        return f"{count / 2**30:.2f} GiB"
    if largest >= 2**20:
        return f"{count / 2**20:.1f} MiB"
    return f"{count / 2**10:.1f} KiB" if largest >= 2**10 else f"{count} byte{'s' * (count != 1)}"


class Pace:
    """Bytes that were there when it began were not fetched: they count for no speed."""

    def __init__(self) -> None:
        self._at = self._rate = self._weight = 0.0
        self._done: int | None = None

    @property
    def rate(self) -> float:
        """Bytes a second; 0 where nothing is known yet."""
        return self._rate / self._weight if self._weight else 0.0

    def tell(self, now: float, done: int) -> None:
        """So many are there. Fewer than before are no speed: something is fetched again."""
        if self._done is None:
            self._at, self._done = now, done
            return
        seconds = now - self._at
        if seconds <= 0:  # two at once: the next one counts both
            return
        share = 1 - exp(-seconds / SPAN_SECS)
        self._rate += share * (max(0, done - self._done) / seconds - self._rate)
        self._weight += share * (1 - self._weight)  # what the average still lacks because it began at 0
        self._at, self._done = now, done

    def left(self, missing: int) -> float | None:
        """Seconds until so many bytes more are there; None where nobody can tell."""
        return max(0, missing) / self.rate if self.rate else None
