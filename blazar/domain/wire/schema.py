"""JSON schemas that an engine's grammar refused: the same schema without what no grammar of llama.cpp's kind can say.

Used only after a refusal, so a schema that an engine understands reaches it untouched. Everything taken away is named; what is
left accepts more, never less. Recursion stays recursion (E4): references are re-homed, never expanded, and one that
leads nowhere or only back to itself is noticed before it can be followed for ever (E5).
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed

LARGEST_REPETITION: Final = 2000
"""llama.cpp b11434 takes 2000 repetitions and refuses 2001 ("failed to parse grammar"); older builds count maxima too."""
LARGEST_NUMBER: Final = 2**63
DEEPEST: Final = 100
MOST_PARTS: Final = 20_000
MOST_HOMES: Final = 200
"""This runs on the event loop; what lies beyond these bounds accepts anything."""
LONGEST_PATTERN: Final = 1000
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})
_ONE: Final = frozenset({"items", "contains", "not", "if", "then", "else", "propertyNames", "additionalProperties"})
_MANY: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
LIMITS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \\t\\n\\r"}
_REPEAT: Final = re.compile(r"\{(\d*)(?:,(\d*))?\}")
_PERCENT: Final = re.compile(r"%([0-9A-Fa-f]{2})")


class Simplified(NamedTuple):
    """A schema and the keywords that were changed in it, each once; none: it is as it was."""

    schema: dict[str, Any]
    changed: tuple[str, ...]


def simplified(schema: dict[str, Any], *, lenient: bool) -> Simplified:
    """`schema` as far as a grammar can hold it.

    `lenient` lets a reference that cannot be followed stand for any value, as fits a tool that somebody else declared;
    otherwise it is the caller's error.
    """
    walk = Walk(schema, lenient)
    return Simplified(walk.whole(), tuple(dict.fromkeys(walk.changed)))


def without_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` without keywords that are null, which serialisers of typed languages write for all that is unset (A13, A16).

    The same object where there is none. A value that a schema only speaks of (`const`, `default`, an `enum`'s member) may be null.
    """
    pruned: dict[str, Any] = _pruned(schema, 0)
    return pruned


_VALUES: Final = frozenset({"const", "default"})
_DATA: Final = _VALUES | {"enum", "examples", "required", "type"}


