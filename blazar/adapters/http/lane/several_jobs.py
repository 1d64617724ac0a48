"""Requests for several answers (`n`, a list of prompts), asked one after the other at the one place that they hold.

Joins a job for each answer to one; what becomes of bodies and answers is the domain's (`domain/wire/several.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import Job, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.kinds import Dialect
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.envelopes import envelope
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.raw_tools import RawLane
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.several import Numbering, Several, joined, total, usage_told
from blazar.domain.wire.sse import data_event


class SeveralStream(Stream):
    """The streams of its parts, one after the other."""

    content_type = EVENT_STREAM

    def __init__(self, asked: Several, open_part: Callable[[], Stream], model: str) -> None:
        self._asked, self._open, self._model = asked, open_part, model
        self._part = open_part()
        self._numbering = Numbering()
        self._told: list[Usage | None] = []
        self._seen: list[Seen] = []
        self.usage: Usage | None = None
        self.failed: Failed | None = None

    def feed(self, data: bytes) -> bytes:
        return self._passed(self._part.feed(data))

    def flush(self) -> bytes:
        out = self._passed(self._part.flush())
        if self.failed is not None:
            return out
        self._told.append(self._part.usage)
        self._seen.extend(self._part.seen())
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

    def seen(self) -> Sequence[Seen]:
        return self._seen

    def spoke(self, out: bytes) -> bool:
        return bool(self._told) or self._part.spoke(out)

    def beat(self) -> bytes:
        return COMMENT

    def _passed(self, out: bytes) -> bytes:
        self.failed = self._part.failed
        try:
            return self._numbering.renumber(out)
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
        ):  # one answer's stream passes unread; here it is read
            self.failed = Failed(502, teaching.child_garbled(self._model))
            return data_event(dump(envelope(Dialect.OPENAI, self.failed.status, self.failed.message)))


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
        self.vision, self.tools, self.odds = first.vision, first.tools, first.odds
        self.observed, self.refusable = first.observed, first.refusable
        self.warnings: Sequence[str] = first.warnings
        self.schema, self.constraint = first.schema, first.constraint
        self._raws: list[bytes] = []
        self._at = 0
        self._child_model = self.model
        self._stream: SeveralStream | None = None

    def sample_by(self, defaults: Mapping[str, Any]) -> None:
        make = self._make

        def sampled(part: bytes) -> Job:
            job = make(part)
            job.sample_by(defaults)
            return job

        self._make = sampled
        self._part.sample_by(defaults)

    def compat(self, lane: RawLane) -> Job:
        make = self._make
        self._make = lambda part: make(part).compat(lane)
        first = self._part = self._part.compat(lane)
        self.raw, self.schema, self.constraint, self.talk = first.raw, first.schema, first.constraint, first.talk
        self.warnings = first.warnings
        return self

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

    def asks(self) -> Mapping[str, Any]:
        return self._part.asks()

    def raws(self, raw: bytes) -> Sequence[bytes]:
        return (*self._raws, raw)

    def answers(self, raw: bytes) -> Sequence[Answer]:
        return [answer for one in self.raws(raw) for answer in self._part.answers(one)]

    def more(self) -> ChildCall | None:
        if self._stream is None or self._at + 1 == len(self._asked.parts):
            return None
        call = self._next()
        self._stream.next()
        return call

    def _next(self) -> ChildCall:
        self._at += 1
        self._part = self._make(codec.encode(self._asked.parts[self._at]))
        if self.talk is not None and self._part.talk is not None:
            self._part.talk.prompt = self.talk.prompt  # all of them are about one conversation
        return self._part.call(self._child_model)

    def _heed(self, part: Job) -> None:
        self.warnings = tuple(dict.fromkeys((*self.warnings, *part.warnings)))
        if not part.constraint:
            self.constraint = ""

    def open_stream(self, occasion: Occasion) -> Stream:
        self._stream = SeveralStream(self._asked, lambda: self._part.open_stream(occasion), self.model)
        return self._stream if self.echo is None else self.echo.stream(self._stream)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        found = [codec.decode(self._part.whole(occasion, one).body) for one in (*self._raws, raw)]
        self._heed(self._part)
        usage = total(self._asked.each, [usage_told(answer) for answer in found])
        whole = Whole(codec.encode(joined(found, usage)), usage)
        return whole if self.echo is None else self.echo.whole(whole)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)
