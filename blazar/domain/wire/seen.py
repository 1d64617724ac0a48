"""What is known of an answer without keeping it: enough to tell that it is empty, cut off, or of calls that are none. Decides nothing."""

from collections.abc import Sequence
from typing import NamedTuple


class Seen(NamedTuple):
    """`words` and, where there were none, `thought`: whether there were any. `calls`: name and arguments of each; with some, `words` says nothing."""

    words: bool
    thought: bool
    finish: str
    tokens: int = 0
    """How many it took; 0: nobody said."""
    calls: Sequence[tuple[str, str]] = ()
    text: str | None = None
    """All of it; None: nobody kept it."""
