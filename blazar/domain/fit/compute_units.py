"""What compute buffers are counted in: the one vocabulary of coefficients and loads. No shape and no settings."""

from typing import NamedTuple

F32, F16 = 4, 2

PARTS = 16
"""Bytes of a cell and token that an indexer counts are given in parts of this, to stay whole numbers."""


class Units(NamedTuple):
    """What a load has so many of, and a moment takes bytes for each of.

    From `picked` to `beside` they are cells, or pools of them, each with every token, in `PARTS`.
    """

    tokens: int = 0
    sequences: int = 0
    squares: int = 0  # tokens by tokens
    picked: int = 0  # cells that an indexer picks
    alone: int = 0  # the same of one sequence only
    scored: int = 0  # cells that it scores
    pools: int = 0  # pools of cells
    spread: int = 0  # cells of all sequences
    apart: int = 0  # cells of one sequence, by that one's tokens
    beside: int = 0  # cells of the window beside compressed cells
    every: int = 0  # cells of all sequences, once
    joined: int = 0  # the window's and the compressed ones of all sequences, once
    bare: int = 0  # without flash attention: tokens by tokens where nothing is cached, or compressed cells by tokens
    turned: int = 0  # tokens without flash attention

    def plus(self, other: "Units") -> "Units":
        """The sum, unit by unit."""
        return Units(*map(int.__add__, self, other))
