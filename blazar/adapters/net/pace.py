"""Whether what a host sends is a download still, or a trickle that would never end. Measures nothing itself, asks nobody.

Silence is none of its business: how often a silent host is asked again, and how long is waited in between, is bounded in patience.py.
"""

STOOD_SECS = 5.0
"""Between two looks, of which there are several a second: the process itself stood still (Ctrl-Z, a container that was paused)."""


class Pace:
    """`least` bytes must come in each `secs`. `now` and `came` are a monotonic clock and all bytes so far."""

    def __init__(self, secs: float, least: int, now: float, came: int, pauses: int = 0) -> None:
        self._secs, self._least = secs, least
        self._since = self._seen = now
        self._came, self._pauses, self._paused_at = came, pauses, -1

    def is_trickle(self, now: float, came: int, *, pauses: int = 0, resting: bool = False) -> bool:
        """Looked at several times a second. `pauses` were begun so far, each before a host is asked again; `resting`: all wait for one."""
        if came - self._came >= self._least:
            self._since, self._came = now, came
        elif resting or now - self._seen > STOOD_SECS:
            self._since += now - self._seen
        if pauses != self._pauses:
            if came == self._paused_at:  # not a byte since the one before it: that is silence
                self._since, self._came = now, came
            self._pauses, self._paused_at = pauses, came
        self._seen = now
        return now - self._since >= self._secs
