"""Log probabilities in ollama's shape."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.odds import UNASKED, Odds, ask_for_odds, behind, full_rows, rows_of, want_odds


def test_what_is_asked_for() -> None:
    """`logprobs` is the switch, `top_logprobs` how many alternatives; null is absent."""
    assert want_odds({}) == want_odds({"logprobs": None, "top_logprobs": None}) == UNASKED
    assert want_odds({"logprobs": True, "top_logprobs": 3.0}) == Odds(True, 3)
    assert not want_odds({"top_logprobs": 3}).wanted


@pytest.mark.parametrize("body", [{"top_logprobs": 21}, {"top_logprobs": -1}, {"top_logprobs": "2"}, {"logprobs": 1}])
def test_what_is_none_is_named(body: dict[str, Any]) -> None:
    """A 400."""
    with pytest.raises(Malformed, match="logprobs"):
        want_odds(body)


def test_odd_one_alternative_at_least_is_asked_for() -> None:
    """An engine takes 0 of them for no probabilities at all."""
    chat: dict[str, Any] = {"messages": []}
    ask_for_odds(chat, Odds(True, 0))
    assert chat == {"messages": [], "logprobs": True, "top_logprobs": 1}
    raw: dict[str, Any] = {"prompt": "a"}
    ask_for_odds(raw, Odds(True, 4))
    assert raw == {"prompt": "a", "logprobs": 4}
    ask_for_odds(plain := {}, UNASKED)
    assert plain == {}


def test_rows() -> None:
    """What ollama tells of a token, with as many alternatives as were asked for; what else the engine says goes."""
    row = {
        "id": 5,
        "token": "a",
        "logprob": -0.5,
        "bytes": [97],
        "top_logprobs": [{"token": "b", "logprob": -1, "id": 6}],
    }
    told = {"token": "a", "logprob": -0.5, "bytes": [97]}
    assert rows_of([row, None], 0) == [told]
    assert rows_of([row], 2) == [{**told, "top_logprobs": [{"token": "b", "logprob": -1}]}]


def test_rows_of_the_responses_api() -> None:
    """Bytes and alternatives are lists in every row, if empty ones; nobody's wish gives none."""
    told = [{"token": "a", "logprob": -1.0}]
    assert full_rows(told, Odds(True, 0)) == [{"token": "a", "logprob": -1.0, "bytes": [], "top_logprobs": []}]
    assert full_rows(told, UNASKED) == []


@pytest.mark.parametrize(("text", "first"), [("", 4), ("d", 3), ("cd", 2), ("bcd", 1), ("abcdef", 0)])
def test_rows_of_a_text_at_the_end(text: str, first: int) -> None:
    """What stands before it belongs to what was thought."""
    told = [{"token": letter} for letter in "abcd"]
    assert behind(told, text) == told[first:]
    assert behind([None], "a") == [None]
