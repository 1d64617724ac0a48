"""Model names: what may be one, and which row a caller means by one. Invents no mapping: a miss is returned as it came."""

import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import NamedTuple

from blazar.domain.errors import BadName

# One to four segments of letters, digits and . _ - , and at most one `:tag`. `#` and `@` are grammar, never name (contract).
_SEGMENT = r"[A-Za-z0-9][A-Za-z0-9._-]*"
NAME = rf"{_SEGMENT}(?:/{_SEGMENT}){{0,3}}(?::{_SEGMENT})?"
_NAME = re.compile(NAME)
LONGEST_NAME = 200
LONGEST_REPLICA = 6
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_OUTSIDE = re.compile(r"[^A-Za-z0-9._-]+")


class InstanceRef(NamedTuple):
    """`model`, `model#N` or `model@vision` (or both): which child of a model is meant."""

    model: str
    replica: int | None = None
    vision: bool = False


def check_name(name: str) -> str:
    """Give `name` back if it may be a model's name, else raise `BadName`."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise BadName(name)
    return name


def name_from_file(stem: str) -> str:
    """Suggest a name for a file called `stem` (no folder, no suffix): lower case, shard marker and odd characters gone."""
    plain = _OUTSIDE.sub("-", _SHARD.sub("", stem)).strip("-._").lower()
    return plain or "model"


def parse_ref(text: str) -> InstanceRef:
    """Read `model[@vision][#N]` in either order of the two marks."""
    replica: int | None = None
    vision = False
    rest = text
    while True:
        if (head := rest.removesuffix("@vision")) != rest:
            vision, rest = True, head
            continue
        head, mark, number = rest.rpartition("#")
        # ODD: not every digit makes a number: '²' is a digit to Python, and int() refuses thousands of them.
        if mark and number.isascii() and number.isdigit() and len(number) <= LONGEST_REPLICA:
            replica, rest = int(number), head
            continue
        return InstanceRef(rest, replica, vision)


def resolve(name: str, known: Collection[str]) -> str:
    """Find the row that `name` means; the input itself on a miss.

    Order: the name itself; without `:latest` (ollama clients append it); `model:tag` as `model-tag`; the same three
    ignoring case. Only existing rows are ever answered.
    """
    if name in known:
        return name
    spellings = [name, untagged(name), name.replace(":", "-")]
    for spelling in spellings:
        if spelling in known:
            return spelling
    folded = {row.lower(): row for row in known}
    for spelling in spellings:
        if (row := folded.get(spelling.lower())) is not None:
            return row
    return name


def twin(name: str, known: Collection[str]) -> str:
    """The other name that cannot be told from this one where a file system or a client ignores case; "" where there is none."""
    if name in known:
        return ""
    same = folded(name)
    return next((one for one in sorted(known) if folded(one) == same), "")


def folded(name: str) -> str:
    """What names have in common that cannot be told from each other (`twin`)."""
    return untagged(name.casefold())


def untagged(name: str) -> str:
    """Without `:latest`, which ollama's clients say where no tag is meant: what they make under `m:latest` they ask for as `m`."""
    return name.removesuffix(":latest")


def near(name: str, known: Collection[str]) -> tuple[str, ...]:
    """At most three existing names that a person may have meant."""
    return tuple(get_close_matches(name, sorted(known), n=3, cutoff=0.5))


def file_stem(name: str) -> str:
    """`name` as one path component, reversible: anything but letters, digits, `.`, `_` and `-` is percent-encoded.

    A model may be called `daemon`; the daemon's own files in the run folder may not be taken for that model's.
    """
    stem = "".join(c if (c.isalnum() and c.isascii()) or c in "._-" else f"%{ord(c):02X}" for c in name)
    return f"%{ord(stem[0]):02X}{stem[1:]}" if stem.lower() == "daemon" else stem