def _pruned(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        return value
    if isinstance(value, list):
        listed = [_pruned(one, depth + 1) for one in value]
        return listed if any(new is not old for new, old in zip(listed, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    changed = False
    for key, item in value.items():
        if item is None and key not in _VALUES:
            changed = True
            continue
        kept = _named(item, depth + 1) if key in _NAMED else item if key in _DATA else _pruned(item, depth + 1)
        changed = changed or kept is not item
        out[key] = kept
    return out if changed else value


def _named(value: Any, depth: int) -> Any:
    """Schemas by names of the caller's own, which may be those of keywords."""
    if not isinstance(value, dict):
        return value
    out = {name: _pruned(one, depth) for name, one in value.items() if one is not None}
    return out if len(out) < len(value) or any(out[name] is not value[name] for name in out) else value


class Walk:
    """One way through one schema."""

    def __init__(self, root: dict[str, Any], lenient: bool) -> None:
        self._root, self._lenient = root, lenient
        self._names: dict[str, str] = {}
        self._sound: set[str] = set()
        self._parts = 0
        self.homes: dict[str, Any] = {}
        self.changed: list[str] = []

    def whole(self) -> dict[str, Any]:
        """The schema as it is sent."""
        out: dict[str, Any] = self.schema(self._root, 0)
        return {**out, "$defs": {**out.get("$defs", {}), **self.homes}} if self.homes else out

    def schema(self, value: Any, depth: int) -> Any:
        """A schema where the standard allows one. `true` and `false` are schemas too, and grammars know neither."""
        self._parts += 1
        if not isinstance(value, dict) or depth > DEEPEST or self._parts > MOST_PARTS:
            self.changed.append("boolean schema" if isinstance(value, bool) else "nesting")
            return {}
        out: dict[str, Any] = {}
        for key, item in value.items():
            kept = self.keyword(key, item, depth + 1)
            if kept is GONE:
                self.changed.append(key)
            else:
                out[key] = kept
        return out

    def keyword(self, key: str, item: Any, depth: int) -> Any:
        """What remains of one keyword, or `GONE`."""
        if key == "additionalProperties" and isinstance(item, bool):
            return item
        if key in _ONE and not (key == "items" and isinstance(item, list)):
            return self.schema(item, depth)
        if key in _MANY or key == "items":
            return [self.schema(one, depth) for one in item] if isinstance(item, list) else GONE
        if key in _NAMED:
            return {name: self.schema(one, depth) for name, one in item.items()} if isinstance(item, dict) else GONE
        checked = _CHECKS.get(key)
        if checked is not None:
            kept = checked(key, item)
            if kept is not GONE and (kept != item or type(kept) is not type(item)):  # 10.0 is no count to an engine
                self.changed.append(key)
            return kept
        return self._reference(item, depth) if key == "$ref" else item

    def _reference(self, ref: Any, depth: int) -> Any:
        """A reference that the engine can follow: it knows plain paths into the same document and nothing else."""
        target = self._followed(ref)
        if target is None:
            return GONE
        if ref != "#" and "~" not in ref and "%" not in ref:
            return ref
        name = self._names.get(ref)
        if name is None and len(self._names) >= MOST_HOMES:
            return GONE
        if name is None:
            name = self._names[ref] = f"ref_{len(self._names)}"
            self.changed.append("$ref")
            self.homes[name] = self.schema({k: v for k, v in target.items() if k != "$defs" or ref != "#"}, depth)
        return f"#/$defs/{name}"

    def _followed(self, ref: Any) -> dict[str, Any] | None:
        target = found_in(self._root, ref)
        if isinstance(target, dict) and not self._endless(target, (ref,)):
            return target
        if self._lenient:
            return None
        said = str(ref)[:80]
        raise Malformed(
            teaching.schema_ref_endless(said) if isinstance(target, dict) else teaching.schema_ref_unknown(said)
        )

    def _endless(self, schema: dict[str, Any], under_way: tuple[Any, ...]) -> bool:
        """Whether following it comes back before anything of a value was said: then no value ends it."""
        if len(under_way) > DEEPEST:
            return True
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in self._sound:
            target = found_in(self._root, ref)
            if ref in under_way or (isinstance(target, dict) and self._endless(target, (*under_way, ref))):
                return True
            self._sound.add(ref)  # looked at once: branches that share references would double with every level
        parts = [part for key in ("anyOf", "oneOf", "allOf") for part in _dicts(schema.get(key))]
        return any(self._endless(part, (*under_way, None)) for part in parts)


LARGEST_INDEX: Final = 7
"""Digits of a list index in a pointer."""
GONE: Final = object()


def found_in(root: Any, ref: Any) -> Any:
    """What a reference into the same document means; None where it leads nowhere or elsewhere."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        return None
    at = root
    for step in ref.split("/")[1:]:
        plain = _PERCENT.sub(lambda found: chr(int(found[1], 16)), step).replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and plain.isascii() and plain.isdigit() and len(plain) < LARGEST_INDEX:
            at = at[int(plain)] if int(plain) < len(at) else None
        else:
            at = at.get(plain) if isinstance(at, dict) else None
    return at


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _type(key: str, item: Any) -> Any:
    del key
    if isinstance(item, list):
        return [one for one in item if isinstance(one, str) and one in _TYPES] or GONE
    return item if isinstance(item, str) and item in _TYPES else GONE


def _required(key: str, item: Any) -> Any:
    del key
    return item if isinstance(item, list) and all(isinstance(one, str) for one in item) else GONE


def _count(key: str, item: Any) -> Any:
    if isinstance(item, bool) or not isinstance(item, int | float) or item < 0 or item != item // 1:
        return GONE
    if item <= LARGEST_REPETITION:
        return int(item)
    return LARGEST_REPETITION if key.startswith("min") else GONE


def _limit(key: str, item: Any) -> Any:
    del key
    number = isinstance(item, int | float) and not isinstance(item, bool)
    return item if number and abs(item) < LARGEST_NUMBER else GONE


def _pattern(key: str, item: Any) -> Any:
    """The same pattern in the few signs that every build knows, or nothing."""
    del key
    if not isinstance(item, str) or len(item) > LONGEST_PATTERN or not (item.startswith("^") and item.endswith("$")):
        return GONE
    try:
        re.compile(item)
    except (re.error, OverflowError, RecursionError):
        return GONE
    if "(?" in item.replace("(?:", "") or any(_too_often(found) for found in _REPEAT.finditer(item)):
        return GONE
    return _plain_classes(item.replace("(?:", "("))


def _too_often(found: re.Match[str]) -> bool:
    return any(len(number) > 4 or int(number) > LARGEST_REPETITION for number in found.groups() if number)


def _plain_classes(pattern: str) -> Any:
    r"""Digit, word and space classes (`\d`) as ranges, in brackets where they stand outside of some."""
    out: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign != "\\":
            inside = sign == "[" or (inside and sign != "]")
            out.append(sign)
            at += 1
            continue
        word = pattern[at + 1 : at + 2]
        at += 2
        if word.lower() in _CLASSES and word:
            if word.isupper() and inside:
                return GONE
            ranges = _CLASSES[word.lower()]
            out.append(ranges if inside else f"[{'^' if word.isupper() else ''}{ranges}]")
        elif word.isalnum() and word not in "nrt":
            return GONE  # boundaries, back references, Unicode properties
        else:
            out.append(f"\\{word}" if word in 'nrt\\^$.*+?()[]{}|-"' else word)
    return "".join(out)


_CHECKS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "type": _type,
    "required": _required,
    "pattern": _pattern,
    **dict.fromkeys(COUNTS, _count),
    **dict.fromkeys(LIMITS, _limit),
}
