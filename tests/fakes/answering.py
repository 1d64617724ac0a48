"""Answers to a batch's requests, as a test scripts them."""

import asyncio

from blazar.application.ports.answering import Answering, Question
from blazar.domain.admission.place import Place
from blazar.domain.batches import Answered

FINE = Answered(200, b'{"object":"answer"}', "plm-1-1")


class ScriptedAnswering(Answering):
    """`script` has the answers to a custom id, in order; without one all is well. `held` ids wait until `let_go`.

    While `crowded` nobody's turn comes.
    """

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.script: dict[str, list[Answered]] = {}
        self.held: set[str] = set()
        self.error: Exception | None = None
        self.crowded = False
        self._wake = asyncio.Event()
        self._free = asyncio.Event()

    @property
    def ids(self) -> list[str]:
        """What was asked, in order."""
        return [question.line.custom_id for question in self.asked]

    async def answer(self, question: Question, place: Place) -> Answered | None:
        if self.crowded:
            self._free.clear()
            place.taken(self._free.set)
            await self._free.wait()
            if place.given_up:
                return None
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        id_ = question.line.custom_id
        if id_ in self.held:
            await self._wake.wait()
        answers = self.script.get(id_)
        return answers.pop(0) if answers else FINE

    def thin_out(self) -> None:
        """Nobody else waits any more."""
        self.crowded = False
        self._free.set()

    def let_go(self) -> None:
        """Who is held gets its answer."""
        self._wake.set()
