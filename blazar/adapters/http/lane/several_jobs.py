"""Requests for several answers (`n`, a list of prompts), asked one after the other at the one place that they hold.

Joins a job for each answer to one; what becomes of bodies and answers is the domain's (`domain/wire/several.py`).
"""

from collections.abc import Callable, Sequence

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import Job, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM
from blazar.application.ports.upstream import ChildCall
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.several import Numbering, Several, joined, total, usage_told


class SeveralStream(Stream):
    """The streams of its parts, one after the other."""

    content_type = EVENT_STREAM

    def __init__(self, asked: Several, open_part: Callable[[], Stream]) -> None:
        self._asked, self._open = asked, open_part
        self._part = open_part()
        self._numbering = Numbering()
        self._told: list[Usage | None] = []
        self.usage: Usage | None = None
        self.failed: Failed | None = None

    def feed(self, data: bytes) -> bytes:
        return self._passed(self._part.feed(data))

    def flush(self) -> bytes:
        out = self._passed(self._part.flush())
        if self.failed is not None:
            return out
        self._told.append(self._part.usage)
        self.usage = total(self._asked.each, self._told)
        if len(self._told) < len(self._asked.parts):
            return out
        return out + self._numbering.end(self.usage if self._asked.told else None)

    def next(self) -> None:
        """The next part begins."""
        self._numbering.at += 1
        self._part = self._open()

    def fail(self, failed: Failed) -> bytes:
        self.failed = failed
        return self._part.fail(failed)

    def spoke(self, out: bytes) -> bool:
        return bool(self._told) or self._part.spoke(out)

    def beat(self) -> bytes:
        return COMMENT

    def _passed(self, out: bytes) -> bytes:
        self.failed = self._part.failed
        return self._numbering.renumber(out) if out else out


class SeveralJob(Job):
    """`make` is the job for one answer. All of them stand for the same model, so that the first one speaks for the rest.

    Only one of them is there at a time: a long conversation is not held once for every answer.
    """

    num_ctx = 0
    load_only = False

    def __init__(self, asked: Several, make: Callable[[bytes], Job]) -> None:
        self._asked, self._make = asked, make
        first = self._part = make(codec.encode(asked.parts[0]))
        self.model, self.stream, self.keep_alive = first.model, first.stream, first.keep_alive
        self.vision, self.tools = first.vision, first.tools
        self.warnings: Sequence[str] = first.warnings
        self.schema, self.constraint = first.schema, first.constraint
        self._raws: list[bytes] = []
        self._at = 0
        self._child_model = self.model
        self._stream: SeveralStream | None = None

    def call(self, child_model: str) -> ChildCall:
        self._child_model = child_model
        return self._part.call(child_model)

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        part = self._part
        part.window_key = self.window_key
        if (call := part.again(status, raw)) is not None:
            self._heed(part)
            return call
        if status >= 400 or self._at + 1 == len(self._asked.parts):
            return None
        self._raws.append(raw)
        return self._next()

    def texts(self, raw: bytes) -> Sequence[str]:
        return [text for one in (*self._raws, raw) for text in self._part.texts(one)]

    def more(self) -> ChildCall | None:
        if self._stream is None or self._at + 1 == len(self._asked.parts):
            return None
        call = self._next()
        self._stream.next()
        return call

    def _next(self) -> ChildCall:
        self._at += 1
        self._part = self._make(codec.encode(self._asked.parts[self._at]))
        return self._part.call(self._child_model)

    def _heed(self, part: Job) -> None:
        self.warnings = tuple(dict.fromkeys((*self.warnings, *part.warnings)))
        if not part.constraint:
            self.constraint = ""

    def open_stream(self, occasion: Occasion) -> Stream:
        self._stream = SeveralStream(self._asked, lambda: self._part.open_stream(occasion))
        return self._stream

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        found = [codec.decode(self._part.whole(occasion, one).body) for one in (*self._raws, raw)]
        self._heed(self._part)
        usage = total(self._asked.each, [usage_told(answer) for answer in found])
        return Whole(codec.encode(joined(found, usage)), usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)
