"""A conversation that is longer than its model's window, without its beginning: `truncation: "auto"` of the Responses dialect.

Decides what goes and in which order, by a child's own count of the whole. What rules the conversation stays: the system message, the
last thing that the user said, and the last turn. Calls and their answers go together, or templates refuse what is left.
"""

from collections.abc import Sequence
from typing import Any, Final

from blazar.domain.wire.quoting import dump
from blazar.domain.wire.refusal import TooLong

MOST_TRIES: Final = 8
"""Counts by characters are off where texts differ in kind, so that one try seldom is enough; after these all goes that may."""
_WISHED: Final = 4
_MOST: Final = 2
"""Shares of the window that are kept for the answer: a quarter where it has no bound of its own, never more than a half."""

Unit = list[dict[str, Any]]


def trimmed(body: dict[str, Any], sizes: TooLong, tries: int) -> int:
    """Drop messages of a child's `body`, so that what is left should fit; how many have gone, 0: nothing may."""
    system, units = _units(body["messages"])
    stays = _staying(units)
    if len(stays) == len(units):
        return 0
    excess = sizes.tokens + _room(body, sizes.window) - sizes.window
    whole = len(dump(body["messages"])) + len(dump(body.get("tools") or ()))
    left = excess * whole / max(sizes.tokens, 1) if tries < MOST_TRIES else float("inf")  # in characters
    kept: list[Unit] = []
    for at, unit in enumerate(units):
        # A conversation begins with its user in most templates: an answer whose question has gone goes too.
        if at in stays or (left <= 0 and (kept or unit[0].get("role") == "user")):
            kept.append(unit)
        else:
            left -= len(dump(unit))
    before = len(body["messages"])
    body["messages"] = [*system, *(message for unit in kept for message in unit)]
    return before - len(body["messages"])


def _room(body: dict[str, Any], window: int) -> int:
    asked = body.get("max_tokens")
    return min(asked if isinstance(asked, int) else window // _WISHED, window // _MOST)


def _units(messages: Sequence[dict[str, Any]]) -> tuple[Unit, list[Unit]]:
    """The system message, and what goes or stays together: a message, with the tools' answers to it."""
    system = [message for message in messages[:1] if message.get("role") == "system"]
    units: list[Unit] = []
    for message in messages[len(system) :]:
        if message.get("role") == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return system, units


def _staying(units: Sequence[Unit]) -> set[int]:
    asked = [at for at, unit in enumerate(units) if unit[0].get("role") == "user"]
    return {*asked[-1:], *range(len(units) - 1, len(units))} - {-1}
