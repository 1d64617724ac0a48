"""How large a schema may be, with everything that it refers to: engines follow it on their stack, and one that is too deep ends them.

llama.cpp b11434 follows some 6 000 levels and dies (SIGSEGV) before 12 000; a chain of references makes that many of one small body (E5).
Recursion costs it nothing: each reference is followed once. So the levels of all schemas that are referred to are summed,
which no order of following them can exceed. Decides nothing about what a schema says.
"""

from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.relax import schemas_in
from blazar.domain.wire.schema import found_in

MOST_LEVELS: Final = 2000
MOST_OPTIONAL: Final = 1000
"""Optional properties in one object, or as many in several as cost the same: llama.cpp's grammar grows with their square. It takes 5 seconds
for 1000 of them, 8 to refuse 1200 and 22 to refuse 2000 (b11434)."""
MOST_PARTS: Final = 5000
"""Objects in one schema. To judge as many as a schema takes two seconds of a thread, once."""


def check_bounds(body: dict[str, Any], format_field: str = "response_format") -> None:
    """Raise `Malformed`, naming the field, where a schema of a child's `body` is beyond them."""
    for holder, key, field in schemas_in(body, format_field):
        schema = holder[key]
        if _optional(schema) > MOST_OPTIONAL**2:
            raise Malformed(teaching.schema_too_optional(field[:80], MOST_OPTIONAL), field)
        parts, levels = _measured(schema)
        if parts > MOST_PARTS or levels > MOST_LEVELS:
            raise Malformed(teaching.schema_too_large(field[:80], MOST_PARTS, MOST_LEVELS), field)


def _optional(root: Any) -> int:
    """The sum of the squares of how many properties of each object may be left out."""
    found = seen = 0
    left: list[Any] = [root]
    while left and seen <= MOST_PARTS and found <= MOST_OPTIONAL**2:
        item = left.pop()
        if isinstance(item, dict):
            seen += 1
            properties, required = item.get("properties"), item.get("required")
            if isinstance(properties, dict):
                needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
                found += len(properties.keys() - needed) ** 2
            left.extend(inner for inner in item.values() if isinstance(inner, dict | list))
        else:
            left.extend(inner for inner in item if isinstance(inner, dict | list))
    return found


def _measured(root: dict[str, Any]) -> tuple[int, int]:
    """Parts of the whole, and the sum of the levels of the root and of everything that is referred to."""
    refs: set[str] = set()
    parts, levels = _walked(root, refs)
    for ref in refs:
        if levels > MOST_LEVELS:
            break
        target = found_in(root, ref)
        if isinstance(target, dict):
            levels += _walked(target, None)[1]
    return parts, levels


def _walked(value: Any, refs: set[str] | None) -> tuple[int, int]:
    """Objects in it, and how deep they lie; references that are seen go into `refs`. By hand: its depth is the caller's."""
    parts = deepest = 0
    left: list[tuple[Any, int]] = [(value, 1)]
    while left and parts <= MOST_PARTS:
        item, level = left.pop()
        if isinstance(item, dict):
            parts += 1
            deepest = max(deepest, level)
            if refs is not None and isinstance(item.get("$ref"), str):
                refs.add(item["$ref"])
            left.extend((inner, level + 1) for inner in item.values() if isinstance(inner, dict | list))
        else:
            left.extend((inner, level) for inner in item if isinstance(inner, dict | list))
    return parts, deepest
