"""Keys with dots, such as `model_overrides.NAME.ctx`, in nested tables. Names may hold dots too, so that a key has several readings."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Names = tuple[str, ...]

LEVELS = 64
"""Tables and lists within each other; what copies, compares, prints and serialises them ends at some hundred levels, each at its own."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def said_name(name: str) -> str:
    """As TOML says it in a key: quoted where it holds anything but letters, digits, dashes and underscores."""
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def split_names(key: str, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The first name of `key` and what follows it.

    First names that are known, the longest first; then every other, the shortest first. A quoted name is read in one way.
    """
    if key[:1] in ('"', "'") and (end := key.find(key[0], 1)) > 0:
        if key[end + 1 : end + 2] in ("", "."):
            yield key[1:end], key[end + 2 :]
        return
    readings = [(key[:at], key[at + 1 :]) for at, mark in enumerate(key) if mark == "."] + [(key, "")]
    yield from sorted((pair for pair in readings if pair[0] in known), key=lambda pair: -len(pair[0]))
    yield from (pair for pair in readings if pair[0] not in known)


def find_path(tables: Mapping[str, Any], key: str) -> Names | None:
    """Where `key` stands in nested tables; None where it does not."""
    for name, rest in split_names(key, tables):
        if name not in tables:
            continue
        inner = tables[name]
        if not rest:
            return (name,)
        if isinstance(inner, Mapping) and (found := find_path(inner, rest)) is not None:
            return (name, *found)
    return None


def value_at(tables: Mapping[str, Any], path: Names) -> Any:
    """What stands at `path`; None where nothing does."""
    value: Any = tables
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def too_deep(value: Any) -> bool:
    """Whether it holds more levels than anybody writes, and than everything here can handle."""
    level = [value]
    for _ in range(LEVELS + 1):
        tables = [item for item in level if isinstance(item, Mapping | list)]
        level = [inner for item in tables for inner in (item.values() if isinstance(item, Mapping) else item)]
        if not level:
            return False
    return True


LONGEST_BITS = 1024
"""Of a whole number: beyond, it is no fraction either, and Python reads some (0x…) that it refuses to write."""


def too_long(value: Any) -> bool:
    """Whether a number is in it that nothing can handle. For what is not `too_deep`."""
    if isinstance(value, Mapping):
        return any(map(too_long, value.values()))
    return (
        any(map(too_long, value))
        if isinstance(value, list)
        else isinstance(value, int) and value.bit_length() > LONGEST_BITS
    )
