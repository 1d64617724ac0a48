"""Deltas → Anthropic's event stream: blocks that open, grow and close, strictly one at a time (cases C4, C5)."""

from typing import Any

from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic import SIGNATURE, UNSAID, stop_of, usage_counts
from blazar.domain.wire.blocks import CALL, InOrder, Piece
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.envelopes import envelope
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.sse import named_event
from blazar.domain.wire.turn import Turn

_START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":%b,"type":"message","role":"assistant",'
    b'"model":%b,"content":[],"stop_reason":null,"stop_sequence":null,"usage":%b}}\n\n'
)
_BLOCK_START = b'event: content_block_start\ndata: {"type":"content_block_start","index":%d,"content_block":%b}\n\n'
_BLOCK_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"'
_PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_END = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

# Kind of a block: what it opens with, and the words that stand before a piece of it.
_OPENING = {
    "text": b'{"type":"text","text":""}',
    "thinking": b'{"type":"thinking","thinking":"","signature":""}',
}
_PIECE = {
    "text": b'text_delta","text":',
    "thinking": b'thinking_delta","thinking":',
    CALL: b'input_json_delta","partial_json":',
}


class BlockWriter(InOrder):
    """Writes `/v1/messages` streams.

    `message_start` waits for the first delta: until then a failure can still be a status of its own (case C12).
    """

    __slots__ = (
        "_before",
        "_begun",
        "_finish",
        "_index",
        "_over",
        "_quote",
        "_turn",
        "_usage",
        "_window",
    )

    def __init__(self, turn: Turn, quote: Quote = quote, window: int = 0) -> None:
        super().__init__()
        self._turn = turn
        self._window = window
        self._quote = quote
        self._begun = False
        self._over = False
        self._index = -1
        self._before = b""
        self._finish: Finish | None = None
        self._usage = Usage(0, 0)

    def write(self, delta: Delta) -> bytes:
        if self._over:
            return b""
        # The commonest first: this runs once a token.
        if isinstance(delta, Text):
            goes_on = self._kind == "text"  # as `_grow` writes it, without two calls
            return b"%b%b}}\n\n" % (self._before, self._quote(delta.text)) if goes_on else self._said("text", delta)
        if isinstance(delta, Reasoning):
            return self._said("thinking", delta) if self._turn.thinking else b""
        if isinstance(delta, ToolFragment):
            return self._called(delta)
        if isinstance(delta, Failed):
            self._over = True
            error = envelope(Dialect.ANTHROPIC, delta.status, delta.message, request_id=self._turn.id)
            return named_event(b"error", dump(error))
        if isinstance(delta, Finish):
            self._finish = delta
        else:
            self._usage = delta
        return b""

    def flush(self) -> bytes:
        if self._over or self._finish is None:
            return b""
        self._over = True
        reason, stop = stop_of(self._finish, self._usage, self._window)
        ending = {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": stop},
            "usage": usage_counts(self._usage),
        }
        return b"".join((self._begin(), self._ended(), named_event(b"message_delta", dump(ending)), _END))

    def ping(self) -> bytes:
        """Keeps a silent connection alive; nothing before the message began or after it ended."""
        return _PING if self._begun and not self._over else b""

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        # Cost meters read the prompt's size here. A child that does not foretell it tells it at the end.
        counts = dump(usage_counts(Usage(self._usage.prompt, 0)))
        return _START % (self._quote(f"msg_{self._turn.id}"), self._quote(self._turn.model), counts)

    def _open(self, kind: str, first: Piece) -> bytes:
        begun = self._begin()
        self._index += 1
        self._before = _DELTA % self._index + _PIECE[kind]
        block = dump(self._call_block(first)) if isinstance(first, ToolFragment) else _OPENING[kind]
        return begun + _BLOCK_START % (self._index, block)

    def _call_block(self, first: ToolFragment) -> dict[str, Any]:
        call_id = first.id or self._turn.call_id(first.call)
        return {"type": "tool_use", "id": call_id, "name": first.name or "", "input": {}}

    def _grow(self, piece: Piece) -> bytes:
        if not isinstance(piece, ToolFragment):
            return b"%b%b}}\n\n" % (self._before, self._quote(piece.text))
        if not piece.arguments:
            return b""
        self._parts.append(piece.arguments)
        return b"%b%b}}\n\n" % (self._before, self._quote(piece.arguments))

    def _close(self, *, cut: bool = False) -> bytes:  # noqa: ARG002 - the message says what ended it, no block does
        # Clients give the signature back with the block; it ends the thinking, as Anthropic's own does.
        signed = (
            _DELTA % self._index + b'signature_delta","signature":"%b"}}\n\n' % SIGNATURE
            if self._kind == "thinking"
            else b""
        )
        self._kind = ""
        return signed + _BLOCK_STOP % self._index


class WarmingWriter(BlockWriter):
    """For a request that only wants its prompt read: the same events without a block in them."""

    __slots__ = ()

    def write(self, delta: Delta) -> bytes:
        if isinstance(delta, Finish):
            return super().write(UNSAID)
        if isinstance(delta, Usage):
            return super().write(Usage(delta.prompt, 0, delta.cached))
        return super().write(delta) if isinstance(delta, Failed) else b""
