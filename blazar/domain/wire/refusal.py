"""What a child's refusal was about, where something can be done: the prompt's length, or a schema its grammar cannot hold.

Reads the words of llama.cpp's server; an engine that says it otherwise is passed on as it speaks.
"""

import json
import re
from typing import Any, Final, NamedTuple

_TOKENS: Final = re.compile(r"\((\d{1,9}) tokens\)")
_BATCH: Final = re.compile(r"batch size: (\d{1,9})\)")
_GRAMMAR: Final = re.compile(r"grammar(?! stack)|json.?schema|generate parser", re.IGNORECASE)
_OUTPUT: Final = re.compile(r"^The model produced output that does not match|grammar stack")
"""What llama.cpp b11434 says where a model wrote what its own template or tools do not allow, a tool that was not declared among it."""
_CALLERS: Final = re.compile(
    rf"^(?:Failed to (?:parse|load image)|Unknown|Unsupported|Missing) | is not supported|{_GRAMMAR.pattern}",
    re.IGNORECASE,
)
_RANGE: Final = re.compile(r"^vector\b|_range_check|out of range")  # libstdc++'s words, libc++'s, MSVC's
_KIND: Final = "exceed_context_size_error"
_FIELD: Final = re.compile(r"Field '([A-Za-z0-9_.\[\]]{1,60})'")


class TooLong(NamedTuple):
    """So many tokens were sent, so many fit."""

    tokens: int
    window: int


def too_long(body: bytes) -> TooLong | None:
    """Sizes, where the child says that the prompt or an input is longer than its window (B5, B19)."""
    error = _error(body)
    message = str(error.get("message"))
    tokens, window = error.get("n_prompt_tokens"), error.get("n_ctx")
    if error.get("type") == _KIND and isinstance(tokens, int) and isinstance(window, int):
        return TooLong(tokens, window)
    # An embedding longer than its micro-batch is a 500 with its sizes in the sentence only.
    counted, batch = _TOKENS.search(message), _BATCH.search(message)
    if "too large to process" in message and counted and batch:
        return TooLong(int(counted[1]), int(batch[1]))
    return None


def callers_fault(status: int, body: bytes) -> bool:
    """Whether a 500 is about the request: llama.cpp answers so to what it cannot read (A21), does not know or was not started for.

    Taken for the child's own, three such requests would make a healthy child go (G6).
    """
    return status == 500 and _CALLERS.search(str(_error(body).get("message"))) is not None


def models_fault(status: int, message: str) -> bool:
    """Whether a 500 is about what the model wrote: a failed answer, which says nothing about the health of the child (G6)."""
    return status == 500 and _OUTPUT.search(message) is not None


def beyond_vocabulary(status: int, body: bytes) -> bool:
    """Whether a number was asked about that is no token: llama.cpp tells where its table ended, as a failure of its own."""
    return status == 500 and _RANGE.search(str(_error(body).get("message"))) is not None


def field_in(message: str) -> str | None:
    """The field that a child's sentence begins with: llama.cpp says "Field 'n': Value must be …"."""
    found = _FIELD.match(message)
    return found[1] if found else None


def refused_grammar(status: int, body: bytes) -> bool:
    """Whether a schema of the request could not be made into a grammar (C14, C15)."""
    return status in (400, 500) and _GRAMMAR.search(str(_error(body).get("message"))) is not None


def _error(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    error = said.get("error")
    if isinstance(error, dict):
        return error
    # SGLang's errors stand in the open, beside `"object": "error"` (0.5.23, entrypoints/openai/serving_base.py).
    return said if said.get("object") == "error" else {}
