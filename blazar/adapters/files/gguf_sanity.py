"""Whether a file can be what it says: its first bytes, and the values that engines size their tables by. Reads nothing.

An engine that believes a block count of four thousand million dies of it, in ways that look like our fault.
"""

from collections.abc import Mapping
from typing import Any

from blazar.domain.architectures import is_architecture
from blazar.domain.errors import BadModelFile

MOST_BLOCKS = 4_096
LARGEST = 2**31 - 1
"""Engines hold windows and widths in 32 bits, and the catalog must be able to store them."""

_TEXTS = ("general.architecture", "general.name", "general.type", "tokenizer.chat_template")
_COUNTS = (
    ".context_length",
    ".embedding_length",
    ".pooling_type",
    ".vocab_size",
    "split.count",
    "split.no",
    "split.tensors.count",
)
# One number for the model or one a block.
_PER_BLOCK = (
    ".attention.head_count",
    ".attention.head_count_kv",
    ".attention.key_length",
    ".attention.value_length",
    ".attention.sliding_window",
    ".attention.sliding_window_pattern",
    ".feed_forward_length",
    ".expert_count",
    ".expert_used_count",
)


_STARTS = {
    b"versi": "it is a Git LFS pointer, not the file itself: fetch it with git lfs pull",
    b"<!DOC": "it is a web page, not a model: the download went wrong",
    b"<html": "it is a web page, not a model: the download went wrong",
    b"PK\x03\x04": "it is a ZIP archive: unpack it first",
}


def what_it_is(start: bytes) -> str:
    """Why five first bytes that are no GGUF are what they are."""
    known = next((why for prefix, why in _STARTS.items() if start.startswith(prefix)), None)
    return known or "it does not begin with the letters GGUF"


def check_metadata(path: str, values: Mapping[str, Any], lengths: Mapping[str, int]) -> None:
    """Raise `BadModelFile` for the first value that cannot be true."""
    for key, value in values.items():
        why = _flaw(key, value)
        if why:
            raise BadModelFile(path, f"{key[:80]} {why}")
    for key, length in lengths.items():
        if key.endswith(_PER_BLOCK):
            raise BadModelFile(path, f"{key[:80]} has {length} elements, more than one a block")
        if key in _TEXTS or key.endswith((*_COUNTS, ".block_count")):
            raise BadModelFile(path, f"{key[:80]} is an array")


def _flaw(key: str, value: Any) -> str | None:
    if key in _TEXTS:
        return _text_flaw(key, value)
    if key.endswith(".block_count"):
        least = 1 if key.count(".") == 1 else 0  # a part that a model may lack: posnet, convnext, a decoder
        sane = _is_count(value) and least <= value <= MOST_BLOCKS
        return None if sane else f"is {_shown(value)}, not a number from {least} to {MOST_BLOCKS}"
    if key.endswith(_COUNTS):
        return None if _is_count(value) else f"is {_shown(value)}, not a number up to {LARGEST}"
    if key.endswith(_PER_BLOCK):
        several = value if isinstance(value, tuple) else (value,)
        sane = 1 <= len(several) <= MOST_BLOCKS and all(_is_count(one) or isinstance(one, bool) for one in several)
        return None if sane else f"is {_shown(value)}, not a number (or one a block) up to {LARGEST}"
    return None


def _text_flaw(key: str, value: Any) -> str | None:
    if not isinstance(value, str):
        return f"is {_shown(value)}, not a text"
    if key == "general.architecture" and not is_architecture(value):
        return "is not the name of an architecture"
    return None


def _is_count(value: Any) -> bool:
    """A plain number; Python counts truth values as numbers, engines do not."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"an array of {len(value)}"
    return "a text" if isinstance(value, str) else str(value)
