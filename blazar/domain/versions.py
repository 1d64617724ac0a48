"""Which of two engine tags is newer. Compares text only: what is installed and what runs it is not known here."""

import re
from collections.abc import Iterable

_BUILD = re.compile(r"b(\d+)(.*)", re.DOTALL)
_PARTS = re.compile(r"\d+|\D+")

Rank = tuple[int, int, tuple[tuple[int, int, str], ...]]


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Digits compare as numbers, the rest as text, and a number stands before text."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _PARTS.findall(text))


def tag_key(tag: str) -> Rank:
    """Sorts tags from oldest to newest: `bNNNN` builds above everything else, by number; then a variant above the plain build."""
    match = _BUILD.fullmatch(tag)
    if match is not None:
        return (1, int(match[1]), _natural(match[2]))
    return (0, 0, _natural(tag))


def newest_first(tags: Iterable[str]) -> list[str]:
    """Tags from newest to oldest."""
    return sorted(tags, key=tag_key, reverse=True)
