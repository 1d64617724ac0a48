"""The declaration as JSON Schema (2020-12), for editors and for finding a key by its path. Repeats no fact of it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from blazar.application.config.model import GROUPS, Config
from blazar.application.config.render import ordered_keys
from blazar.application.config.tuning import INSIDE

Node = dict[str, Any]

_MAPS = ("properties", "$defs", "patternProperties")
_SINGLE = ("items", "additionalProperties", "propertyNames", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


@cache
def declared() -> Node:
    """The flat keys as they are declared, with `$defs`. TOML has no null, so an optional key is one that is left out."""
    return _tidy(Config.model_json_schema())


def resolved(node: Mapping[str, Any]) -> Node:
    """A node of `declared()` with its reference followed; what stands beside the reference wins."""
    beside = {key: value for key, value in node.items() if key != "$ref"}
    if "$ref" not in node:
        return beside
    name = str(node["$ref"]).rpartition("/")[2]
    return {**resolved(declared()["$defs"][name]), **beside}


def options(node: Mapping[str, Any]) -> list[Node]:
    """What a value may be: the node itself, or each of its alternatives."""
    whole = resolved(node)
    alternatives = [*whole.get("anyOf", ()), *whole.get("oneOf", ())]
    return [one for alternative in alternatives for one in options(alternative)] if alternatives else [whole]


def entries(node: Mapping[str, Any]) -> Node | None:
    """What every entry of a table with free names may be; None for a table whose keys are declared, and for no table."""
    patterns = [*node.get("patternProperties", {}).values()]
    others = patterns[0] if patterns else node.get("additionalProperties")
    if not others or node.get("properties"):
        return None
    return resolved(others) if isinstance(others, dict) else {}


def config_schema() -> Node:
    """The whole document: flat keys, and the group tables that they may be written under."""
    whole = declared()
    properties = {key: whole["properties"][key] for key in ordered_keys()}
    for name, section in GROUPS.items():
        table: Node = {
            "type": "object",
            "description": str(section.__doc__),
            "properties": {key: {"$ref": f"#/properties/{key}"} for key in section.model_fields},
            "additionalProperties": False,
        }
        if name in properties:
            # ODD: a group may be called like one of its keys (reasoning); the type tells which of the two is meant.
            table["properties"] |= {name: properties[name]}
            properties[name] = {"anyOf": [properties[name], table]}
        else:
            properties[name] = table
    for name, keys in INSIDE.items():
        table = resolved(properties[name])
        table["properties"] = table["properties"] | {key: {"$ref": f"#/properties/{key}"} for key in sorted(keys)}
        properties[name] = table
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Blazar config.toml",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": whole.get("$defs", {}),
    }


def key_names() -> tuple[str, ...]:
    """Every key; of a table its keys."""
    names: list[str] = []
    for key in ordered_keys():
        inner = [name for option in options(declared()["properties"][key]) for name in option.get("properties", ())]
        names += [f"{key}.{name}" for name in inner] or [key]
    return tuple(names)


def _tidy(node: Node) -> Node:
    """Without the titles that are only names once more, and without null."""
    found = {key: value for key, value in node.items() if key != "title"}
    if found.get("default", ...) is None:
        del found["default"]
    if "anyOf" in found:
        kept = [option for option in found.pop("anyOf") if option.get("type") != "null"]
        found = {**kept[0], **found} if len(kept) == 1 else {"anyOf": kept, **found}
    found.pop("title", None)
    if "patternProperties" in found:
        found.setdefault("additionalProperties", False)
    for key in _MAPS:
        if key in found:
            found[key] = {name: _tidy(inner) for name, inner in found[key].items()}
    for key in _SINGLE:
        if isinstance(found.get(key), dict):
            found[key] = _tidy(found[key])
    for key in _LISTS:
        if key in found:
            found[key] = [_tidy(inner) for inner in found[key]]
    return found
