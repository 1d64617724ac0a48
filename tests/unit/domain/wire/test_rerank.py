"""Documents in the order of their scores."""

from typing import Any

import pytest

from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.rerank import ranked, read_ranking, scores_in, sigmoid

ASK: dict[str, Any] = {"model": "m", "query": "q", "documents": ["a", {"text": "b", "id": 7}, "c"]}


def said(*scores: Any) -> dict[str, Any]:
    """A child's answer, in an order of its own."""
    rows = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
    return {"results": rows[::-1], "usage": {"prompt_tokens": 9}}


def test_the_best_comes_first_and_of_equals_the_first() -> None:
    """Scores are the engine's own numbers (M7)."""
    asked = read_ranking(ASK)
    assert asked.body("x") == {"model": "x", "query": "q", "documents": ["a", "b", "c"]}
    assert ranked(said(-1.5, 2.0, 2.0), asked, "m", "t") == {
        "id": "rerank-t",
        "object": "list",
        "model": "m",
        "results": [
            {"index": 1, "relevance_score": 2.0},
            {"index": 2, "relevance_score": 2.0},
            {"index": 0, "relevance_score": -1.5},
        ],
        "usage": {"prompt_tokens": 9, "total_tokens": 9},
    }


def test_the_first_few_with_their_documents_between_nothing_and_one() -> None:
    """`top_n`, `return_documents` and `normalize`: what came as an object goes back as one (M7)."""
    asked = read_ranking({**ASK, "top_n": 2, "return_documents": True, "normalize": True})
    results = ranked(said(0, 1000.0, -1000.0), asked, "m", "t")["results"]
    assert results == [
        {"index": 1, "relevance_score": 1.0, "document": {"text": "b", "id": 7}},
        {"index": 0, "relevance_score": 0.5, "document": {"text": "a"}},
    ]
    assert len(ranked(said(1, 2, 3), read_ranking({**ASK, "top_n": 50}), "m", "t")["results"]) == 3


def test_the_order_survives_the_squeeze() -> None:
    """And no number is too large for it."""
    numbers = [-1e9, -40.0, -1.0, 0.0, 1.0, 30.0]
    assert [sigmoid(number) for number in numbers] == sorted(sigmoid(number) for number in numbers)
    assert (sigmoid(-1e9), sigmoid(1e9)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": None}, "query"),
        ({"query": ["q"]}, "query"),
        ({"documents": []}, "documents"),
        ({"documents": None}, "documents"),
        ({"documents": "a"}, "documents"),
        ({"documents": ["a", 5]}, "documents[1]"),
        ({"documents": [{"title": "a"}]}, "documents[0]"),
        ({"top_n": 0}, "top_n"),
        ({"top_n": True}, "top_n"),
        ({"top_n": "2"}, "top_n"),
        ({"normalize": 1}, "normalize"),
        ({"return_documents": "yes"}, "return_documents"),
    ],
)
def test_wrong_fields_are_named(body: dict[str, Any], field: str) -> None:
    """By their own name, down to the document."""
    with pytest.raises(Malformed) as caught:
        read_ranking({**ASK, **body})
    assert caught.value.field == field


def test_fields_without_effect_are_named() -> None:
    """Null asks for nothing."""
    warnings = read_ranking({**ASK, "max_chunks_per_doc": 3, "top_n": None, "rank_fields": None}).warnings
    assert warnings == ("ignored; 'max_chunks_per_doc' has no effect here",)


@pytest.mark.parametrize(
    "child", [{}, {"results": []}, said(1, float("nan")), said(1, None), said(1), said(1, 2, 3), {"results": ["x"]}]
)
def test_anything_less_than_a_score_for_each_is_the_engines_failure(child: dict[str, Any]) -> None:
    """Never a document without its score."""
    with pytest.raises(EngineSaid) as caught:
        scores_in(child, 2, "m")
    assert (caught.value.status, "'m'" in str(caught.value)) == (502, True)
