"""What is observed of one answer while it passes, and which buffered answers are worth a closer look. Decides no verdict: the sentinel does.

Must cost next to nothing where nothing is wrong: bytes are searched, and only what is suspicious is decoded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from blazar.adapters.http.record import RequestRecord
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.sentinel import MOST_FINDINGS, Finding, Wanted, findings, stalled, wanted_of
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.structured import Asked

ENFORCE_HEADER: Final = b"x-blazar-enforce"
SENTINEL: Final = "sentinel"
"""The note of a request's record, counted by its `code`."""
TICKS: Final = 4
"""Looks in the time after which a stream counts as stalled: it is noticed within a quarter of that more."""

_SWITCH: Final = {b"on": True, b"true": True, b"1": True, b"off": False, b"false": False, b"0": False}
_CUT: Final = re.compile(rb'"finish_reason"\s*:\s*"length"')
_SAYS: Final = (re.compile(rb'"content"\s*:\s*"[^"\s\\]'), re.compile(rb'"text"\s*:\s*"[^"\s\\]'))
"""Two, because a pattern that begins with a literal is searched ten times as fast."""
_ODD: Final = (b'"tool_calls"', b'"__verbose"')


def switch(headers: Mapping[bytes, bytes], name: bytes) -> bool | None:
    """A header that is on or off; None: not there. Raises `Malformed` for any other word."""
    value = headers.get(name)
    if value is None:
        return None
    wish = _SWITCH.get(value.strip().lower())
    if wish is None:
        raise Malformed(teaching.field_must(name.decode(), "switch"), name.decode())
    return wish


def spent(answers: Sequence[Answer]) -> Usage | None:
    """What answers cost that nobody gets."""
    if not answers:
        return None
    usages = [answer.usage for answer in answers]
    return Usage(
        sum(usage.prompt for usage in usages),
        sum(usage.completion for usage in usages),
        sum(usage.cached for usage in usages),
    )


class Watch:
    """Of one answer. Made only where something is observed."""

    __slots__ = ("_asked", "_begun", "_form", "_silent", "enforces", "found", "odd", "reads", "tells", "told")

    def __init__(
        self, asked: Asked | None, constraint: str, *, enforces: bool = False, tells: bool = True, reads: bool = False
    ) -> None:
        self._asked = None if asked is None or asked.of_call else asked.schema
        self._form = constraint  # as it is wanted: what the engine is told may be less
        self._begun, self._silent = False, 0
        self.enforces, self.tells, self.reads = enforces, tells, reads
        self.odd = False
        """Something was found."""
        self.told = False
        """Something was said since the last look."""
        self.found: list[tuple[float, Finding]] = []

    def suspects(self, raws: Sequence[bytes]) -> bool:
        """Whether something may be wrong with a whole answer: too often yes, never wrongly no."""
        if self.reads or self._asked is not None or self._form:
            return True
        return any(_suspicious(raw) for raw in raws)

    def wanted(self, asks: Mapping[str, Any]) -> Wanted:
        """What the request wants of its answer; `asks` is its body in OpenAI's words."""
        return wanted_of(asks, self._form, self._asked)

    def look(self, now: float, seconds: float) -> None:
        """A part of `seconds` has passed. Before it has begun a stream cannot stall: a long prompt is no silence."""
        if self.told:
            self.told, self._begun, self._silent = False, True, 0
        elif self._begun:
            self._silent += 1
            if self._silent == TICKS and len(self.found) < MOST_FINDINGS:
                self.found.append((now, stalled(seconds)))

    def close(self, now: float, seens: Sequence[Seen], asks: Callable[[], Mapping[str, Any]]) -> None:
        """A stream has ended well. Its calls are judged by name and form; nobody kept its text, and no thread is worth its schemas."""
        for seen in seens:
            wanted = self.wanted(asks()) if seen.calls else Wanted()
            self.found.extend((now, finding) for finding in findings(seen, wanted))

    def note(self, record: RequestRecord) -> None:
        """Into the request's story; metrics, events and the log read it there."""
        self.odd = self.odd or bool(self.found)
        for at, finding in self.found if self.tells else ():
            record.note(at, SENTINEL, code=finding.code.value, detail=finding.brief)
        self.found = []


def _suspicious(raw: bytes) -> bool:
    """Whether it does not begin with a word, or says that it was cut, or holds what is not looked for here."""
    if _SAYS[0].search(raw) is None and _SAYS[1].search(raw) is None:
        return True
    if b'length"' in raw and _CUT.search(raw) is not None:
        return True
    return _ODD[0] in raw or _ODD[1] in raw
