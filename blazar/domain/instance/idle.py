"""How long an idle child stays: `keep_alive` in every spelling, and when its time is up. Stops nothing."""

import json
import math
import re
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Malformed

FOREVER = -1.0
LONGEST_STAY = 100 * 365 * 86400.0
"""A century is for ever. Further off lies the end of what a calendar date can hold, and `/api/ps` shows one."""

# Go's duration grammar, which ollama clients write: one sign, then numbers with units, no spaces.
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_LONGEST = 64
"""Characters; more is never a duration that somebody means."""


def parse_keep_alive(value: Any) -> float | None:
    """Seconds to stay after the last request; -1.0 for ever; None when the caller has no wish.

    Numbers are seconds, also as text ("3600"); text is a Go duration ("10m", "1h30m", "300ms"). Any negative means for ever.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _wrong(value)
    seconds = _from_text(value) if isinstance(value, str) else _from_number(value)
    if seconds is None or math.isnan(seconds):
        raise _wrong(value)
    return FOREVER if seconds < 0 or seconds > LONGEST_STAY else seconds


def idle_deadline(idle_since: float | None, keep_alive: float) -> float | None:
    """When a child that is idle since then must go; None: not idle, or it stays."""
    return None if idle_since is None or keep_alive < 0 else idle_since + keep_alive


def _wrong(value: Any) -> Malformed:
    said = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )  # as it came, and not as Python prints it
    return Malformed(teaching.keep_alive_wrong(said), "keep_alive")


def _from_number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond every float: for ever in either direction
        return math.inf


def _from_text(text: str) -> float | None:
    if len(text) > _LONGEST:
        return None
    if _PLAIN.fullmatch(text):
        return float(text)
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text.startswith(("+", "-")) else text
    total, at = 0.0, 0
    while match := _PART.match(rest, at):
        total += float(match[1]) * _UNITS[match[2]]
        at = match.end()
    # ODD: a sign before nothing means nothing: "-0s" unloads now, as Go reads it.
    return sign * total if at and at == len(rest) else None
