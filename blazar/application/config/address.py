"""Which key a person means by `gateway.port` or `model_overrides.NAME.ctx`, and what the words for its value are.

Walks the declaration, so a new key or table needs no word here. Judges no value: `load_config` does.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blazar.application.config.dotted import Names, split_names, too_deep
from blazar.application.config.hoist import hints, nearest, of_every_model
from blazar.application.config.model import GROUPS, section_of
from blazar.application.config.schema import Node, declared, entries, options, resolved
from blazar.application.config.tuning import INSIDE
from blazar.domain import teaching
from blazar.domain.errors import Malformed


class Address(NamedTuple):
    """One key: its names as the declaration nests them (flat, without a group), and what may stand there."""

    path: Names
    node: Node

    @property
    def key(self) -> str:
        """As a person would type it."""
        return ".".join(self.path)


def find_address(key: str, raw: Mapping[str, Any]) -> Address:
    """The declared key that is meant; `raw` is the parsed file, whose names are known. Raises `Malformed` with near keys."""
    head, _, rest = key.partition(".")
    first = rest.partition(".")[0]
    if first in (GROUPS[head].model_fields if head in GROUPS else INSIDE.get(head, ())):
        key = rest
    found = _walk(declared(), key, raw) if key and not key.endswith(".") else None
    if found is not None:
        return found
    if head in declared()["properties"] and rest and _repeats(declared()["properties"][head]):
        raise Malformed(teaching.config_tables_by_hand(head), "key")
    if key in GROUPS:
        raise Malformed(teaching.config_group(key, next(iter(GROUPS[key].model_fields))), "key")
    if head == "model_overrides" and (name := of_every_model((head, "", key.rpartition(".")[2]))):
        raise Malformed(teaching.unknown_config_key(key, ()) + teaching.config_for_all(name), "key")
    raise Malformed(teaching.unknown_config_key(key, _meant(key)), "key")


def _walk(node: Node, rest: str, known: Any) -> Address | None:
    """Down the declaration, the file beside it as far as it goes."""
    if not rest:
        return Address((), resolved(node))
    known = known if isinstance(known, Mapping) else {}
    for option in options(node):
        properties, entry = option.get("properties", {}), entries(option)
        for name, tail in split_names(rest, known):
            inner = properties.get(name)
            if inner is None and entry is not None:
                inner = entry
                if not tail and name not in known and "." in name and "properties" in entry:
                    continue  # a misspelled key of an entry, and no entry called like the whole
            found = None if inner is None or not name else _walk(inner, tail, known.get(name))
            if found is not None:
                return Address((name, *found.path), found.node)
    return None


def _meant(key: str) -> tuple[str, ...]:
    """Keys that look like an unknown one, at the level where it goes wrong."""
    head, _, rest = key.partition(".")
    properties = declared()["properties"]
    if head not in properties or not rest:
        name = rest or head if head in GROUPS else head
        return hints(name) or nearest(name, properties)
    for option in options(properties[head]):
        level = entries(option) or option
        if level.get("properties"):
            return nearest(rest.rpartition(".")[2], level["properties"])
    return ()


def place_of(address: Address, asked: str, raw: Mapping[str, Any]) -> Names:
    """Where the key stands in the file, else where it belongs: flat, the spelling that every tool reads and writes."""
    name = address.path[0]
    for group in _homes(name):
        table = raw.get(group)
        if not isinstance(table, Mapping):
            continue
        # ODD: a table may have taken the name of its key (reasoning is a group and a key of it): it stands inside then.
        # Of a key that is (wrongly) there twice, the one is meant that was asked for.
        if name == group or (name in table and (asked.startswith(f"{group}.") or name not in raw)):
            return (group, *address.path)
    return address.path


def _homes(name: str) -> list[str]:
    """Tables that a root key may be written in."""
    section = section_of(name)
    inside = [table for table, keys in INSIDE.items() if name in keys]
    return [section.group, *inside] if section is not None and section.group else inside


def _repeats(node: Node) -> bool:
    """Whether it is a list of tables."""
    lists = [option["items"] for option in options(node) if isinstance(option.get("items"), dict)]
    return any("properties" in resolved(items) for items in lists)


def check_settable(address: Address) -> None:
    """Raise `Malformed` for what one value cannot say: repeated tables, and tables whose keys are declared."""
    if len(address.path) == 1 and _repeats(address.node):
        raise Malformed(teaching.config_tables_by_hand(address.key), "key")
    for option in options(address.node):
        names = list(option.get("properties", ()))
        names += [f"NAME.{name}" for name in (entries(option) or {}).get("properties", ())]
        if names:
            raise Malformed(teaching.config_table_keys(address.key, names[0]), "key")


def typed(address: Address, words: Sequence[str]) -> Any:
    """The value that the words mean where this key stands (case I7); what is none stays text and is refused as such."""
    if any("\ud800" <= char <= "\udfff" for word in words for char in word):
        raise Malformed(teaching.config_word_not_utf8(address.key), "value")
    choices = options(address.node)
    lists = [option for option in choices if option.get("type") == "array"]
    if lists and (len(words) > 1 or not _kinds(choices) & {"string"}):
        value = literal(words[0]) if len(words) == 1 else None
        if isinstance(value, list):
            return value
        items = [inner for option in lists for inner in options(option.get("items", {}))]
        return [_word(word, _kinds(items)) for word in words]
    if len(words) != 1:
        raise Malformed(teaching.config_one_value(address.key), "value")
    return _word(words[0], _kinds(choices))


def _kinds(choices: Sequence[Node]) -> frozenset[str]:
    return frozenset(str(option["type"]) for option in choices if "type" in option)


_OF: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),  # before int, which it is too
    (int, "integer"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)


def _word(text: str, kinds: frozenset[str]) -> Any:
    """Text where only text may stand; where other things may too, what the word is as TOML or JSON."""
    if kinds == {"string"}:
        return text
    value = literal(text)
    if isinstance(value, str) and not kinds:
        return value  # where anything may stand, quotes make a text of `"8"`
    kind = next((name for of, name in _OF if isinstance(value, of)), "")
    if not kind:
        return text
    fits = kind in kinds or (kind == "integer" and "number" in kinds)
    return value if fits or "string" not in kinds else text


def literal(text: str) -> Any:
    """One word as TOML, else as JSON; None for what is neither, and for what TOML has no word for."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        read = {}
    if set(read) == {"value"}:
        return None if too_deep(read) else read["value"]
    try:
        value = json.loads(text, parse_constant=lambda _: None)
        return None if too_deep(value) or _has_null(value) else value
    except (ValueError, RecursionError):
        return None


def _has_null(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_has_null, inner))
