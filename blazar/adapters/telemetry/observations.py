"""What the sentinel observed as events, and so in the log: few of them, whatever a model does. Knows no word of an answer."""

from typing import Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Events, Served

KIND: Final = "sentinel_warning"
NOTE: Final = "sentinel"
PAUSE_SECS: Final = 10.0
"""Between two events of one code, as for refused keys: what comes meanwhile is counted, and every record has it anyway."""


class Observations:
    """One event for the first of a code after a pause; its `count` holds those that had none."""

    def __init__(self, events: Events, clock: Clock) -> None:
        self._events, self._clock = events, clock
        self._known: dict[str, tuple[float, int]] = {}

    def on_served(self, served: Served) -> None:
        """A request has ended; nearly every one without a note."""
        for _, note, facts in served.notes:
            if note == NOTE and not facts.get("own"):  # what its caller's own limit did is no news
                self._observe(served, str(facts.get("code", "")), str(facts.get("detail", "")))

    def _observe(self, served: Served, code: str, detail: str) -> None:
        until, count = self._known.get(code, (0.0, 0))
        now, count = self._clock.now(), count + 1
        if now >= until:
            self._events.emit(KIND, model=served.model, trace=served.trace, code=code, detail=detail, count=count)
            until, count = now + PAUSE_SECS, 0
        self._known[code] = (until, count)
