"""Embedding a text as a whole and cutting it into pieces afterwards."""

from typing import Any

import pytest

from blazar.domain.errors import EngineSaid, Malformed, TooLarge
from blazar.domain.wire.chunking import (
    FIRST,
    LAST,
    MEAN,
    Document,
    as_answer,
    pieces_of,
    pooled,
    token_vectors,
    want_pieces,
)
from blazar.domain.wire.embedding import vectors

CLS, SEP = 101, 102


def read(pieces: dict[str, list[int]], before: list[int], after: list[int], most: int = 100) -> Document:
    """A document whose model cuts each piece into those tokens."""
    document = Document(list(pieces), most)
    while (asked := document.ask()) is not None:
        text, marked = asked
        document.take([*before, *pieces[text], *after] if marked else pieces[text])
    return document


@pytest.mark.parametrize(("before", "after"), [([CLS], [SEP]), ([1], []), ([], [2]), ([], [])])
def test_the_pieces_are_one_text_with_the_models_marks(before: list[int], after: list[int]) -> None:
    """Once around the whole, not around each piece; the spans leave them out."""
    document = read({"a": [5, 6], "b": [7], "c": [5, 6]}, before, after)
    assert document.tokens == [*before, 5, 6, 7, 5, 6, *after]
    at = len(before)
    assert document.spans() == [(at, at + 2), (at + 2, at + 3), (at + 3, at + 5)]


def test_a_model_that_cuts_otherwise_beside_its_marks_has_none() -> None:
    """Rather no marks than tokens that are in no piece."""
    document = Document(["a"], 10)
    document.take([CLS, 9, SEP])
    document.take([5])
    assert (document.tokens, document.spans()) == ([5], [(0, 1)])


def test_a_text_beyond_the_bound_is_refused_as_soon_as_it_is_seen() -> None:
    """What comes after it is not even cut."""
    document = Document(["a", "b", "c"], 4)
    document.take([CLS, 5, SEP])
    document.take([5])
    with pytest.raises(TooLarge, match="have 5 tokens"):
        document.take([6, 7, 8, 9])
    with pytest.raises(TooLarge, match="have 6 tokens"):
        Document(["a"], 4).take([CLS, 1, 2, 3, 4, SEP])


def test_a_piece_without_tokens_is_named() -> None:
    """It has no vector."""
    with pytest.raises(Malformed) as caught:
        read({"a": [5], " ": []}, [CLS], [SEP])
    assert caught.value.field == "input[1]"


@pytest.mark.parametrize(
    ("body", "pieces"),
    [
        ({"input": ["a", "b"]}, []),
        ({"input": ["a", "b"], "late_chunking": False}, []),
        ({"input": [1], "late_chunking": None}, []),
        ({"input": ["a", "b"], "late_chunking": True}, ["a", "b"]),
        ({"prompt": "a", "late_chunking": True}, ["a"]),
    ],
)
def test_only_who_asks_has_pieces(body: dict[str, Any], pieces: list[str]) -> None:
    """One text is one piece."""
    assert want_pieces(body) == pieces


@pytest.mark.parametrize("given", [None, [], [1, 2], ["a", ""], ["a", 5], 5])
def test_pieces_are_texts(given: Any) -> None:
    """Tokens cannot be put together with what the model wants around them."""
    with pytest.raises(Malformed) as caught:
        want_pieces({"input": given, "late_chunking": True})
    assert caught.value.field == "input"
    with pytest.raises(Malformed):
        want_pieces({"input": "a", "late_chunking": "yes"})


def test_one_vector_as_the_engine_would_have_made_it() -> None:
    """Of length 1, whatever the tokens' are."""
    rows = [[6.0, 0.0], [0.0, 8.0]]
    assert pooled(rows, MEAN) == [0.6, 0.8]
    assert (pooled(rows, FIRST), pooled(rows, LAST)) == ([1.0, 0.0], [0.0, 1.0])
    assert pieces_of([[9.0, 9.0], *rows], [(1, 3), (2, 3)]) == [[0.6, 0.8], [0.0, 1.0]]


@pytest.mark.parametrize(
    "child",
    [
        {},
        [],
        ["x"],
        [{"index": 0}],
        [{"index": 0, "embedding": []}],
        [{"index": 0, "embedding": [[]]}],
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [[1.0, None]]}],
        [{"index": 0, "embedding": [[float("nan")]]}],
        [{"index": 1, "embedding": [[1.0]]}],
    ],
)
def test_anything_less_than_a_vector_a_token_is_the_engines_failure(child: Any) -> None:
    """As for whole inputs (M4)."""
    with pytest.raises(EngineSaid) as caught:
        token_vectors(child, 1, "m")
    assert caught.value.status == 502


def test_the_rest_of_the_way_sees_an_ordinary_answer() -> None:
    """By index, with its counts."""
    rows = [{"index": 1, "embedding": [[2.0]]}, {"index": 0, "embedding": [[1.0], [1.0]]}]
    assert token_vectors(rows, 2, "m") == [[[1.0], [1.0]], [[2.0]]]
    answer = as_answer([[1.0], [2.0]], 3)
    assert vectors(answer, 2, "m") == [[1.0], [2.0]]
    assert answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
