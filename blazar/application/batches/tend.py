"""What is done about kept files and batches when nobody asks: once at the start what a crash left, later what has expired."""

import logging
from dataclasses import dataclass
from typing import Final

from blazar.application.batches.ledger import Aside, in_thread
from blazar.application.files.shelf import NO_BOUND, FileShelf
from blazar.application.ports.batch_papers import BatchPapers
from blazar.application.ports.saved import Keeping
from blazar.domain.batches import ACTIVE, State
from blazar.domain.errors import BlazarError

logger = logging.getLogger("blazar.batches")

EVERY: Final = 3_600.0
BATCH_ROWS: Final = 64 * 2**20
"""Bytes of rows of OpenAI's batches, which expire never: the oldest go."""


@dataclass(frozen=True, slots=True)
class TendKept:
    """Blocking work is done aside."""

    shelf: FileShelf
    papers: BatchPapers
    aside: Aside = in_thread

    async def start(self) -> None:
        """Before the first request: an upload that ends meanwhile would look like something left."""
        try:
            await self.aside(self._sweep)
        except BlazarError as error:
            logger.warning("%s", error)

    async def aclose(self) -> None:
        """Nothing of it lives on."""

    async def run(self) -> None:
        """For as long as the daemon lives."""
        while True:
            try:
                await self.aside(self._expire)
            except BlazarError as error:
                logger.warning("%s", error)
            await self.shelf.clock.sleep(EVERY)

    def _sweep(self) -> None:
        store = self.shelf.store
        batches = [
            row for kind in (Keeping.BATCH, Keeping.MESSAGE_BATCH) for row in store.with_status(kind, list(State))
        ]
        self.shelf.kept.sweep(self.shelf.known() | {row.id for row in batches})
        self.papers.sweep({row.id for row in batches if row.status in ACTIVE})

    def _expire(self) -> None:
        self.shelf.expire()
        store, now = self.shelf.store, self.shelf.clock.wall()
        if sum(row.size for row in store.with_status(Keeping.BATCH, list(State))) > BATCH_ROWS:
            store.trim(Keeping.BATCH, BATCH_ROWS, now, ACTIVE)
        if any(row.expires_at <= now for row in store.with_status(Keeping.MESSAGE_BATCH, list(State))):
            for id_ in store.trim(Keeping.MESSAGE_BATCH, NO_BOUND, now, ACTIVE):
                self.shelf.kept.remove(id_)
