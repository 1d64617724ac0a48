"""Whole numbers in what the system writes. Reads words, judges nothing."""

_DIGITS = 20
"""Of 2**64 - 1: the kernel's and the drivers' counters have no more."""


def whole(word: str) -> int | None:
    """The number that `word` is, with a sign at most; None where it is none, or longer than 64 bits."""
    digits = word.removeprefix("-")
    # str.isdigit takes "²" as well, which int() does not.
    if not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS:
        return None
    return int(word)
