"""Whole numbers in JSON, which has one kind of number."""

from typing import Any


def whole(value: Any) -> int | None:
    """A whole number, also one that was written as a float (`10.0`), as some languages' serialisers do; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 != 0:
        return None
    return int(value)
