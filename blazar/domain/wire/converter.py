"""What llama.cpp's converter makes of a JSON Schema without a word: patterns in signs that it does not know, keywords it reads over.

It refuses some schemas (`wire/relax.py` asks again then), but for these it writes a line into its log, or none, and generates
without them. A pattern is said in its signs where that changes nothing; what is left is named, and no receipt says it was held (E1).
Each was asked of b11434 and of the embedded build of October 2026; both agree (common/json-schema-to-grammar.cpp).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from blazar.domain.wire.schema import COUNTS, DEEPEST, LIMITS, LONGEST_PATTERN

_OVERLOOKED: Final = frozenset(
    {"multipleOf", "contains", "minProperties", "maxProperties", "patternProperties", "propertyNames", "not", "if"}
    | {"dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"}
)
_RANGE: Final = LIMITS - {"multipleOf"}
_LENGTHS: Final = frozenset({"minLength", "maxLength"})
_ELSEWHERE: Final = COUNTS | LIMITS | {"pattern", "enum", "const", "properties", "required", "items"}
"""Keywords that count for nothing beside `$ref`, `anyOf` and `oneOf`: the converter looks at one thing of a schema."""
_COMPONENTS: Final = frozenset({"$ref", "properties", "anyOf", "enum"})
"""What it looks for in the branches of `allOf`."""
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA: Final = frozenset({"const", "default", "enum", "examples", "required", "type"})
_CLASSES: Final[Mapping[str, str]] = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \\t\\n\\r"}
_SPECIAL: Final = frozenset("^$.()[]|{}*+?")
_BOTH: Final = frozenset('nrtxuU\\"[]')
"""What may follow a backslash inside of brackets and outside."""


class Converted(NamedTuple):
    """The schema to send (the very object where nothing had to be said otherwise) and the keywords that it will not hold."""

    schema: Any
    overlooked: tuple[str, ...]


def converted(schema: Any) -> Converted:
    """What becomes of a schema that the answer is to have."""
    if isinstance(schema, bool):  # inside of another it refuses both; of a whole answer it holds neither
        return Converted(schema, (str(schema).lower(),))
    out = _in_signs(schema, 0)
    return Converted(out, tuple(dict.fromkeys(_overlooked(out, 0))))


def plain(pattern: str) -> str | None:
    """The same pattern in signs that the converter knows; None where there are none and it would take any string."""
    if not (2 <= len(pattern) <= LONGEST_PATTERN and pattern[0] == "^" and pattern[-1] == "$"):
        return None
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    said = _said(pattern[1:-1])
    return None if said is None else f"^{said}$"


def _said(inner: str) -> str | None:
    out: list[str] = []
    at, inside, repeated = 0, False, False
    while at < len(inner):
        sign = inner[at]
        if sign == "\\":
            escape = _escape(inner[at + 1 : at + 2], inside=inside)
            if escape is None:
                return None
            out.append(escape)
            at, repeated = at + 2, False
            continue
        if inside:
            inside = sign != "]"
        elif _unknown(inner, at, repeated=repeated):
            return None
        else:
            inside = sign == "["
        repeated = not inside and sign in "*+?}"
        out.append(sign)
        at += 1
    return "".join(out)


def _unknown(inner: str, at: int, *, repeated: bool) -> bool:
    """Anchors, groups that look around or set flags, brackets that begin by closing, and repetitions that are lazy or possessive."""
    sign, after = inner[at], inner[at + 1 : at + 3]
    if sign == "(":
        return after[:1] == "?" and after != "?:"
    return sign in "^$" or (sign == "[" and after.removeprefix("^")[:1] == "]") or (sign in "?+" and repeated)


def _escape(word: str, *, inside: bool) -> str | None:
    if word and word.lower() in _CLASSES:
        ranges = _CLASSES[word.lower()]
        if inside:
            return None if word.isupper() else ranges
        return f"[{'^' if word.isupper() else ''}{ranges}]"
    if word in _BOTH or (word in _SPECIAL and not inside):
        return f"\\{word}"
    if not word or word.isalnum():
        return None  # boundaries, back references, Unicode properties
    return f"\\x{ord(word):02X}" if inside and word.isascii() else word


def _in_signs(value: Any, depth: int, *, names: bool = False) -> Any:
    """`value` with its patterns said plainly. `names`: its keys are a caller's own names, not keywords."""
    if depth > DEEPEST:
        return value
    if isinstance(value, list):
        listed = [_in_signs(one, depth + 1) for one in value]
        return listed if any(new is not old for new, old in zip(listed, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    out = {key: _member(key, item, depth, names=names) for key, item in value.items()}
    return out if any(out[key] is not value[key] for key in out) else value


def _member(key: str, item: Any, depth: int, *, names: bool) -> Any:
    if names:
        return _in_signs(item, depth + 1)
    if key == "pattern" and isinstance(item, str):
        said = plain(item)
        return item if said is None or said == item else said
    return item if key in _DATA else _in_signs(item, depth + 1, names=key in _BY_NAME)


def _overlooked(value: Any, depth: int) -> Iterator[str]:
    """The keywords of a schema and of those in it that the converter does not hold."""
    if not isinstance(value, dict) or depth > DEEPEST:
        return
    yield from (key for key in value if key in _OVERLOOKED)
    if value.get("uniqueItems") is True:
        yield "uniqueItems"
    if not _named_in(value).issuperset(_texts(value.get("required"))):
        yield "required"
    kinds = value.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "number" in kinds or "integer" not in kinds:
        yield from (key for key in value if key in _RANGE)
    pattern = value.get("pattern")
    if isinstance(pattern, str):
        if plain(pattern) is None:
            yield "pattern"
        yield from (key for key in value if key in _LENGTHS)
    if "$ref" in value or "anyOf" in value or "oneOf" in value:
        yield from (key for key in value if key in _ELSEWHERE)
    if any(not (isinstance(one, dict) and one.keys() & _COMPONENTS) for one in value.get("allOf") or ()):
        yield "allOf"
    for inner in _schemas(value):
        yield from _overlooked(inner, depth + 1)


def _named_in(value: dict[str, Any]) -> set[str]:
    """The properties that it writes rules for; a required one that is not among them is never written."""
    branches = value.get("allOf")
    each = [value, *(branches if isinstance(branches, list) else ())]
    named = [one["properties"] for one in each if isinstance(one, dict) and isinstance(one.get("properties"), dict)]
    return {name for properties in named for name in properties}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _schemas(value: dict[str, Any]) -> Iterator[Any]:
    for key, item in value.items():
        if key in _BY_NAME and isinstance(item, dict):
            yield from item.values()
        elif key not in _DATA:
            yield from item if isinstance(item, list) else [item]
