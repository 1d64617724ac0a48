"""One speed limit for everything that is downloaded: a bucket of tokens that holds one second's worth. Knows no file and no host."""

from collections.abc import Callable
from threading import Lock

MEGABYTE = 1_000_000
_SHORTEST_WAIT, _LONGEST_WAIT = 0.001, 0.25
"""Seconds of one wait: an end of the download, and a changed limit, are noticed between two."""


class Throttle:
    """`limit` is the megabytes a second as they are configured now, 0 for none; `now` a monotonic clock."""

    def __init__(self, limit: Callable[[], int], now: Callable[[], float]) -> None:
        self._limit, self._now = limit, now
        self._lock = Lock()
        self._filled_at = now()
        self._held: float | None = None

    def take(self, size: int, wait: Callable[[float], object]) -> None:
        """Account for `size` bytes that came; `wait` is called with seconds until they may have.

        Bytes are paid for after they came: the bucket may go below nothing, by one block for each connection.
        """
        pause = self._take(size)
        while pause > 0:
            wait(max(_SHORTEST_WAIT, min(pause, _LONGEST_WAIT)))
            pause = self._take(0)

    def _take(self, size: int) -> float:
        with self._lock:
            rate = self._limit() * MEGABYTE
            now = self._now()
            if rate <= 0:
                self._held, self._filled_at = None, now
                return 0.0
            held = rate if self._held is None else self._held
            held = min(rate, held + (now - self._filled_at) * rate)
            self._held, self._filled_at = held - size, now
            return -self._held / rate if self._held < 0 else 0.0
