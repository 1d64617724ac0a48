"""What pydantic found wrong, in sentences of ours. Never repeats a secret."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from blazar.domain import teaching

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_WANTS: dict[str, tuple[str, str]] = {
    # pydantic's error type: our word for it, and which of its facts is the limit
    "int_type": ("int", ""),
    "int_from_float": ("int", ""),
    "float_type": ("number", ""),
    "finite_number": ("number", ""),
    "bool_type": ("bool", ""),
    "string_type": ("text", ""),
    "tuple_type": ("list", ""),
    "dict_type": ("table", ""),
    "model_type": ("table", ""),
    "model_attributes_type": ("table", ""),
    "greater_than_equal": ("at_least", "ge"),
    "less_than_equal": ("at_most", "le"),
    "greater_than": ("above", "gt"),
    "string_too_short": ("long", "min_length"),
    "literal_error": ("one_of", "expected"),
    "missing": ("missing", ""),
    "string_pattern_mismatch": ("environment", ""),
}


def why(error: "ErrorDetails") -> str:
    """What the value must be, and what it is where that may be shown."""
    if error["type"] == "blazar":
        return error["msg"]
    what, fact = _WANTS.get(error["type"], ("", ""))
    if not what:
        return error["msg"]
    limit = error.get("ctx", {}).get(fact, "")
    sentence = teaching.config_wants(what, f"{limit:g}" if isinstance(limit, float) else limit)
    found = error["input"]
    if what == "missing" or "keys" in error["loc"] or not isinstance(found, bool | int | float | str):
        return sentence
    return sentence + teaching.config_found(json.dumps(found, ensure_ascii=False))


def spelled(location: Collection[str | int]) -> str:
    """A location as a person would write it; list positions are told by the line number."""
    return ".".join(part for part in location if isinstance(part, str) and part != "[key]")
