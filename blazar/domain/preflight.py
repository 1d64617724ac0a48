"""Whether a prompt can fit its window, before anything is computed for it. Pure: who counts, and what is done about it, is the lane's.

A guess by bytes costs nothing and decides nothing: only where it comes close are tokens counted, by the child that would compute them.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from blazar.domain.manners import COUNTING, TOKENIZE
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.request import CHAT, COMPLETIONS

BYTES_A_TOKEN: Final = 4
"""English and code have about as many; of scripts with more bytes a letter more fit, and those are counted too early, which costs one question."""
NEAR: Final = 0.9
"""Share of the window from which on the guess is not trusted (setup document, `prompt_preflight`)."""
ROUNDED: Final = 256
"""llama.cpp makes a window a multiple of this (GGML_PAD in llama-context.cpp): what it would take must not be refused here."""


class Question(NamedTuple):
    """What the child is asked, and the member of its answer that tells how many tokens there are."""

    path: str
    body: bytes
    holds: str


def near(size: int, window: int) -> bool:
    """Whether a body of so many bytes may hold more than `window` tokens; a window of 0 is not known."""
    return 0 < window * NEAR * BYTES_A_TOKEN < size


def unfit(tokens: int, window: int) -> bool:
    """A prompt as long as its window is too long: there is no place for the first token of the answer.

    ODD: how long the answer may become is not looked at. Agents name the most that any service would write, and an engine ends at its
    window with `length`.
    """
    return tokens >= -(-window // ROUNDED) * ROUNDED


def question(path: str, body: bytes, prompt: Any, routes: Collection[str]) -> Question | None:
    """How to have the prompt of a request counted; None where its child cannot, or it has no prompt of one piece.

    A chat is rendered and counted by one route, which takes the request as it is; `prompt` is looked at for raw completions only.
    """
    if path == CHAT and COUNTING in routes:
        return Question(COUNTING, body, "input_tokens")
    if path == COMPLETIONS and TOKENIZE in routes and isinstance(prompt, str):
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        return Question(TOKENIZE, dump(asked), "tokens")
    return None


def counted(said: Any, holds: str) -> int | None:
    """The tokens of the child's answer: a number, or one by one."""
    value = said.get(holds) if isinstance(said, Mapping) else None
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def refusal(tokens: int, window: int) -> bytes:
    """What the child would have said of it: whoever reads a child's refusals says the same of both."""
    return dump({"error": {"type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": window}})
