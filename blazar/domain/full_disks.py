"""Whether the last lines of an engine say that a disk is full. Frees nothing, and does not know which disk.

Facts: llama.cpp and whatever is written in C says the system's own words (`strerror`), Python an `Errno 28`, Rust an `os error 28`;
Windows has words of its own, and so have quotas.
"""

import re
from collections.abc import Iterable
from typing import Final

_FULL: Final = re.compile(
    r"no space left on device|disk quota exceeded|not enough space on the disk|\bENOSPC\b|\b(?:errno|os error) (?:28|122)\b",
    re.IGNORECASE,
)


def says_full(lines: Iterable[str]) -> bool:
    """Of each line by itself."""
    return any(_FULL.search(line) for line in lines)
