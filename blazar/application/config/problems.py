"""What the parser of TOML and pydantic found wrong, in sentences of ours. Never repeats a secret."""

import json
import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from blazar.application.config.dotted import LEVELS, said_name, too_deep, too_long
from blazar.application.config.hoist import nearest
from blazar.application.config.knob import LONGEST_SAID
from blazar.application.config.model import Override
from blazar.application.config.places import Place, is_secret, known_at, names_variables, table_at
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
    "string_unicode": ("unicode", ""),  # bytes of a variable that are no UTF-8
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


_AT = re.compile(r"(.*) \((?:at line (\d+), column (\d+)|at end of document)\)", re.DOTALL)
# As in locate.py, and a string that nothing ends: its mark alone.
_MARK = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"""|\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[{}\]]', re.DOTALL
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OVERRIDES = "model_overrides"
_HEADER = re.compile(rf"\s*\[\s*{_OVERRIDES}\s*\.\s*([^\"'\[\]]+?)\s*\]\s*(?:#.*)?")
_NAMES = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_KEY = re.compile(r"""[ \t]*((?:[\w.-]|"[^"\n]*"|'[^'\n]*')+|\[.*\])[ \t]*(?:$|[=#])""")
_DEEP_KEY = re.compile(
    rf"""^[ \t]*\[{{0,2}}[ \t]*(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{LEVELS}}}""", re.ASCII | re.MULTILINE
)
_LONG = re.compile(r"\d{300}|0[xob][0-9A-Fa-f]{250}")


def read_toml(text: str, path: str) -> dict[str, Any]:
    """The tables of a text, which nobody may change; raises `BadConfig` for what is no TOML, or more than can be handled.

    The last one is kept: a change is judged and then read again, which takes a quarter of a second where there are ten thousand keys.
    """
    return _read_toml(text, path)


@lru_cache(maxsize=1)
def _read_toml(text: str, path: str) -> dict[str, Any]:
    if _DEEP_KEY.search(text):  # the parser would remember each of its beginnings: gigabytes
        raise BadConfig([teaching.config_unreadable(path, teaching.config_nested_too_deeply())])
    try:
        raw = tomllib.loads(text)
    except ValueError as error:
        raise BadConfig([teaching.config_unreadable(path, toml_problem(error, text))]) from error
    except RecursionError as error:
        raise BadConfig([teaching.config_unreadable(path, teaching.config_nested_too_deeply())]) from error
    if too_deep(raw):
        raise BadConfig([teaching.config_unreadable(path, teaching.config_nested_too_deeply())])
    if too_long(raw):
        raise BadConfig([teaching.config_unreadable(path, _number_too_long(text))])
    return raw


def _number_too_long(text: str) -> str:
    found = _LONG.search(text.replace("_", ""))
    line = text.count("\n", 0, found.start()) + 1 if found else 1
    return teaching.config_not_toml(teaching.config_number_too_long(line))


def toml_problem(error: ValueError, text: str) -> str:
    """Where a text is no TOML and why: which key or table is meant is told where the parser tells it in the words of Python."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        return _number_too_long(text)
    said = _AT.fullmatch(str(error))
    if said is None:
        return teaching.config_not_toml(str(error))
    what, line, column = said.groups()
    lines = text.rstrip().split("\n")
    if line is not None:
        at = teaching.config_at(int(line), int(column))
        return teaching.config_not_toml(f"{_ours(what, lines[int(line) - 1 :][:1])} ({at})")
    mark, begun = _open_mark(text)
    told = teaching.config_not_closed(mark) if mark else _ours(what, lines[-1:])
    return teaching.config_not_toml(f"{told} ({teaching.config_at_end(begun or len(lines), len(lines))})")


def _open_mark(text: str) -> tuple[str, int]:
    """What is begun and not ended before a text is at its end, and the line where it begins; ("", 0) where nothing is."""
    opened: list[tuple[str, int]] = []
    for found in _MARK.finditer(text):
        mark = found.group()
        if mark in ('"""', "'''"):
            return mark, text.count("\n", 0, found.start()) + 1
        if mark in ("[", "{"):
            opened.append((mark, found.start()))
        elif mark in ("]", "}") and opened:
            opened.pop()
    # Of several, the outermost: there the statement begins.
    return (opened[0][0], text.count("\n", 0, opened[0][1]) + 1) if opened else ("", 0)


def _ours(what: str, line: list[str]) -> str:
    name = ".".join(one or other for one, other in _NAMES.findall(what))
    if what.startswith("Cannot declare "):
        return teaching.config_twice(f"[{name}]")
    if what.startswith(("Cannot mutate ", "Cannot redefine ")):
        return teaching.config_closed(name)
    if what.startswith("Duplicate inline "):
        return teaching.config_twice(f"'{name}'")
    if line and what.startswith("Expected ']'") and (unquoted := _HEADER.fullmatch(line[0])):
        return f"{what}; {teaching.config_name_unquoted(_header_of(unquoted[1]))}"
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
    if header := _meant_header(what, error["loc"], found):
        return teaching.config_wants(*header)
    if what == "missing" or is_secret(error["loc"]) or not isinstance(found, bool | int | float | str):
        return sentence
    shown = json.dumps(found, ensure_ascii=False)
    return sentence + teaching.config_found(shown if len(shown) <= LONGEST_SAID else f"{shown[:LONGEST_SAID]}…")


def _meant_header(what: str, place: Place, found: Any) -> tuple[str, str] | None:
    """Which header a table was to have: TOML has one bracket for a table and two for one of several."""
    name = ".".join(said_name(part) for part in place if isinstance(part, str))
    if what == "list" and table_at(place) is not None:
        return "headers", name
    if what == "table" and name and isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return "header", name
    return None


def _header_of(name: str) -> str:
    """Of a model's override; a table of it may be named behind the name."""
    model, _, table = name.rpartition(".")
    if table_at((_OVERRIDES, "", table)) is None:
        model, table = name, ""
    return f"[{_OVERRIDES}.{json.dumps(model, ensure_ascii=False)}{f'.{table}' if table else ''}]"


def unquoted(place: Place, value: Any) -> str:
    """The header that was meant where the dots of a model's name have made tables of it; "" where it does not look like that."""
    if place[0] != _OVERRIDES or len(place) < 3 or not isinstance(value, dict):
        return ""
    name, inner = ".".join(map(str, place[1:])), value
    while (
        inner
        and not inner.keys() & Override.model_fields.keys()
        and isinstance(first := next(iter(inner.values())), dict)
    ):
        name, inner = f"{name}.{next(iter(inner))}", first
    likely = inner.keys() & Override.model_fields.keys() or not nearest(str(place[-1]), known_at(place))
    return _header_of(name) if likely else ""


def spelled(location: Place) -> str:
    """A location as a person would write it; list positions are told by the line number.

    What stands in the place of a variable's name and is none may hold its value: `A=secret`.
    """
    parts = [(at, part) for at, part in enumerate(location) if isinstance(part, str) and part != "[key]"]
    return ".".join(_veiled(part) if names_variables(location[:at]) else part for at, part in parts)


def _veiled(name: str) -> str:
    if _VARIABLE.fullmatch(name):
        return name
    head, mark, _ = name.partition("=")
    return f"{head}=…" if mark and _VARIABLE.fullmatch(head) else "…"
