"""Whether a request is traced: its caller's `traceparent` decides, and without one a coin of ours. Draws nothing at random, sends nothing."""

import re
from typing import Final, NamedTuple

_PARENT: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_LONGEST: Final = 512
_SAMPLED: Final = 1
WINDOW_SECS: Final = 10.0
"""As long as a batch is gathered."""
FREE: Final = 100
"""Traces of our own in such a time: all that a person at a workstation asks for."""
ONE_IN: Final = 100
"""Of those beyond: a busy gateway spends a hundredth of what all would cost, and its collector stores as little."""


class Parent(NamedTuple):
    """The span that a request belongs to, by its caller's word."""

    trace: int
    span: int
    sampled: bool


def parent_of(header: bytes) -> Parent | None:
    """The W3C header `traceparent`; None where it is not there or not to be understood, as if it were not there."""
    if not header or len(header) > _LONGEST or (match := _PARENT.fullmatch(header.strip())) is None:
        return None
    version, trace, span, flags, more = match.groups()
    if version == b"ff" or (version == b"00" and more is not None):
        return None
    parent = Parent(int(trace, 16), int(span, 16), bool(int(flags, 16) & _SAMPLED))
    return parent if parent.trace and parent.span else None


class Coin:
    """1 in N, but everything while little happens: whoever tries something out wants to see it."""

    def __init__(self) -> None:
        self._until = 0.0
        self._count = 0

    def takes(self, header: bytes, now: float) -> bool:
        """Whether this request is traced. A caller that traces and left this one out is obeyed."""
        if header and (parent := parent_of(header)) is not None:
            return parent.sampled
        if now >= self._until:
            self._until, self._count = now + WINDOW_SECS, 0
        self._count += 1
        return self._count <= FREE or self._count % ONE_IN == 0
