"""OpenAI streams: the child's bytes pass, and what passes is whole events (D15).

Touched is only: the trailing usage chunk that the caller did not ask for, a model name that is not the caller's (A22),
tool-call fragments that are not numbered properly (A1, A2, A9), calls beyond the first where one was promised, and anything that says the answer failed: then one
`data: {"error"}` ends the stream, without `[DONE]` (D35).
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from blazar.domain import teaching
from blazar.domain.kinds import Dialect
from blazar.domain.wire.child import failed_of, usage_of
from blazar.domain.wire.chunk import CallPiece, ChildChunk, Decode
from blazar.domain.wire.delta import Failed, ToolFragment, Usage
from blazar.domain.wire.envelopes import envelope
from blazar.domain.wire.lines import LONGEST_LINE, LineSplitter
from blazar.domain.wire.openai import MODEL
from blazar.domain.wire.quoting import dump, quote
from blazar.domain.wire.sse import BOM, DONE_PAYLOAD, data_event, data_of
from blazar.domain.wire.tools import CallTracker
from blazar.domain.wire.turn import Turn

# Keys that make an event worth decoding. Inside text their quotes stand escaped, so text never looks like one.
_NO_CHOICE = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_USAGE, _CALLS, _ERROR = b'"usage"', b'"tool_calls"', b'"error"'


class StreamFilter:
    """Feed the child's bytes, forward what comes back. `child` is the name that the child answers with, if known; `alone`: no more than one call."""

    __slots__ = (
        "_alone",
        "_answered",
        "_calls",
        "_child",
        "_decode",
        "_drop_usage",
        "_event",
        "_first",
        "_hollow",
        "_lines",
        "_mark",
        "_model",
        "_size",
        "_turn",
        "done",
        "failed",
        "finished",
        "usage",
    )

    def __init__(
        self,
        decode: Decode,
        caller_model: str,
        drop_usage: bool,
        id: str = "",  # noqa: A002 - the member of each event that it stands in
        child: str = "",
        *,
        alone: bool = False,
    ) -> None:
        self._decode = decode
        self._model = caller_model
        self._mark = b'"model":' + quote(caller_model)
        self._child = b'"model":' + quote(child or caller_model)
        self._drop_usage = drop_usage
        self._turn = Turn(caller_model, id=id)
        self._lines = LineSplitter()
        self._first = True
        self._event: list[bytes] = []
        self._size = 0
        self._alone = alone
        self._calls: dict[int, CallTracker] = {}
        self.finished = False
        """An event told why the answer ended."""
        self._answered = False  # something with a choice in it has passed
        self._hollow = False  # something without any has come before that
        self.usage: Usage | None = None
        self.failed: Failed | None = None
        self.done = False
        """Nothing follows: `[DONE]` passed, or the stream failed."""

    def feed(self, data: bytes) -> bytes:
        """What to forward now; empty while an event is incomplete."""
        if self.done:
            return b""
        if not self._event and self._lines.idle and self._passes(data):
            self.finished = self.finished or _finishes(data)
            return data if self._child == self._mark else data.replace(self._child, self._mark)
        return self._slowly(self._lines.feed(data))

    def flush(self) -> bytes:
        """The child's body ended. A stream that told neither a finish nor `[DONE]` was cut, and says so."""
        if self.done:
            return b""
        lines = self._lines.flush()
        out = self._slowly([*lines, b""] if lines or self._event else [])
        if self.done or self.finished:
            return out
        return out + self.fail(Failed(502, teaching.child_cut_stream(self._model)))

    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of every call that was told."""
        return [call for tracker in self._calls.values() for call in tracker.told()]

    def fail(self, failed: Failed) -> bytes:
        """The event that ends a broken stream; empty when the stream was over already."""
        if self.done:
            return b""
        self.done = True
        self.failed = failed
        return data_event(dump(envelope(Dialect.OPENAI, failed.status, failed.message)))

    def _passes(self, data: bytes) -> bool:
        """Whether `data` is whole plain events and nothing in them can need a change. A few scans of memory."""
        if not data.endswith(b"}\n\n") or data.startswith(BOM) or self._suspects(data):
            return False
        if not self._answered:
            self._answered = _NO_CHOICE.search(data) is None
        events = data.count(b"\n\n")
        return self._answered and events == data.count(b"}\n\n") == data.count(b"data: {") == data.count(self._child)

    def _suspects(self, data: bytes) -> bool:
        """Whether something in there may have to be changed, or kept."""
        return _USAGE in data or _CALLS in data or _ERROR in data

    def _is_none(self, payload: bytes) -> bool:  # noqa: ARG002 - no event of a chat is
        """Whether an event says nothing at all."""
        return False

    def _slowly(self, lines: list[bytes]) -> bytes:
        out: list[bytes] = []
        if self._first and lines:
            self._first = False
            lines[0] = lines[0].removeprefix(
                BOM
            )  # clients that do not know it would lose the event, and we not look at it
        for line in lines:
            if line:
                self._event.append(line)
                self._size += len(line)
            elif self._event:
                event, self._event, self._size = self._event, [], 0
                out.append(self._on_event(event))
                if self.done:
                    return b"".join(out)
        if self._lines.overflowed or self._size > LONGEST_LINE:
            out.append(self.fail(Failed(502, teaching.child_event_too_long(self._model))))
        return b"".join(out)

    def _on_event(self, lines: list[bytes]) -> bytes:
        raw = b"\n".join(lines) + b"\n\n"
        payload = data_of(lines)
        if payload is None:
            return raw  # a comment: it keeps the client's connection alive as it did ours
        if payload == DONE_PAYLOAD:
            return self._on_done(raw)
        if self._is_none(payload):
            return b""
        if not (payload.startswith(b"{") and payload.endswith(b"}")):
            return self.fail(Failed(502, teaching.child_garbled(self._model)))
        changed: bytes | None = payload
        if not self._answered and _NO_CHOICE.search(payload) is not None and _ERROR not in payload:
            changed = self._held_back(payload)
        elif self._suspects(payload):
            changed = self._looked_at(payload)
        if self.done or changed is None:
            return changed or b""
        self._answered = True
        self.finished = self.finished or _finishes(payload)
        assert changed is not None
        return self._renamed(raw if changed is payload else data_event(changed))

    def _on_done(self, raw: bytes) -> bytes:
        """ODD: an end behind events without a choice is mistral.rs's failed step, and no empty answer (C11)."""
        if self._hollow and not self._answered:
            return self.fail(Failed(502, teaching.child_gave_no_reason(self._model)))
        self.done = True
        return raw

    def _held_back(self, payload: bytes) -> bytes | None:
        """An event without a choice before any with one says nothing to anybody, and would decide the status."""
        self._hollow = True
        changed = self._looked_at(payload)
        return changed if self.done else None

    def _looked_at(self, payload: bytes) -> bytes | None:
        """The payload, a changed one, or None for one that is not forwarded. A failure comes as the whole last event."""
        try:
            chunk = self._decode(payload)
        except ValueError:
            return self.fail(Failed(502, teaching.child_garbled(self._model)))
        if chunk.error is not None:
            return self.fail(failed_of(chunk.error, self._model))
        if chunk.usage is not None:
            self.usage = usage_of(chunk.usage, chunk.timings)
            if self._drop_usage and not chunk.choices:
                return None
        return self._renumbered(chunk, payload)

    def _renumbered(self, chunk: ChildChunk, payload: bytes) -> bytes | None:
        if not chunk.choices or len(chunk.choices) != 1:
            return payload
        choice = chunk.choices[0]
        pieces = choice.delta.tool_calls if choice.delta else None
        if not pieces:
            return payload
        calls = self._calls.setdefault(choice.index or 0, CallTracker(alone=self._alone))
        fragments = calls.take(pieces, last=choice.finish_reason is not None)
        if _agree(pieces, fragments):
            return payload
        whole = json.loads(payload)
        delta = whole["choices"][0]["delta"]
        if fragments:
            delta["tool_calls"] = [self._spelled(fragment) for fragment in fragments]
        else:
            del delta["tool_calls"]
            if not delta and choice.finish_reason is None:
                return None
        return dump(whole)

    def _spelled(self, fragment: ToolFragment) -> dict[str, Any]:
        if fragment.name is None:
            return {"index": fragment.call, "function": {"arguments": fragment.arguments}}
        return {
            "index": fragment.call,
            "id": fragment.id or self._turn.call_id(fragment.call),
            "type": "function",
            "function": {"name": fragment.name, "arguments": fragment.arguments},
        }

    def _renamed(self, event: bytes) -> bytes:
        if self._mark in event:
            return event
        return MODEL.sub(lambda _: self._mark, event, count=1)


def _finishes(data: bytes) -> bool:
    """Whether some event names a finish reason; null is the one value without a quote."""
    return b'"finish_reason":"' in data or b'"finish_reason": "' in data


def _agree(pieces: Sequence[CallPiece], fragments: list[ToolFragment]) -> bool:
    """Whether the child tells its calls as OpenAI does: numbered, id and name once, arguments as text."""
    if len(pieces) != len(fragments):
        return False
    for piece, fragment in zip(pieces, fragments, strict=True):
        name = piece.function.name if piece.function else None
        arguments = piece.function.arguments if piece.function else None
        first = fragment.name is not None
        if piece.index != fragment.call or first != bool(piece.id) or first != bool(name):
            return False
        if (arguments or "") != fragment.arguments:
            return False
    return True
