"""The way from a batch's request to its answer: the door that every other request comes by, without a client behind it."""

from typing import NamedTuple, Protocol

from blazar.domain.admission.place import Place
from blazar.domain.batches import Answered, Line


class Question(NamedTuple):
    """One request of a batch. `owner` is the name of the key that made the batch ("" on a gateway without keys)."""

    endpoint: str
    line: Line
    owner: str


class Answering(Protocol):
    """Every rule of the endpoint holds, and the owner's key must still be there and admit the model."""

    async def answer(self, question: Question, place: Place) -> Answered | None:
        """Behind everybody who waits. Never raises for what a request may bring; cancelling it ends the child's work.

        None: `place` was given up before its turn came, and no child has heard of it.
        """
        ...
