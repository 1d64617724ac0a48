"""Late chunking: a text is embedded as a whole and cut into pieces afterwards, so that each piece's vector knows what stands around it. Pure.

Such a child answers with a vector for each token; what one vector for an input is made of is decided here, for all of its requests.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed, TooLarge
from blazar.domain.wire.embedding import unit
from blazar.domain.wire.request import want_bool

MEAN, FIRST, LAST = "mean", "cls", "last"
POOLINGS: Final = {1: MEAN, 2: FIRST, 3: LAST}
"""By the number that a model's metadata gives (LLAMA_POOLING_TYPE_*)."""


class Late(NamedTuple):
    """What a child leaves to us: how one vector is made of those of an input's tokens. `most`: tokens of a text that is cut afterwards."""

    pooling: str
    most: int


def want_pieces(body: Mapping[str, Any]) -> list[str]:
    """The pieces of one text that is to be embedded as a whole; none where nobody asks for that."""
    if not want_bool(body, "late_chunking", default=False):
        return []
    given = body.get("input") if body.get("input") is not None else body.get("prompt")
    pieces = [given] if isinstance(given, str) else given
    if not isinstance(pieces, list) or not pieces or not all(isinstance(piece, str) and piece for piece in pieces):
        raise Malformed(teaching.field_must("input", "texts"), "input")
    return pieces


class Document:
    """The pieces of one text in the model's tokens: `ask` says what to tokenise next, and with marks or without, `take` takes its tokens."""

    def __init__(self, pieces: Sequence[str], most: int) -> None:
        self._pieces, self._most = pieces, most
        self._marked: list[int] | None = None  # the first piece, with what the model wants around a text
        self._cut: list[list[int]] = []

    def ask(self) -> tuple[str, bool] | None:
        """None when all is known."""
        if self._marked is None:
            return self._pieces[0], True
        return (self._pieces[len(self._cut)], False) if len(self._cut) < len(self._pieces) else None

    def take(self, tokens: list[int]) -> None:
        """The tokens of the text that was asked about. Raises `TooLarge` as soon as they are too many together."""
        if self._marked is None:
            self._marked = tokens
        elif not tokens:
            field = f"input[{len(self._cut)}]"
            raise Malformed(teaching.field_must(field, "text_with_words"), field)
        else:
            self._cut.append(tokens)
        total = max(sum(map(len, self._cut)), len(self._marked))
        if total > self._most:
            raise TooLarge(teaching.late_too_long(total, self._most))

    @property
    def tokens(self) -> list[int]:
        """All of it, marks around the whole."""
        before, after = self._marks()
        return [*before, *(token for piece in self._cut for token in piece), *after]

    def spans(self) -> list[tuple[int, int]]:
        """Where each piece lies in that."""
        at, found = len(self._marks()[0]), []
        for piece in self._cut:
            found.append((at, at + len(piece)))
            at += len(piece)
        return found

    def _marks(self) -> tuple[list[int], list[int]]:
        marked, bare = self._marked or [], self._cut[0]
        starts = (at for at in range(len(marked) - len(bare) + 1) if marked[at : at + len(bare)] == bare)
        start = next(starts, None)
        return ([], []) if start is None else (marked[:start], marked[start + len(bare) :])


def token_vectors(child: Any, count: int, model: str) -> list[list[list[float]]]:
    """The vectors of each input's tokens, by index; anything short of that is the engine's failure."""
    found: dict[int, list[list[float]]] = {}
    for row in child if isinstance(child, list) else ():
        index, vectors = (row.get("index"), row.get("embedding")) if isinstance(row, dict) else (None, None)
        if isinstance(index, int) and isinstance(vectors, list) and vectors and all(map(_sound, vectors)):
            found[index] = vectors
    if sorted(found) != list(range(count)):
        raise EngineSaid(502, teaching.embedding_unusable(model, teaching.embedding_flaw("count", len(found), count)))
    return [found[at] for at in range(count)]


def _sound(vector: Any) -> bool:
    return isinstance(vector, list) and all(isinstance(n, int | float) and isfinite(n) for n in vector) and bool(vector)


def pooled(vectors: Sequence[Sequence[float]], pooling: str) -> list[float]:
    """One vector of length 1 for an input, as the engine would have made it."""
    if pooling == MEAN:
        return unit([sum(column) / len(vectors) for column in zip(*vectors, strict=True)])
    return unit(list(vectors[0 if pooling == FIRST else -1]))


def pieces_of(vectors: Sequence[Sequence[float]], spans: Iterable[tuple[int, int]]) -> list[list[float]]:
    """A vector for each piece: the mean of its tokens'."""
    return [pooled(vectors[start:end], MEAN) for start, end in spans]


def as_answer(vectors: Sequence[Sequence[float]], tokens: int) -> Mapping[str, Any]:
    """What a child that makes one vector of an input would have answered."""
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return {"object": "list", "model": "", "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
