"""Log probabilities: a child's rows, which are OpenAI's, in ollama's shape. Pure; decides what of them a caller asked for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.request import want_bool

MOST: Final = 20
"""Alternatives a token; ollama's bound, and OpenAI's."""
_KEPT: Final = ("token", "logprob", "bytes")


class Odds(NamedTuple):
    """What a caller wants told of each token. `top`: how many alternatives."""

    wanted: bool = False
    top: int = 0


UNASKED: Final = Odds()


def want_odds(body: Mapping[str, Any]) -> Odds:
    """`logprobs` and `top_logprobs`; raises `Malformed`. Alternatives alone are no wish, as with ollama."""
    top = body.get("top_logprobs")
    number = 0 if top is None else whole(top)
    if number is None or not 0 <= number <= MOST:
        raise Malformed(teaching.field_must("top_logprobs", "alternatives"), "top_logprobs")
    return Odds(want_bool(body, "logprobs", default=False), number)


def ask_for_odds(out: dict[str, Any], odds: Odds) -> None:
    """Into the child's body. ODD: one alternative at least is asked for, as to engines 0 of them means no probabilities at all."""
    if not odds.wanted:
        return
    number = max(1, odds.top)
    if "messages" in out:
        out |= {"logprobs": True, "top_logprobs": number}
    else:
        out["logprobs"] = number


def rows_of(told: Iterable[Any], top: int) -> list[dict[str, Any]]:
    """A row a token, with `top` alternatives."""
    found = []
    for row in told:
        if isinstance(row, dict):
            said = _kept(row)
            if top:
                said["top_logprobs"] = [_kept(one) for one in row.get("top_logprobs") or () if isinstance(one, dict)][
                    :top
                ]
            found.append(said)
    return found


def full_rows(told: Iterable[Any], odds: Odds) -> list[dict[str, Any]]:
    """As the Responses API has them: alternatives are a list in every row, if an empty one."""
    if not odds.wanted:
        return []
    return [{"bytes": [], **row, "top_logprobs": row.get("top_logprobs", [])} for row in rows_of(told, odds.top)]


def behind(told: Sequence[Any], text: str) -> Sequence[Any]:
    """The last rows of a whole answer, as far as their tokens make up `text`: those before are of what was thought."""
    size = len(text)
    for at in range(len(told) - 1, -1, -1):
        if size <= 0:
            return told[at + 1 :]
        row = told[at]
        size -= len(str(row.get("token", ""))) if isinstance(row, dict) else 0
    return told


def _kept(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _KEPT if row.get(name) is not None}
