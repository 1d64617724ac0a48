"""Deltas → Anthropic's event stream: blocks that open, grow and close, strictly one at a time (cases C4, C5)."""

from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic import SIGNATURE, stop_of, usage_counts
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.envelopes import envelope
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.sse import named_event
from blazar.domain.wire.tools import is_object
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
    "tool_use": b'input_json_delta","partial_json":',
}


class BlockWriter:
    """Writes `/v1/messages` streams.

    `message_start` waits for the first delta: until then a failure can still be a status of its own (case C12). A call
    opens its block at once and streams; calls told crosswise wait until the open one is complete.
    """

    __slots__ = (
        "_before",
        "_begun",
        "_call",
        "_finish",
        "_index",
        "_kind",
        "_over",
        "_parts",
        "_quote",
        "_turn",
        "_usage",
        "_waiting",
        "_window",
    )

    def __init__(self, turn: Turn, quote: Quote = quote, window: int = 0) -> None:
        self._turn = turn
        self._window = window
        self._quote = quote
        self._begun = False
        self._over = False
        self._index = -1
        self._kind = ""
        self._before = b""
        self._call = -1
        self._parts: list[str] = []
        self._waiting: dict[int, list[ToolFragment]] = {}
        self._finish: Finish | None = None
        self._usage = Usage(0, 0)

    def write(self, delta: Delta) -> bytes:
        if self._over:
            return b""
        # The commonest first: this runs once a token.
        if isinstance(delta, Text):
            return self._say("text", delta.text)
        if isinstance(delta, Reasoning):
            return self._say("thinking", delta.text) if self._turn.thinking else b""
        if isinstance(delta, ToolFragment):
            return self._on_fragment(delta)
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
        rest = [self._begin(), self._close(), *self._drain()]
        return b"".join((*rest, named_event(b"message_delta", dump(ending)), _END))

    def ping(self) -> bytes:
        """Keeps a silent connection alive; nothing before the message began or after it ended."""
        return _PING if self._begun and not self._over else b""

    def _say(self, kind: str, text: str) -> bytes:
        if self._kind == kind:
            return b"%b%b}}\n\n" % (self._before, self._quote(text))
        opening = b"".join((self._begin(), self._close(), *self._drain(), self._open(kind, _OPENING[kind])))
        return b"%b%b%b}}\n\n" % (opening, self._before, self._quote(text))

    def _on_fragment(self, fragment: ToolFragment) -> bytes:
        if self._kind == "tool_use" and self._call == fragment.call:
            return self._grow(fragment)
        if self._kind == "tool_use" and (self._waiting or not is_object("".join(self._parts))):
            self._waiting.setdefault(fragment.call, []).append(fragment)
            return b""
        if fragment.name is None:
            return b""  # more of a call whose block is closed: it was complete, and a block never opens twice
        return b"".join((self._begin(), self._close(), *self._drain(), self._open_call(fragment)))

    def _drain(self) -> list[bytes]:
        """The calls that had to wait, each as a block of its own. Stands between the close of one block and the next."""
        written: list[bytes] = []
        waiting, self._waiting = self._waiting, {}
        for fragments in waiting.values():
            written.append(self._open_call(fragments[0]))
            written.extend(self._grow(fragment) for fragment in fragments[1:])
            written.append(self._close())
        return written

    def _open_call(self, fragment: ToolFragment) -> bytes:
        self._call = fragment.call
        self._parts = []
        block = {
            "type": "tool_use",
            "id": fragment.id or self._turn.call_id(fragment.call),
            "name": fragment.name or "",
            "input": {},
        }
        return self._open("tool_use", dump(block)) + self._grow(fragment)

    def _grow(self, fragment: ToolFragment) -> bytes:
        if not fragment.arguments:
            return b""
        self._parts.append(fragment.arguments)
        return b"%b%b}}\n\n" % (self._before, self._quote(fragment.arguments))

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        start = (self._quote(f"msg_{self._turn.id}"), self._quote(self._turn.model), dump(usage_counts(Usage(0, 0))))
        return _START % start

    def _open(self, kind: str, block: bytes) -> bytes:
        self._index += 1
        self._kind = kind
        self._before = _DELTA % self._index + _PIECE[kind]
        return _BLOCK_START % (self._index, block)

    def _close(self) -> bytes:
        if not self._kind:
            return b""
        # Clients give the signature back with the block; it ends the thinking, as Anthropic's own does.
        signed = (
            _DELTA % self._index + b'signature_delta","signature":"%b"}}\n\n' % SIGNATURE
            if self._kind == "thinking"
            else b""
        )
        self._kind = ""
        return signed + _BLOCK_STOP % self._index
