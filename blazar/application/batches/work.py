"""The work on one batch: its lines are judged, asked one after the other, and what came of them becomes files.

Every step may be the last before a crash and is taken again after it: judging begins anew, a request whose result stands in
the journal is not asked again, and files are written in place of those that were (states: `domain/batches.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from blazar.application.batches.ledger import Ledger, Run
from blazar.application.files.shelf import FileNote, FileShelf
from blazar.application.ports.answering import Answering, Question
from blazar.application.ports.batch_papers import BatchPapers
from blazar.domain import teaching
from blazar.domain.admission.place import Place
from blazar.domain.batches import (
    MOST_FLAWS,
    Answered,
    Batch,
    Fate,
    Flaw,
    Line,
    Spent,
    State,
    Tally,
    custom_id_in,
    pause_before_next,
)
from blazar.domain.errors import NotFound
from blazar.domain.kinds import Dialect
from blazar.domain.wire import anthropic_batches as messages
from blazar.domain.wire import openai_batches as openai

DURABLE_EVERY: Final = 16
"""Results between two syncs: a power failure loses at most these, and they are asked again. A killed daemon loses none."""


@dataclass(frozen=True, slots=True)
class BatchWork:
    """What is done about a batch when its turn comes."""

    ledger: Ledger
    papers: BatchPapers
    answering: Answering
    shelf: FileShelf

    async def stint(self, run: Run, until: float) -> None:
        """Work until it is over, or, between two requests, until that monotonic time."""
        try:
            await self.ledger.aside(partial(self.papers.requests, run.batch.id, run.position))
            await self._go_on(run, until)
        except NotFound as error:
            await self.ledger.enter(run, State.FAILED, flaws=(Flaw("requests_gone", str(error)),))
        if run.batch.over:
            await self.ledger.aside(partial(self.papers.discard, run.batch.id))

    async def _go_on(self, run: Run, until: float) -> None:
        if run.batch.state is State.VALIDATING:
            await self._judge(run)
        if run.done is None:
            await self.recall(run)
        if run.batch.state is State.IN_PROGRESS:
            await self._ask(run, until)
        if run.batch.state in (State.FINALIZING, State.CANCELLING) or self._too_late(run):
            await self._finish(run)

    async def _judge(self, run: Run) -> None:
        """All lines, before the first of them is asked."""
        batch, start, seen, models = run.batch, 0, set[str](), set[str]()
        flaws: list[Flaw] = []
        number = 0
        while run.batch.state is State.VALIDATING and len(flaws) < MOST_FLAWS and len(seen) <= openai.MOST_REQUESTS:
            handful = await self.ledger.aside(partial(self.papers.requests, batch.id, start))
            if not handful.lines:
                break
            wrong = await self.ledger.aside(partial(_flaws, batch, handful.lines, number, (seen, models)))
            flaws += wrong
            number += len(handful.lines)
            start = handful.following
        if run.batch.state is not State.VALIDATING:
            return
        if not seen and not flaws:
            flaws = [Flaw("empty_file", teaching.batch_file_empty())]
        if len(seen) > openai.MOST_REQUESTS:
            flaws = [Flaw("too_many_requests", teaching.batch_requests_wrong("input_file_id", openai.MOST_REQUESTS))]
        if flaws:
            await self.ledger.enter(run, State.FAILED, flaws=tuple(flaws[:MOST_FLAWS]))
        else:
            model = models.pop() if len(models) == 1 else ""
            await self.ledger.enter(run, State.IN_PROGRESS, tally=Tally(len(seen)), model=model)

    async def recall(self, run: Run) -> None:
        """What the journal holds already."""
        id_, total = run.batch.id, run.batch.tally.total

        def read() -> tuple[set[str], Tally, Spent]:
            done, tally, spent, start = set[str](), Tally(total), Spent(), 0
            while (handful := self.papers.results(id_, start)).lines:
                for raw in handful.lines:
                    done.add(custom_id_in(raw))
                    tally = tally.plus(Fate(raw[:1].decode()))
                    spent = spent.plus(openai.spent_in(raw))
                start = handful.following
            return done, tally, spent

        run.done, tally, spent = await self.ledger.aside(read)
        run.batch = replace(run.batch, tally=tally, spent=spent)

    async def _ask(self, run: Run, until: float) -> None:
        while True:
            lines = await self._lines(run)
            if not lines:
                break
            for line in lines[0]:
                if not self._may_ask(run, until) or not await self._one(run, line, until):
                    return
            run.position = lines[1]
        if run.batch.state is State.IN_PROGRESS:
            await self.ledger.enter(run, State.FINALIZING)

    async def _lines(self, run: Run) -> tuple[Sequence[Line], int] | None:
        """Some requests that have no result so far, and where the next ones begin; None at the end."""
        batch, start, done = run.batch, run.position, run.done
        assert done is not None

        def read() -> tuple[Sequence[Line], int] | None:
            handful = self.papers.requests(batch.id, start)
            if not handful.lines:
                return None
            lines = (_line(batch, raw) for raw in handful.lines if raw.strip())
            # A batch that is cancelled before its lines were judged may name one twice.
            left = {line.custom_id: line for line in lines if isinstance(line, Line) and line.custom_id not in done}
            return list(left.values()), handful.following

        return await self.ledger.aside(read)

    def _may_ask(self, run: Run, until: float) -> bool:
        """Whether this is the time to ask more."""
        return run.batch.state is State.IN_PROGRESS and not self._too_late(run) and self.ledger.clock.now() < until

    async def _in_turn(self, run: Run, question: Question, until: float) -> Answered | None:
        """Ask when nobody else waits; None where the time for that ends before, or the batch does."""
        clock = self.ledger.clock
        place = run.place = Place()
        left = min(until - clock.now(), run.batch.expires_at - clock.wall())
        timer = clock.call_later(max(0.0, left), place.give_up)
        try:
            return await self.answering.answer(question, place)
        finally:
            timer.cancel()
            run.place = None

    async def _one(self, run: Run, line: Line, until: float) -> bool:
        """Ask, and write down what came; False where its turn did not come, or where it is to be asked once more after a rest."""
        batch = run.batch
        answered = await self._in_turn(run, Question(batch.endpoint, line, batch.owner), until)
        if answered is None:
            return False
        run.tries += 1
        pause = pause_before_next(answered, run.tries)
        if pause is not None and run.batch.state is State.IN_PROGRESS and not self._too_late(run):
            run.rests_until = self.ledger.clock.now() + pause
            return False
        run.tries = 0
        assert run.done is not None
        number = len(run.done)
        run.unsaved += 1
        durable = run.unsaved >= DURABLE_EVERY

        def write() -> Spent:
            told = answered_line(batch, number, line, answered)
            self.papers.append(batch.id, [told], durable=durable)
            return openai.spent_in(told)

        spent = await self.ledger.aside(write)
        run.unsaved = 0 if durable else run.unsaved
        run.done.add(line.custom_id)
        batch = run.batch
        run.batch = replace(batch, tally=batch.tally.plus(answered.fate), spent=batch.spent.plus(spent))
        return True

    def _too_late(self, run: Run) -> bool:
        return run.batch.state is State.IN_PROGRESS and self.ledger.clock.wall() >= run.batch.expires_at

    async def _finish(self, run: Run) -> None:
        """Results for those that were not asked, the files, the last state."""
        ends = {State.CANCELLING: State.CANCELLED, State.FINALIZING: State.COMPLETED, State.IN_PROGRESS: State.EXPIRED}
        state = run.batch.state
        if state is not State.FINALIZING:
            await self._leave_out(run, Fate.CANCELED if state is State.CANCELLING else Fate.EXPIRED)
        batch = run.batch
        files = await self.ledger.aside(lambda: self._publish(batch))
        if run.batch.state is not state:
            return  # cancelled while its time ran out: the next stint ends it that way
        output, errors = files
        await self.ledger.enter(run, ends[state], output_file_id=output, error_file_id=errors)

    async def _leave_out(self, run: Run, fate: Fate) -> None:
        """Every request without a result gets this one."""
        run.position = 0
        while (lines := await self._lines(run)) is not None:
            await self.ledger.aside(partial(self._tell, run, lines[0], fate))
            assert run.done is not None
            run.done.update(line.custom_id for line in lines[0])
            run.batch = replace(run.batch, tally=run.batch.tally.plus(fate, len(lines[0])))
            run.position = lines[1]
        # A batch that is cancelled while its lines are judged does not know yet how many they are.
        run.batch = replace(run.batch, tally=run.batch.tally._replace(total=len(run.done or ())))

    def _tell(self, run: Run, left: Sequence[Line], fate: Fate) -> None:
        first = len(run.done or ())
        told = [unanswered_line(run.batch, first + index, line, fate) for index, line in enumerate(left)]
        self.papers.append(run.batch.id, told, durable=False)

    def _publish(self, batch: Batch) -> tuple[str, str]:
        """The results as files; their ids. Below the same names each time: a crash in the middle leaves nothing double."""
        self.papers.append(batch.id, (), durable=True)
        if batch.dialect is Dialect.ANTHROPIC:
            self.papers.publish(batch.id, "".join(Fate), batch.id)
            return batch.id, ""
        return self._output(batch, "output", Fate.SUCCEEDED.value), self._output(batch, "error", "fcx")

    def _output(self, batch: Batch, what: str, marks: str) -> str:
        id_ = f"file-{batch.id.removeprefix('batch_')}-{what}"
        size = self.papers.publish(batch.id, marks, id_)
        if not size:
            return ""
        note = FileNote(id_, batch.owner, f"{batch.id}_{what}.jsonl", "batch_output", size)
        self.shelf.enrol(note, batch.output_lives)
        return id_


def _flaws(batch: Batch, lines: Sequence[bytes], before: int, known: tuple[set[str], set[str]]) -> list[Flaw]:
    """What is wrong with these lines; what is `known` grows by their ids and their models."""
    found = []
    seen, models = known
    for number, raw in enumerate(lines, before + 1):
        if not raw.strip():
            continue
        line = _line(batch, raw)
        if isinstance(line, Flaw):
            found.append(line._replace(line=number))
        elif line.custom_id in seen:
            say = teaching.batch_custom_id_twice(line.custom_id)
            found.append(Flaw("duplicate_custom_id", say, "custom_id", number))
        else:
            seen.add(line.custom_id)
            models.add(line.model)
    return found


def _line(batch: Batch, raw: bytes) -> Line | Flaw:
    if batch.dialect is Dialect.ANTHROPIC:
        return messages.kept_line(raw)
    return openai.read_line(raw, batch.endpoint)


def answered_line(batch: Batch, number: int, line: Line, answered: Answered) -> bytes:
    """An answer as the journal has it: what became of it, then the dialect's own line."""
    if batch.dialect is Dialect.ANTHROPIC:
        return answered.fate.value.encode() + messages.answered_result(line, answered)
    return answered.fate.value.encode() + openai.answered_line(batch.id, number, line, answered)


def unanswered_line(batch: Batch, number: int, line: Line, fate: Fate) -> bytes:
    """The same for a request that was not asked."""
    if batch.dialect is Dialect.ANTHROPIC:
        return fate.value.encode() + messages.unanswered_result(line, fate)
    return fate.value.encode() + openai.unanswered_line(batch.id, number, line, fate)
