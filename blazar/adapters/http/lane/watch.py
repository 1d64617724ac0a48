"""What is observed of one answer while it passes, and which buffered answers are worth a closer look. Decides no verdict: the sentinel does.

Must cost next to nothing where nothing is wrong: bytes are searched, and only what is suspicious is decoded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from blazar.adapters.http.lane.codec import decode_chunk
from blazar.adapters.http.record import RequestRecord
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.sentinel import MOST_FINDINGS, Finding, Wanted, findings, stalled, wanted_of
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.delta import Delta, Text, Usage
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.structured import Asked

ENFORCE_HEADER: Final = b"x-blazar-enforce"
SENTINEL: Final = "sentinel"
"""The note of a request's record, counted by its `code`."""
TICKS: Final = 4
"""Looks in the time after which a stream counts as stalled: it is noticed within a quarter of that more."""

LONGEST_KEPT: Final = 256 * 1024
"""Characters of a stream that are kept to judge its form; a longer one is not judged."""

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


class KeptText:
    """The text of a stream, read a second time beside its way to the client. Only of streams that are to have a form, and no more than `LONGEST_KEPT`."""

    __slots__ = ("_parts", "_reader", "_size")

    def __init__(self, model: str) -> None:
        self._reader: ChildReader | None = ChildReader(decode_chunk, model)
        self._parts: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """More of the child's bytes."""
        if self._reader is not None:
            self._take(self._reader.feed(data))

    def whole(self) -> str | None:
        """All of it; None where it was too long to keep, or begins with thoughts that the engine left in it."""
        if self._reader is not None:
            self._take(self._reader.flush())
        text = "".join(self._parts)
        return None if self._reader is None or text.lstrip().startswith("<") else text

    def _take(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            if isinstance(delta, Text):
                self._parts.append(delta.text)
                self._size += len(delta.text)
        if self._size > LONGEST_KEPT:
            self._reader = None
            self._parts.clear()


class Watch:
    """Of one answer. Made only where something is observed."""

    __slots__ = (
        "_asked",
        "_begun",
        "_form",
        "_silent",
        "enforces",
        "found",
        "kept",
        "later",
        "odd",
        "reads",
        "tells",
        "told",
    )

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
        self.kept: KeptText | None = None
        """What a stream says that was to have a form."""
        self.later: list[tuple[Seen, Wanted]] = []
        """What of a stream has to be judged by a schema, which takes a thread."""

    @property
    def formed(self) -> bool:
        """Whether the answer is to have a form."""
        return self._asked is not None or self._form == "json_object"

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
        """A stream has ended well. What no schema is needed for is judged at once."""
        text = self.kept.whole() if self.kept is not None and len(seens) == 1 else None
        for seen in seens:
            told = seen._replace(text=text) if text is not None else seen
            # A limit of the caller's own is asked for where it was reached.
            wanted = self.wanted(asks()) if told.calls or text is not None or told.finish == "length" else Wanted()
            if wanted.schema is not None or (told.calls and wanted.tools):
                self.later.append((told, wanted))
            else:
                self.found.extend((now, finding) for finding in findings(told, wanted))

    def note(self, record: RequestRecord) -> None:
        """Into the request's story; metrics, events and the log read it there."""
        self.odd = self.odd or bool(self.found)
        for at, finding in self.found if self.tells else ():
            own = {} if finding.violation else {"own": True}
            record.note(at, SENTINEL, code=finding.code.value, detail=finding.brief, **own)
        self.found = []


def _suspicious(raw: bytes) -> bool:
    """Whether it does not begin with a word, or says that it was cut, or holds what is not looked for here."""
    if _SAYS[0].search(raw) is None and _SAYS[1].search(raw) is None:
        return True
    if b'length"' in raw and _CUT.search(raw) is not None:
        return True
    return _ODD[0] in raw or _ODD[1] in raw
