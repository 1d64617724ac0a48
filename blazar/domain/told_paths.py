"""Which files and folders a command line names, read from its own words by a table that an engine kind brings. Pure: looks for none."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from blazar.domain.argv import Decision, scaled
from blazar.domain.launch import flags_of

Paths = Callable[[str], Sequence[str]]
"""The paths in one word after a flag."""


_FROM_THE_ROOT = re.compile(r"[A-Za-z]:[\\/]|[\\/]")


class Told(NamedTuple):
    """A path, the flag before it and the key that both come from."""

    path: str
    flag: str
    key: str


def whole(word: str) -> Sequence[str]:
    """The word is one."""
    return (word,) if word else ()


def listed(word: str) -> Sequence[str]:
    """Several, with commas between them."""
    return tuple(part for part in word.split(",") if part)


def with_scales(word: str) -> Sequence[str]:
    """Each `PATH:SCALE`, with commas between them. Older builds of llama.cpp take the scale as a word of its own."""
    with suppress(ValueError):
        float(word)
        return ()
    return tuple(scaled(part)[0] for part in listed(word))


def absolute(word: str) -> Sequence[str]:
    """A path where it begins at the root; otherwise it may as well be the name of a repository, which the engine looks for."""
    return (word,) if _FROM_THE_ROOT.match(word) else ()


def template(word: str) -> Sequence[str]:
    """A path where it looks like one; otherwise the name of a template that the engine brings."""
    return (word,) if "/" in word or word.endswith((".jinja", ".json")) else ()


def named(word: str) -> Sequence[str]:
    """`NAME=PATH`, or a path or repository alone."""
    return absolute(word.rpartition("=")[2])


ADDING = frozenset({listed, with_scales, named})
"""Ways to name several: a flag that is said again adds to them. Of any other the last one holds."""


def told_paths(table: Mapping[str, Paths], decisions: Sequence[Decision]) -> list[Told]:
    """Every path that these words name, in their order, but for those that a later word takes the place of."""
    found: list[Told] = []
    for one in decisions:
        for flag, words in _flags(one.words):
            # llama-server reads --lora_scaled as --lora-scaled.
            read = table.get(flag) or table.get(flag.replace("_", "-"))
            if read is None:
                continue
            if read not in ADDING:
                found = [told for told in found if told.flag != flag]
            found += (Told(path, flag, one.key) for word in words for path in read(word))
    return found


def _flags(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each flag with the words up to the next one; `--flag=value` is both."""
    flag, values = "", list[str]()
    for word in words:
        if found := flags_of((word,)):
            yield flag, values
            flag, values = found[0], ([word[len(found[0]) + 1 :]] if "=" in word else [])
        else:
            values.append(word)
    yield flag, values
