"""What the parser of TOML and pydantic found wrong, in sentences of ours. Never repeats a secret."""

import json
import re
import tomllib
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from blazar.application.config.dotted import too_deep
from blazar.application.config.places import is_secret
from blazar.domain import teaching
from blazar.domain.errors import BadConfig

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_WANTS: dict[str, tuple[str, str]] = {
    # pydantic's error type: our word for it, and which of its facts is the limit
    "int_type": ("int", ""),
    "int_from_float": ("int", ""),
    "float_type": ("number", ""),
    "finite_number": ("finite", ""),
    "bool_type": ("bool", ""),
    "string_type": ("text", ""),
    "tuple_type": ("list", ""),
    "dict_type": ("table", ""),
    "model_type": ("table", ""),
    "model_attributes_type": ("table", ""),
    "greater_than_equal": ("at_least", "ge"),
    "less_than_equal": ("at_most", "le"),
    "greater_than": ("above", "gt"),
    "less_than": ("below", "lt"),
    "string_too_short": ("long", "min_length"),
    "too_short": ("none_given", "min_length"),
    "literal_error": ("one_of", "expected"),
    "missing": ("missing", ""),
    "string_pattern_mismatch": ("environment", ""),
}


_SHOWN = 100  # characters of a wrong value: it may be a whole file between the wrong quotes
_AT = re.compile(r"(.*) \((at line (\d+), column \d+|at end of document)\)", re.DOTALL)
_NAMES = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_KEY = re.compile(r"""[ \t]*((?:[\w.-]|"[^"\n]*"|'[^'\n]*')+|\[.*\])[ \t]*(?:$|[=#])""")
_LONG = re.compile(r"\d{1000}")  # fewer than Python refuses to read


def read_toml(text: str, path: str) -> dict[str, Any]:
    """The tables of a text; raises `BadConfig` for what is no TOML, or more than can be handled."""
    try:
        raw = tomllib.loads(text)
    except ValueError as error:
        raise BadConfig([teaching.config_unreadable(path, toml_problem(error, text))]) from error
    except RecursionError as error:
        raise BadConfig([teaching.config_unreadable(path, teaching.config_nested_too_deeply())]) from error
    if too_deep(raw):
        raise BadConfig([teaching.config_unreadable(path, teaching.config_nested_too_deeply())])
    return raw


def toml_problem(error: ValueError, text: str) -> str:
    """Where a text is no TOML and why: which key or table is meant is told where the parser tells it in the words of Python."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        found = _LONG.search(text.replace("_", ""))
        return teaching.config_not_toml(
            teaching.config_number_too_long(text.count("\n", 0, found.start()) + 1 if found else 1)
        )
    said = _AT.fullmatch(str(error))
    if said is None:
        return teaching.config_not_toml(str(error))
    what, at, line = said.groups()
    lines = text.rstrip().split("\n")
    return teaching.config_not_toml(f"{_ours(what, lines[int(line or len(lines)) - 1 :][:1])} ({at})")


def _ours(what: str, line: list[str]) -> str:
    name = ".".join(one or other for one, other in _NAMES.findall(what))
    if what.startswith("Cannot declare "):
        return teaching.config_twice(f"[{name}]")
    if what.startswith(("Cannot mutate ", "Cannot redefine ")):
        return teaching.config_closed(name)
    if what.startswith("Duplicate inline "):
        return teaching.config_twice(f"'{name}'")
    key = _KEY.match(line[0].rstrip()) if what == "Cannot overwrite a value" and line else None
    return teaching.config_twice(key[1] if key[1].startswith("[") else f"'{key[1]}'") if key else what


def why(error: "ErrorDetails") -> str:
    """What the value must be, and what it is where that may be shown."""
    if error["type"] == "blazar":
        return error["msg"]
    what, fact = _WANTS.get(error["type"], ("", ""))
    if not what:
        return error["msg"]
    limit = error.get("ctx", {}).get(fact, "")
    if what == "long" and limit == 1:
        what = "empty"
    if what == "one_of":
        limit = limit.replace("''", "empty text")
    sentence = teaching.config_wants(what, f"{limit:g}" if isinstance(limit, float) else limit)
    found = error["input"]
    if what == "missing" or is_secret(error["loc"]) or not isinstance(found, bool | int | float | str):
        return sentence
    shown = json.dumps(found, ensure_ascii=False)
    return sentence + teaching.config_found(shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…")


def spelled(location: Collection[str | int]) -> str:
    """A location as a person would write it; list positions are told by the line number."""
    return ".".join(part for part in location if isinstance(part, str) and part != "[key]")
