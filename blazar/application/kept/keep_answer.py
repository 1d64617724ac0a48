"""Keeps an answer for its caller. A disk that will not never costs the answer itself: it is told as a warning."""

from typing import Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.saved import Keeping, Saved, SavedStore
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble
from blazar.domain.wire.responses_kept import UNFINISHED

MOST_BYTES: Final = 256 * 2**20
"""Bytes of all responses together, and as many of all chat completions; beyond it the oldest go first. About a hundred thousand
answers of a page, or a few hundred with pictures in what was asked."""

LARGEST: Final = 16 * 2**20
"""Bytes of one. A conversation with its pictures fits; what is larger would push hundreds of others out."""

SLACK: Final = 8 * 2**20
"""Bytes that are added between two looks at what has to go: a look goes over every row."""

KEPT_SECONDS: Final = 30 * 24 * 3600.0
"""How long one is kept, as the service does."""


class KeepAnswer:
    """Blocking: call it off the loop."""

    def __init__(self, store: SavedStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._added: dict[Keeping, int] = {}
        self.trouble = False
        """The last answer could not be kept, so the next may not be either."""

    def __call__(self, saved: Saved) -> str:
        """Keep it and make room; the warning for its caller, empty where it is kept."""
        if saved.size > LARGEST:
            return teaching.warn_not_kept(teaching.too_large_to_keep(LARGEST))
        try:
            self._store.add(saved)
            self._make_room(saved)
        except StoreTrouble:
            self.trouble = True
            return teaching.warn_not_kept(teaching.disk_will_not())
        self.trouble = False
        return ""

    def _make_room(self, saved: Saved) -> None:
        added = self._added.get(saved.kind, SLACK) + saved.size
        if added >= SLACK:
            spared = UNFINISHED if saved.kind is Keeping.RESPONSE else ()
            self._store.trim(saved.kind, MOST_BYTES, self._clock.wall(), spared)
            added = 0
        self._added[saved.kind] = added
