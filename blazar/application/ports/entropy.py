"""Randomness for secrets and ids."""

from typing import Protocol


class Entropy(Protocol):
    """Hex strings that nobody can guess."""

    def token(self, nbytes: int) -> str:
        """`2 * nbytes` hex digits."""
        ...
