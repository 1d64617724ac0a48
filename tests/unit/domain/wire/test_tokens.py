"""Requests about tokens, before the child sees them."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.tokens import detokenize_request, template_request, tokenize_request


def test_a_text_and_its_switches() -> None:
    """A text, or texts and tokens mixed; null asks for nothing, and what has no effect is named."""
    body = {"model": "m", "keep_alive": 5, "content": "x", "add_special": True, "with_pieces": None, "odd": 1}
    assert tokenize_request(body) == (
        {"content": "x", "add_special": True},
        ("ignored; 'odd' has no effect here",),
    )
    assert tokenize_request({"content": ["a", 5]}) == ({"content": ["a", 5]}, ())
    assert tokenize_request({"content": []}) == ({"content": []}, ())


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": None}, "content"),
        ({"content": 5}, "content"),
        ({"content": {"a": 1}}, "content"),
        ({"content": [1.5]}, "content"),
        ({"content": [True]}, "content"),
        ({"content": [[1]]}, "content"),
        ({"content": [2**31]}, "content"),
        ({"content": "x", "add_special": "yes"}, "add_special"),
    ],
)
def test_what_is_no_text_is_named(body: dict[str, Any], field: str) -> None:
    """The engine would answer another question without a word."""
    with pytest.raises(Malformed) as caught:
        tokenize_request(body)
    assert caught.value.field == field


@pytest.mark.parametrize("tokens", [None, "x", 5, ["a"], [1.5], [-1], [2**31], [True], [[1]]])
def test_what_is_no_token_is_named(tokens: Any) -> None:
    """Whole numbers from 0 that fit the engine's."""
    assert detokenize_request({"tokens": [1, 2], "odd": 1})[0] == {"tokens": [1, 2]}
    with pytest.raises(Malformed) as caught:
        detokenize_request({"tokens": tokens})
    assert caught.value.field == "tokens"


def test_a_chat_is_changed_as_it_would_be_for_an_answer() -> None:
    """One system message at the front, nulls gone; what only concerns an answer is left out."""
    given = [{"role": "user", "content": "a"}, {"role": "developer", "content": "b"}]
    body, warnings = template_request({"model": "m", "messages": given, "tools": None, "stream": True}, "m")
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "b"}, {"role": "user", "content": "a"}],
    }
    assert warnings == ()
    for wrong in ({"model": "m"}, {"model": "m", "prompt": "x"}, {"model": "m", "messages": "x"}):
        with pytest.raises(Malformed):
            template_request(wrong, "m")
