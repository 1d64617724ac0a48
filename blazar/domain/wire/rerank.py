"""Documents in the order of how well they answer a query: a request into the child's words, its scores into the answer. Pure.

The shape is Jina's and Cohere's, which agree on all that clients read. Scores are what the model's head gives, any number, and larger
is better (M7); `normalize` squeezes them between 0 and 1 and never changes the order.
"""

from collections.abc import Mapping
from math import exp, isfinite
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.embedding import prompt_tokens
from blazar.domain.wire.request import ignored, want_bool

_READ: Final = frozenset(
    {"model", "query", "documents", "top_n", "return_documents", "normalize", "keep_alive", "user"}
)


class Ranking(NamedTuple):
    """What is wanted. `documents` are as they came, `texts` what is scored of them."""

    query: str
    documents: list[Any]
    texts: list[str]
    top: int
    told: bool
    normalize: bool
    warnings: tuple[str, ...]

    def body(self, child_model: str) -> dict[str, Any]:
        """The child's request: all scores are asked for, so that the order is decided here."""
        return {"model": child_model, "query": self.query, "documents": self.texts}


def read_ranking(body: Mapping[str, Any]) -> Ranking:
    """Read a request; null is absent."""
    query, documents, top = body.get("query"), body.get("documents"), body.get("top_n")
    for field, value in (("query", query), ("documents", documents)):
        if value is None or value == []:
            raise Malformed(teaching.field_missing(field), field)
    if not isinstance(query, str):
        raise Malformed(teaching.field_must("query", "string"), "query")
    if not isinstance(documents, list):
        raise Malformed(teaching.field_must("documents", "documents"), "documents")
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 1):
        raise Malformed(teaching.field_must("top_n", "positive"), "top_n")
    return Ranking(
        query,
        documents,
        [_text(at, document) for at, document in enumerate(documents)],
        len(documents) if top is None else min(top, len(documents)),
        want_bool(body, "return_documents", default=False),
        want_bool(body, "normalize", default=False),
        tuple(ignored(field) for field, value in body.items() if field not in _READ and value is not None),
    )


def _text(at: int, document: Any) -> str:
    text = document.get("text") if isinstance(document, dict) else document
    if not isinstance(text, str):
        raise Malformed(teaching.field_must(f"documents[{at}]", "document"), f"documents[{at}]")
    return text


def ranked(child: Mapping[str, Any], asked: Ranking, model: str, trace: str) -> dict[str, Any]:
    """The answer: the best first; of equals the one that came first."""
    scores = scores_in(child, len(asked.texts), model)
    order = sorted(range(len(scores)), key=lambda at: -scores[at])[: asked.top]
    tokens = prompt_tokens(child)
    return {
        "id": f"rerank-{trace}",
        "object": "list",
        "model": model,
        "results": [_result(at, scores[at], asked) for at in order],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _result(at: int, score: float, asked: Ranking) -> dict[str, Any]:
    found: dict[str, Any] = {"index": at, "relevance_score": sigmoid(score) if asked.normalize else score}
    if asked.told:
        document = asked.documents[at]
        found["document"] = document if isinstance(document, dict) else {"text": document}
    return found


def scores_in(child: Mapping[str, Any], count: int, model: str) -> list[float]:
    """One finite score for each document; anything short of that is the engine's failure (as M3, M4)."""
    rows = child.get("results")
    found: dict[int, float] = {}
    for row in rows if isinstance(rows, list) else ():
        index, score = (row.get("index"), row.get("relevance_score")) if isinstance(row, dict) else (None, None)
        if isinstance(index, int) and isinstance(score, int | float) and isfinite(score):
            found[index] = float(score)
    if sorted(found) != list(range(count)):
        raise EngineSaid(502, teaching.scores_unusable(model, len(found), count))
    return [found[at] for at in range(count)]


def sigmoid(score: float) -> float:
    """Between 0 and 1, without overflow for large ones of either sign."""
    if score >= 0:
        return 1 / (1 + exp(-score))
    grown = exp(score)
    return grown / (1 + grown)
