"""`echo` of a raw completion on its way: has prompts of tokens told by their child, and joins the domain's filter to a stream."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Stream, Whole
from blazar.application.ports.upstream import ChildCall
from blazar.application.supervise.leasing import Lease
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid
from blazar.domain.manners import DETOKENIZE
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.echo import Echo, EchoFilter
from blazar.domain.wire.polite import refusal
from blazar.domain.wire.refusal import beyond_vocabulary
from blazar.domain.wire.seen import Seen

WITHIN: Final = 10.0
"""Seconds for one prompt's tokens."""


class Echoed:
    """`body` is the caller's."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._echo = Echo(body)

    async def render(self, lease: Lease) -> None:
        """Prompts of tokens as text. Raises where a child of this kind tells none; what is no token it refuses itself."""
        for at, tokens in self._echo.tokens():
            if (error := refusal(DETOKENIZE, lease.manners)) is not None:
                raise error
            call = ChildCall(b"POST", DETOKENIZE.encode(), codec.encode({"tokens": tokens}), JSON_BODY)
            answer = await lease.upstream.fetch(call, WITHIN)
            if beyond_vocabulary(answer.status, answer.body):
                continue
            try:
                text = codec.decode(answer.body)["content"]
            except (ValueError, TypeError, KeyError):
                text = None
            if answer.status != 200 or not isinstance(text, str):
                raise EngineSaid(502, teaching.child_garbled(lease.called))
            self._echo.tell(at, text)

    def stream(self, inner: Stream) -> Stream:
        """With the prompts in it."""
        return EchoedStream(inner, EchoFilter(self._echo))

    def whole(self, whole: Whole) -> Whole:
        """The same of a buffered answer."""
        said = codec.decode(whole.body)
        self._echo.write(said)
        return whole._replace(body=codec.encode(said))


class EchoedStream(Stream):
    """Another stream, with texts written into it."""

    def __init__(self, inner: Stream, written: EchoFilter) -> None:
        self._inner, self._written = inner, written
        self.content_type = inner.content_type
        self.usage: Usage | None = None
        self.failed: Failed | None = None

    def feed(self, data: bytes) -> bytes:
        return self._passed(self._inner.feed(data))

    def flush(self) -> bytes:
        return self._passed(self._inner.flush())

    def fail(self, failed: Failed) -> bytes:
        return self._passed(self._inner.fail(failed))

    def seen(self) -> Sequence[Seen]:
        return self._inner.seen()

    def spoke(self, out: bytes) -> bool:
        return self._inner.spoke(out)

    def beat(self) -> bytes:
        return self._inner.beat()

    def _passed(self, out: bytes) -> bytes:
        self.usage, self.failed = self._inner.usage, self._inner.failed
        return self._written.through(out)
