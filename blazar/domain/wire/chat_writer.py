"""Chat completions written from deltas, for answers whose engine did not write them so: the one lane on which OpenAI's bytes are ours.

The shapes are those of OpenAI's captured traffic (case A6): the role on the first event only, the finish on one of its own.
"""

from typing import Any

from blazar.domain.kinds import Dialect
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.envelopes import envelope
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.sse import DONE, data_event
from blazar.domain.wire.turn import Turn


def chat_reply(turn: Turn, answer: Answer) -> dict[str, Any]:
    """A buffered answer."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["content"] = answer.text or None
        message["tool_calls"] = [
            {
                "id": call.id or turn.call_id(number),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(answer.calls)
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish.reason}
    return {**_head(turn, "chat.completion"), "choices": [choice], "usage": _counts(answer.usage)}


class ChatWriter:
    """Deltas → events of `/v1/chat/completions`. The counts come in an event of their own, where they were asked for."""

    __slots__ = ("_begun", "_finish", "_head", "_open", "_over", "_quote", "_told", "_turn", "_usage")

    def __init__(self, turn: Turn, quote: Quote = quote, *, usage: bool) -> None:
        self._turn = turn
        self._head = dump(_head(turn, "chat.completion.chunk"))[:-1]
        self._quote = quote
        self._told = usage
        self._begun = self._over = False
        self._open: set[int] = set()  # calls whose name was told
        self._finish: Finish | None = None
        self._usage = Usage(0, 0)

    def write(self, delta: Delta) -> bytes:
        if self._over:
            return b""
        if isinstance(delta, Text):
            return self._event(b'{"content":%b}' % self._quote(delta.text))
        if isinstance(delta, Reasoning):
            return self._event(b'{"reasoning_content":%b}' % self._quote(delta.text)) if self._turn.thinking else b""
        if isinstance(delta, ToolFragment):
            return self._event(b'{"tool_calls":[%b]}' % self._call(delta))
        if isinstance(delta, Failed):
            self._over = True
            return data_event(dump(envelope(Dialect.OPENAI, delta.status, delta.message)))
        if isinstance(delta, Finish):
            self._finish = delta
        else:
            self._usage = delta
        return b""

    def flush(self) -> bytes:
        if self._over or self._finish is None:
            return b""
        last = self._event(b"{}", dump(self._finish.reason))
        self._over = True
        counts = data_event(b'%b,"choices":[],"usage":%b}' % (self._head, dump(_counts(self._usage))))
        return last + (counts if self._told else b"") + DONE

    def _call(self, piece: ToolFragment) -> bytes:
        function: dict[str, Any] = {"arguments": piece.arguments}
        told: dict[str, Any] = {"index": piece.call, "function": function}
        if piece.call not in self._open:
            self._open.add(piece.call)
            told |= {"id": piece.id or self._turn.call_id(piece.call), "type": "function"}
            function["name"] = piece.name or ""
        return dump(told)

    def _event(self, delta: bytes, finish: bytes = b"null") -> bytes:
        first = b""
        if not self._begun:
            self._begun = True
            first = self._choice(b'{"role":"assistant","content":null}', b"null")
        return first + self._choice(delta, finish)

    def _choice(self, delta: bytes, finish: bytes) -> bytes:
        choice = b'{"index":0,"delta":%b,"logprobs":null,"finish_reason":%b}' % (delta, finish)
        return data_event(b'%b,"choices":[%b]}' % (self._head, choice))


def _head(turn: Turn, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{turn.id}", "object": kind, "created": int(turn.wall), "model": turn.model}


def _counts(usage: Usage) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    return counts | ({"completion_tokens_details": {"reasoning_tokens": usage.thought}} if usage.thought else {})
