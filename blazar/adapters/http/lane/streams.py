"""The two kinds of stream: the child's bytes with the few changes of D15, and deltas through a dialect's writer.

Gives the domain's translators the lane's codec and a heartbeat; translates nothing itself.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from blazar.adapters.http.lane.codec import decode_chunk
from blazar.adapters.http.lane.job import Occasion, Stream
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.completions import TextFilter
from blazar.domain.wire.delta import Delta, Failed, Usage, Writer
from blazar.domain.wire.openai_stream import StreamFilter
from blazar.domain.wire.polite import with_thought
from blazar.domain.wire.seen import Seen

COMMENT: Final = b": \n\n"
"""An SSE comment: every client skips it, and the bytes keep proxies and clients from giving up (case D5)."""

EVENT_STREAM: Final = b"text/event-stream"
NDJSON: Final = b"application/x-ndjson"


class Glance:
    """What can be told of events that nobody decodes. Only the bytes up to the first word are searched, and the last ones."""

    __slots__ = ("_mark", "cut", "ended", "thought", "words")

    def __init__(self, mark: re.Pattern[bytes]) -> None:
        self._mark = mark
        self.words = self.thought = self.cut = self.ended = False

    def look(self, out: bytes, *, finished: bool) -> None:
        """Events on their way to the client; `finished`: one of these, or an earlier one, told why the answer ended."""
        if not self.words:
            self.words = self._mark.search(out) is not None
            self.thought = self.thought or _THOUGHT.search(out) is not None
        if finished and not self.ended:
            self.ended, self.cut = True, _CUT.search(out) is not None

    def seen(self, stream: StreamFilter) -> Sequence[Seen]:
        """Of a stream that ended well."""
        if not self.ended or stream.failed is not None:
            return ()
        tokens = stream.usage.completion if stream.usage is not None else 0
        return (Seen(self.words, self.thought, "length" if self.cut else "stop", tokens, stream.calls()),)


_CONTENT: Final = re.compile(rb'"content"\s*:\s*"[^"]')
_TEXT: Final = re.compile(rb'"text"\s*:\s*"[^"]')
_THOUGHT: Final = re.compile(rb'"reasoning(?:_content)?"\s*:\s*"[^"]')
_CUT: Final = re.compile(rb'"finish_reason"\s*:\s*"length"')


class Passthrough(StreamFilter):
    """The OpenAI lane. What it forwards is whole events, so a comment between two outputs never splits one."""

    __slots__ = ("_glance", "_manners", "content_type")

    def __init__(self, model: str, occasion: Occasion, *, drop_usage: bool, alone: bool = False) -> None:
        child = occasion.child_model
        StreamFilter.__init__(self, decode_chunk, model, drop_usage, occasion.trace, child, alone=alone)
        self._manners, self._glance = occasion.manners, Glance(_CONTENT)
        self.content_type = EVENT_STREAM

    def feed(self, data: bytes) -> bytes:
        out = with_thought(StreamFilter.feed(self, data), self._manners)
        if not self._glance.words or self.finished:
            self._glance.look(out, finished=self.finished)
        return out

    def flush(self) -> bytes:
        out = with_thought(StreamFilter.flush(self), self._manners)
        self._glance.look(out, finished=self.finished)
        return out

    def seen(self) -> Sequence[Seen]:
        return self._glance.seen(self)

    def spoke(self, out: bytes) -> bool:
        return _tells_several(out)

    def beat(self) -> bytes:
        return COMMENT


class TextPassthrough(TextFilter):
    """The same for raw completions."""

    __slots__ = ("_glance", "content_type")

    def __init__(self, model: str, occasion: Occasion, *, drop_usage: bool, bare: bool) -> None:
        TextFilter.__init__(self, decode_chunk, model, drop_usage, occasion.child_model, bare=bare)
        self._glance = Glance(_TEXT)
        self.content_type = EVENT_STREAM

    def feed(self, data: bytes) -> bytes:
        out = TextFilter.feed(self, data)
        if not self._glance.words or self.finished:
            self._glance.look(out, finished=self.finished)
        return out

    def flush(self) -> bytes:
        out = TextFilter.flush(self)
        self._glance.look(out, finished=self.finished)
        return out

    def seen(self) -> Sequence[Seen]:
        return self._glance.seen(self)

    def spoke(self, out: bytes) -> bool:
        return _tells_several(out)

    def beat(self) -> bytes:
        return COMMENT


class Translated(Stream):
    """Reader → deltas → writer. A read's deltas leave together."""

    __slots__ = ("_beat", "_reader", "_said", "_writer", "content_type", "failed", "usage")

    def __init__(self, reader: ChildReader, writer: Writer, content_type: bytes, beat: Callable[[], bytes]) -> None:
        self._reader, self._writer, self._beat, self.content_type = reader, writer, beat, content_type
        self._said = False
        self.usage: Usage | None = None
        self.failed: Failed | None = None

    def feed(self, data: bytes) -> bytes:
        return self._write(self._reader.feed(data))

    def flush(self) -> bytes:
        return self._write(self._reader.flush()) + self._writer.flush()

    def fail(self, failed: Failed) -> bytes:
        if self._reader.done:
            return b""
        self.failed = failed
        return self._writer.write(failed)

    def seen(self) -> Sequence[Seen]:
        seen = self._reader.seen()
        return () if seen is None else (seen,)

    def spoke(self, out: bytes) -> bool:  # noqa: ARG002 - counted in deltas, which are surer than bytes
        return self._said

    def beat(self) -> bytes:
        return self._beat()

    def _write(self, deltas: list[Delta]) -> bytes:
        reader, write = self._reader, self._writer.write
        if reader.done:
            self.usage, self.failed = reader.usage, reader.failed
        out = write(deltas[0]) if len(deltas) == 1 else b"".join([write(delta) for delta in deltas])
        if out and (self.failed is None or len(deltas) > 1):
            self._said = True
        return out


def _tells_several(out: bytes) -> bool:
    """Whether more than one event is in there; of lines, because an error's words may hold anything."""
    return (b"\n" + out).count(b"\ndata:") > 1
