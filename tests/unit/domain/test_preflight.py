"""Prompts that cannot fit: the guess, the question, the verdict."""

import json

import pytest

from blazar.domain.manners import COUNTING, LLAMACPP_ROUTES, TOKENIZE
from blazar.domain.preflight import counted, near, question, refusal, unfit
from blazar.domain.wire.refusal import too_long
from blazar.domain.wire.request import CHAT, COMPLETIONS, INFILL


@pytest.mark.parametrize(
    ("size", "window", "close"),
    [(0, 2048, False), (7372, 2048, False), (7373, 2048, True), (10**7, 0, False), (10, 2, True)],
)
def test_close_is_nine_tenths_at_four_bytes_a_token(size: int, window: int, close: bool) -> None:
    """Below, nothing is asked; an unknown window is never close."""
    assert near(size, window) is close


@pytest.mark.parametrize(
    ("tokens", "window", "refused"), [(2047, 2048, False), (2048, 2048, True), (2050, 2000, True), (2000, 2000, False)]
)
def test_what_the_child_would_take_is_not_refused(tokens: int, window: int, refused: bool) -> None:
    """It makes its window a multiple of 256, and wants room for one token more than the prompt."""
    assert unfit(tokens, window) is refused


def test_a_chat_is_counted_as_it_is_and_a_completion_by_its_prompt() -> None:
    """One question each, only where the kind has the route and there is one prompt; nothing else is asked about."""
    assert question(CHAT, b"{}", None, LLAMACPP_ROUTES) == (COUNTING, b"{}", "input_tokens")
    asked = question(COMPLETIONS, b"", "hi", LLAMACPP_ROUTES)
    assert asked is not None
    assert (asked.path, asked.holds) == (TOKENIZE, "tokens")
    assert json.loads(asked.body) == {"content": "hi", "add_special": True, "parse_special": True}
    for path, prompt in ((COMPLETIONS, [1, 2]), (INFILL, None), (COUNTING, None)):
        assert question(path, b"{}", prompt, LLAMACPP_ROUTES) is None
    for path, prompt in ((CHAT, None), (COMPLETIONS, "hi")):
        assert question(path, b"{}", prompt, frozenset()) is None


@pytest.mark.parametrize(
    ("said", "tokens"),
    [({"n": 7}, 7), ({"n": [1, 2, 3]}, 3), ({"n": "7"}, None), ({"n": True}, None), ({}, None), ([7], None)],
)
def test_the_count(said: object, tokens: int | None) -> None:
    """A number or a list; anything else counts nothing."""
    assert counted(said, "n") == tokens


def test_the_refusal_is_the_childs() -> None:
    """Whoever reads a child's own refusal reads this one."""
    assert too_long(refusal(3000, 2048)) == (3000, 2048)
