"""The two kinds of stream: the child's bytes with the few changes of D15, and deltas through a dialect's writer.

Gives the domain's translators the lane's codec and a heartbeat; translates nothing itself.
"""

from collections.abc import Callable
from typing import Final

from blazar.adapters.http.lane.codec import decode_chunk
from blazar.adapters.http.lane.job import Occasion, Stream
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.completions import TextFilter
from blazar.domain.wire.delta import Delta, Failed, Usage, Writer
from blazar.domain.wire.openai_stream import StreamFilter
from blazar.domain.wire.polite import with_thought

COMMENT: Final = b": \n\n"
"""An SSE comment: every client skips it, and the bytes keep proxies and clients from giving up (case D5)."""

EVENT_STREAM: Final = b"text/event-stream"
NDJSON: Final = b"application/x-ndjson"


class Passthrough(StreamFilter):
    """The OpenAI lane. What it forwards is whole events, so a comment between two outputs never splits one."""

    __slots__ = ("_manners", "content_type")

    def __init__(self, model: str, occasion: Occasion, *, drop_usage: bool) -> None:
        StreamFilter.__init__(self, decode_chunk, model, drop_usage, occasion.trace, occasion.child_model)
        self._manners = occasion.manners
        self.content_type = EVENT_STREAM

    def feed(self, data: bytes) -> bytes:
        return with_thought(StreamFilter.feed(self, data), self._manners)

    def flush(self) -> bytes:
        return with_thought(StreamFilter.flush(self), self._manners)

    def spoke(self, out: bytes) -> bool:
        return out.count(b"data: ") > 1

    def beat(self) -> bytes:
        return COMMENT


class TextPassthrough(TextFilter):
    """The same for raw completions."""

    __slots__ = ("content_type",)

    def __init__(self, model: str, occasion: Occasion, *, drop_usage: bool, bare: bool) -> None:
        TextFilter.__init__(self, decode_chunk, model, drop_usage, occasion.child_model, bare=bare)
        self.content_type = EVENT_STREAM

    def spoke(self, out: bytes) -> bool:
        return out.count(b"data: ") > 1

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
