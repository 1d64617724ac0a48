"""What clients may do with batches: have them made, look at them, stop them, remove them. The work itself is the runner's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from blazar.application.batches.ledger import Aside, in_thread
from blazar.application.batches.records import KINDS, batch_of, row_of
from blazar.application.batches.runner import BatchRunner
from blazar.application.files.shelf import FileShelf
from blazar.application.ports.batch_papers import BatchPapers
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.kept_files import Reading
from blazar.domain import teaching
from blazar.domain.batches import Batch, Line, State, Tally
from blazar.domain.errors import Malformed, NotFound
from blazar.domain.kinds import Dialect
from blazar.domain.wire import anthropic_batches as messages
from blazar.domain.wire.openai_batches import read_order
from blazar.domain.wire.paging import Page, follows


class Made(NamedTuple):
    """A new batch, and what of its order had no effect."""

    batch: Batch
    warnings: tuple[str, ...]


class BatchPage(NamedTuple):
    """Part of a listing, and whether there is more behind it."""

    batches: tuple[Batch, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class ManageBatches:
    """Somebody else's batch is as good as none (case A29). `endpoints` are those of OpenAI's that answer here."""

    shelf: FileShelf
    papers: BatchPapers
    runner: BatchRunner
    entropy: Entropy
    endpoints: Sequence[str]
    aside: Aside = field(default=in_thread)

    async def make(self, owner: str, body: Mapping[str, Any]) -> Made:
        """OpenAI's: of a file that was sent before. Its lines are judged later, as the API does."""
        order = read_order(body, self.endpoints)
        note = await self.aside(partial(self.shelf.find, order.input_file_id, owner))
        if note.purpose != "batch":
            raise Malformed(teaching.file_not_for_batches(note.id, note.purpose), "input_file_id")
        now = self.shelf.clock.wall()
        batch = Batch(
            f"batch_{self.entropy.token(16)}",
            owner,
            Dialect.OPENAI,
            order.endpoint,
            now,
            now + order.seconds,
            input_file_id=note.id,
            window=order.window,
            output_lives=order.output_lives,
            metadata=order.metadata,
        )

        def lay() -> None:
            if not self.papers.take(batch.id, note.id):
                raise NotFound(teaching.file_not_found(note.id))

        await self._begin(batch, lay)
        return Made(batch, order.warnings)

    async def make_messages(self, owner: str, body: Mapping[str, Any]) -> Made:
        """Anthropic's: the requests come with it."""
        order = await self.aside(partial(messages.read_message_order, body))
        now = self.shelf.clock.wall()
        id_ = f"msgbatch_{self.entropy.token(16)}"
        batch = Batch(
            id_,
            owner,
            Dialect.ANTHROPIC,
            messages.ENDPOINT,
            now,
            now + messages.WINDOW,
            state=State.IN_PROGRESS,
            tally=Tally(len(order.lines)),
        )
        await self._begin(batch, partial(self._lay_lines, id_, order.lines))
        return Made(batch, order.warnings)

    def _lay_lines(self, batch: str, lines: Sequence[Line]) -> None:
        self.papers.write(batch, (messages.input_line(line) for line in lines))

    async def _begin(self, batch: Batch, lay: Callable[[], None]) -> None:
        """Papers first, then the row: a crash between the two leaves papers that the next start sweeps."""

        def keep() -> None:
            lay()
            self.shelf.store.add(row_of(batch))

        await self.aside(keep)
        self.runner.admit(batch)

    async def find(self, dialect: Dialect, id_: str, owner: str) -> Batch:
        """As it is this moment; raises `NotFound`."""
        row = await self.aside(partial(self.shelf.store.find, KINDS[dialect], id_, owner))
        if row is None or 0 < row.expires_at <= self.shelf.clock.wall():
            raise NotFound(teaching.batch_not_found(id_))
        return self.runner.current(batch_of(row))

    async def page(self, dialect: Dialect, owner: str, page: Page) -> BatchPage:
        """Part of the listing. Raises `Malformed` for a page that begins nowhere."""
        if page.after:
            first = await self.aside(partial(self.shelf.store.find, KINDS[dialect], page.after, owner))
            follows(page, there=first is not None)
        asked = page._replace(limit=page.limit + 1)
        rows = await self.aside(partial(self.shelf.store.page, KINDS[dialect], owner, asked))
        found = tuple(self.runner.current(batch_of(row)) for row in rows)
        return BatchPage(found[: page.limit], len(found) > page.limit)

    async def cancel(self, dialect: Dialect, id_: str, owner: str) -> Batch:
        """Raises `NotFound`; one that is over already stays as it is."""
        await self.runner.cancel(await self.find(dialect, id_, owner))
        return await self.find(dialect, id_, owner)

    async def remove(self, id_: str, owner: str) -> None:
        """A message batch and its results go; raises `Malformed` while it is under way."""
        batch = await self.find(Dialect.ANTHROPIC, id_, owner)
        if not batch.over:
            raise Malformed(teaching.batch_under_way(id_))

        def drop() -> None:
            self.shelf.store.remove(KINDS[Dialect.ANTHROPIC], id_, owner)
            self.shelf.kept.remove(id_)

        await self.aside(drop)

    async def results(self, id_: str, owner: str) -> Reading:
        """The lines of a message batch that has ended; raises `Malformed` before."""
        batch = await self.find(Dialect.ANTHROPIC, id_, owner)
        if not batch.over:
            raise Malformed(teaching.batch_results_later(id_))
        reading = await self.aside(partial(self.shelf.kept.open, id_))
        if reading is None:
            raise NotFound(teaching.batch_not_found(id_))
        return reading
