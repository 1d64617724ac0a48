"""Deltas → ollama's NDJSON. One line an event, out of parts that are encoded once a stream (performance.md, item 5)."""

from collections.abc import Callable, Sequence
from typing import Any

from blazar.domain.wire.context import packed
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.odds import rows_of
from blazar.domain.wire.ollama import NO_EXTRA, Extra, closing_facts, tool_call
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.stamps import rfc3339
from blazar.domain.wire.tools import CallGatherer
from blazar.domain.wire.turn import Shape, Turn

_TEXT = {
    Shape.CHAT: (b'"message":{"role":"assistant","content":', b'},"done":false}\n'),
    Shape.GENERATE: (b'"response":', b',"done":false}\n'),
}
_THINKING = {
    Shape.CHAT: (b'"message":{"role":"assistant","content":"","thinking":', b'},"done":false}\n'),
    Shape.GENERATE: (b'"response":"","thinking":', b',"done":false}\n'),
}
_CALL = b'%b"message":{"role":"assistant","content":"","tool_calls":[%b]},"done":false}\n'
_LAST = {
    Shape.CHAT: b'"message":{"role":"assistant","content":""},"done":true,',
    Shape.GENERATE: b'"response":"","done":true,',
}


class NdjsonWriter:
    """Writes `/api/chat` and `/api/generate` streams. `elapsed` gives the seconds since the request began."""

    __slots__ = (
        "_calls",
        "_elapsed",
        "_extra",
        "_finish",
        "_first",
        "_head",
        "_over",
        "_quote",
        "_said",
        "_shape",
        "_text",
        "_thinking",
        "_turn",
        "_usage",
    )

    def __init__(
        self, shape: Shape, turn: Turn, elapsed: Callable[[], float], quote: Quote = quote, extra: Extra = NO_EXTRA
    ) -> None:
        self._extra = extra
        self._said: list[str] = []
        self._shape = shape
        self._turn = turn
        self._elapsed = elapsed
        self._quote = quote
        self._head = b""
        self._text = (b"", b"")
        self._thinking = (b"", b"")
        self._first = 0.0
        self._calls = CallGatherer()
        self._finish: Finish | None = None
        self._usage = Usage(0, 0)
        self._over = False

    def write(self, delta: Delta) -> bytes:
        if self._over:
            return b""
        if not self._head:
            self._begin()
        # The commonest first: this runs once a token.
        if isinstance(delta, Text):
            if self._extra.messages:
                self._said.append(delta.text)
            line = b"%b%b%b" % (self._text[0], self._quote(delta.text), self._text[1])
            return self._with_odds(line, delta.odds) if delta.odds else line
        if isinstance(delta, Reasoning):
            if not self._turn.thinking:
                return b""
            line = b"%b%b%b" % (self._thinking[0], self._quote(delta.text), self._thinking[1])
            return self._with_odds(line, delta.odds) if delta.odds else line
        if isinstance(delta, Failed):
            self._over = True
            return b'{"error":%b}\n' % self._quote(delta.message)
        self._keep(delta)
        return b""

    def flush(self) -> bytes:
        if self._over or self._finish is None:
            return b""
        self._over = True
        lines = [
            _CALL % (self._head, dump(tool_call(call, number, self._turn)))
            for number, call in enumerate(self._calls.calls())
        ]
        facts = closing_facts(self._turn, self._finish, self._usage, (self._first, self._elapsed()))
        if self._extra.messages:
            facts["context"] = packed(self._extra.messages, "".join(self._said))
        lines.append(b"%b%b%b\n" % (self._stamped(), _LAST[self._shape], dump(facts)[1:]))
        return b"".join(lines)

    def _with_odds(self, line: bytes, told: Sequence[Any]) -> bytes:
        odds = self._extra.odds
        return b'%b,"logprobs":%b}\n' % (line[:-2], dump(rows_of(told, odds.top))) if odds.wanted else line

    def _begin(self) -> None:
        self._first = self._elapsed()
        self._head = self._stamped()
        self._text = (self._head + _TEXT[self._shape][0], _TEXT[self._shape][1])
        self._thinking = (self._head + _THINKING[self._shape][0], _THINKING[self._shape][1])

    def _stamped(self) -> bytes:
        # One stamp for all pieces and a fresh one for the last line: formatting a time costs more than a piece does.
        stamp = rfc3339(self._turn.wall + self._elapsed()).encode()
        return b'{"model":%b,"created_at":"%b",' % (self._quote(self._turn.model), stamp)

    def _keep(self, delta: ToolFragment | Finish | Usage) -> None:
        """Nothing of these can be told before the end: calls leave whole, and the counts with the last line."""
        if isinstance(delta, ToolFragment):
            self._calls.add(delta)
        elif isinstance(delta, Finish):
            self._finish = delta
        else:
            self._usage = delta
