"""The log filter grammar: `level` or `logger=level`, comma-separated, `::` meaning `.`. Decides nothing about handlers."""

from typing import NamedTuple

from pydantic_core import PydanticCustomError

from blazar.domain import teaching

LEVELS = {"trace": 5, "debug": 10, "info": 20, "warn": 30, "warning": 30, "error": 40, "off": 100}
"""Words to the standard library's numbers. trace and off have none of their own there: below debug, above critical."""
DEFAULT_LEVEL = LEVELS["info"]


class LogFilter(NamedTuple):
    """A level for everything and levels for single loggers, as numbers of the `logging` module."""

    level: int = DEFAULT_LEVEL
    loggers: tuple[tuple[str, int], ...] = ()


def _directive(text: str) -> tuple[str, int] | None:
    target, mark, word = text.rpartition("=")
    level = LEVELS.get(word.strip().lower())
    name = target.strip().replace("::", ".")
    if level is None or (mark and not name.replace(".", "").replace("_", "").isalnum()):
        return None
    return name, level


def parse_filter(text: str) -> LogFilter:
    """Read a filter; a directive that is none is skipped (`checked_filter` refuses it where it is ours to refuse)."""
    level, loggers = DEFAULT_LEVEL, []
    for part in text.split(","):
        match _directive(part):
            case ("", number):
                level = number
            case (name, number):
                loggers.append((name, number))
    return LogFilter(level, tuple(loggers))


def checked_filter(text: str) -> str:
    """`text` itself when every directive can be read."""
    if any(_directive(part) is None for part in text.split(",")):
        raise PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants("filter")})
    return text


def pattern_of_filters() -> str:
    """What `checked_filter` takes, as editors read it: words in any case, white space around them."""
    words = "|".join("".join(f"[{letter}{letter.upper()}]" for letter in word) for word in LEVELS)
    one = rf"(?:[^,=]*[^\s,=._:][^,=]*=)?\s*(?:{words})\s*"
    return f"^(?:{one})(?:,{one})*$"


def understood(text: str) -> str:
    """The directives of `text` that are about us and can be read: RUST_LOG may speak to other programs in words of their own."""
    return ",".join(part for part in text.split(",") if (said := _directive(part)) is not None and _is_ours(said[0]))


def _is_ours(logger: str) -> bool:
    """For every logger, or for one of this program; those of other programs are called otherwise."""
    return logger == "" or logger.partition(".")[0] == "blazar"
