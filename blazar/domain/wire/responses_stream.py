"""Deltas → the typed events of `/v1/responses`, and the response object that they add up to.

One item is open at a time; every event has the next number, and an item one id through its life (A28). The object is built by the
same steps whether the events are wanted or not, so a buffered answer and a streamed one cannot differ.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.blocks import InOrder, Piece
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.odds import behind, full_rows
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.responses import ResponseRequest
from blazar.domain.wire.responses_items import item_id, response_id, sealed
from blazar.domain.wire.responses_tools import custom_input
from blazar.domain.wire.sse import named_event

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
_TOO_MANY: Final = 429
_TEXT, _THOUGHT, _SUMMARY = "output_text", "reasoning_text", "reasoning_summary_text"


def error_code(status: int) -> str:
    """What a failed response calls its error, out of the service's own words: whose fault it was."""
    if status == _TOO_MANY:
        return "rate_limit_exceeded"
    return "invalid_prompt" if 400 <= status < 500 else "server_error"


class Moment(NamedTuple):
    """When a response began, in Unix seconds, and how to know when it ended."""

    wall: float = 0.0
    elapsed: Callable[[], float] = lambda: 0.0


class ResponseWriter(InOrder):
    """Writes one response. Nothing is said before the first delta: until then a failure can still be a status (case C12)."""

    def __init__(self, asked: ResponseRequest, model: str, token: str, quoter: Quote = quote) -> None:
        super().__init__()
        self._asked, self._model, self._token, self._quote = asked, model, token, quoter
        self._thinking = asked.child.thinking
        self.moment = Moment()
        self._status = "queued"
        self._next = 0
        self._begun = self._over = False
        self._items: list[dict[str, Any]] = []
        self._item: dict[str, Any] | None = None
        self._rows: list[dict[str, Any]] = []
        self._before = b""
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._error: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        """Nothing follows."""
        return self._over

    @property
    def status(self) -> str:
        """The word that the object shows."""
        return self._status

    def queue(self) -> bytes:
        """The first events of a response that waits in the background."""
        if self._begun:
            return b""
        self._begun = True
        return self._whole("created") + self._whole("queued")

    def write(self, delta: Delta) -> bytes:
        if self._over:
            return b""
        # The commonest first: this runs once a token.
        if isinstance(delta, Text):
            return self._said("message", delta)
        if isinstance(delta, Reasoning):
            return self._said("reasoning", delta) if self._thinking else b""
        if isinstance(delta, ToolFragment):
            return self._called(delta)
        if isinstance(delta, Failed):
            return self._fail(delta)
        if isinstance(delta, Finish):
            self._finish = delta
        else:
            self._usage = delta
        return b""

    def flush(self) -> bytes:
        if self._over or self._finish is None:
            return b""
        cut = _INCOMPLETE.get(self._finish.reason)
        opening = self._begin()
        if not self._items and self._item is None:
            opening += self._begin_block("message", -1, Text(""))  # an answer of nothing is a message too
        last = self._ended(cut=cut is not None)
        self._status = "incomplete" if cut else "completed"
        self._over = True
        return opening + last + self._whole(self._status)

    def cancel(self) -> bytes:
        """The caller wants no more of it. What was said so far stays, as incomplete."""
        if self._over:
            return b""
        closing = self._close(cut=True) if self._item else b""
        self._waiting.clear()
        self._status, self._over = "cancelled", True
        # ODD: a cancelled response ends as an incomplete one: the dialect has no event of its own for it. The status says why.
        return closing + self._whole("incomplete")

    def take(self, answer: Answer) -> None:
        """A buffered answer: the same steps, without a listener."""
        if answer.reasoning:
            self.write(Reasoning(answer.reasoning))
        if answer.text:
            self.write(Text(answer.text, behind(answer.odds, answer.text)))
        for number, call in enumerate(answer.calls):
            self.write(ToolFragment(number, call.id or None, call.name, call.arguments))
        self.write(answer.finish)
        self.write(answer.usage)
        self.flush()

    def response(self) -> dict[str, Any]:
        """The object as it is now."""
        card = self._asked.card
        done = self._status == "completed"
        reason = _INCOMPLETE.get(self._finish.reason) if self._finish and self._status == "incomplete" else None
        return {
            "id": response_id(self._token),
            "object": "response",
            "created_at": int(self.moment.wall),
            "status": self._status,
            "completed_at": int(self.moment.wall + self.moment.elapsed()) if done else None,
            "error": self._error,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": self._model,
            "output": [*self._items, *([self._whole_item("incomplete")] if self._item else [])],
            **card,
            "usage": self._counts(),
        }

    # Items.

    def _piece(self, text: str, more: bytes = b"") -> bytes:
        number, self._next = self._next, self._next + 1
        return b'%b%d,"delta":%b%b}\n\n' % (self._before, number, self._quote(text), more)

    def _grow(self, piece: Piece) -> bytes:
        if isinstance(piece, ToolFragment):
            return self._grow_call(piece.arguments) if piece.arguments else b""
        self._parts.append(piece.text)
        if self._kind == "message" and self._asked.odds.wanted:
            rows = full_rows(piece.odds, self._asked.odds)
            self._rows += rows
            return self._piece(piece.text, b',"logprobs":' + dump(rows))
        return self._piece(piece.text)

    def _grow_call(self, arguments: str) -> bytes:
        self._parts.append(arguments)
        # A custom tool's text comes as JSON here: it is told whole, once it can be unpacked.
        return b"" if self._item and self._item["type"] == "custom_tool_call" else self._piece(arguments)

    def _facts(self, fragment: ToolFragment) -> tuple[str, dict[str, Any]]:
        """The type of a call's item, and what it opens with."""
        tool = self._asked.tools.called(fragment.name or "")
        facts = {"call_id": fragment.id or f"call_{self._token}{len(self._items):04x}", "name": tool.name}
        if tool.namespace:
            facts["namespace"] = tool.namespace
        return "custom_tool_call" if tool.custom else "function_call", facts

    def _open(self, kind: str, first: Piece) -> bytes:
        begun, self._rows = self._begin(), []
        type_, facts = self._facts(first) if isinstance(first, ToolFragment) else (kind, {})
        made = item_id(type_, self._token, len(self._items))
        self._item = {"id": made, "type": type_, "status": "in_progress", **facts}
        shown = self._whole_item("in_progress")
        if kind in ("message", "reasoning"):
            shown["content" if kind == "message" or not self._asked.summary else "summary"] = []
        out = begun + self._event("response.output_item.added", {"output_index": len(self._items), "item": shown})
        out += self._part("added", "")
        name = {"message": _TEXT, "reasoning": _SUMMARY if self._asked.summary else _THOUGHT}.get(kind)
        name = f"response.{name}.delta" if name else "response.function_call_arguments.delta"
        place = dump({"type": name, **self._place()})[:-1]
        more = b',"logprobs":[]' if kind == "message" and not self._asked.odds.wanted else b""
        self._before = b'event: %b\ndata: %b%b,"sequence_number":' % (name.encode(), place, more)
        return out

    def _close(self, *, cut: bool = False) -> bytes:
        item = self._whole_item("incomplete" if cut else "completed")
        text = "".join(self._parts)
        out = self._ending(item, text) + self._part("done", text)
        out += self._event("response.output_item.done", {"output_index": len(self._items), "item": item})
        self._items.append(item)
        self._item, self._kind = None, ""
        return out

    def _ending(self, item: dict[str, Any], text: str) -> bytes:
        """What ends the pieces of an item."""
        if item["type"] == "message":
            return self._event("response.output_text.done", {**self._place(), "text": text, "logprobs": self._rows})
        if item["type"] == "reasoning":
            name = _SUMMARY if self._asked.summary else _THOUGHT
            return self._event(f"response.{name}.done", {**self._place(), "text": text})
        if item["type"] == "custom_tool_call":
            said = item["input"]
            delta = self._event("response.custom_tool_call_input.delta", {**self._place(), "delta": said})
            return delta + self._event("response.custom_tool_call_input.done", {**self._place(), "input": said})
        facts = {**self._place(), "name": item["name"], "arguments": text}
        return self._event("response.function_call_arguments.done", facts)

    def _part(self, what: str, text: str) -> bytes:
        """The part of an item that its pieces belong to, where the dialect announces one."""
        if self._kind == "message":
            return self._event(f"response.content_part.{what}", {**self._place(), "part": self._output_text(text)})
        if self._kind == "reasoning" and self._asked.summary:
            part = {"type": "summary_text", "text": text}
            return self._event(f"response.reasoning_summary_part.{what}", {**self._place(), "part": part})
        if self._kind == "reasoning":
            # OpenAI's client for Node ends the stream at a piece whose part it has not seen.
            part = {"type": _THOUGHT, "text": text}
            return self._event(f"response.content_part.{what}", {**self._place(), "part": part})
        return b""

    def _place(self) -> dict[str, Any]:
        assert self._item is not None
        place: dict[str, Any] = {"item_id": self._item["id"], "output_index": len(self._items)}
        if self._kind == "reasoning" and self._asked.summary:
            place["summary_index"] = 0
        elif self._kind in ("message", "reasoning"):
            place["content_index"] = 0
        return place

    def _whole_item(self, status: str) -> dict[str, Any]:
        """The open item with what it holds by now."""
        assert self._item is not None
        item = {**self._item, "status": status}
        text = "".join(self._parts)
        if item["type"] == "message":
            return {**item, "role": "assistant", "content": [self._output_text(text)]}
        if item["type"] == "function_call":
            return {**item, "arguments": text}
        if item["type"] == "custom_tool_call":
            return {**item, "input": custom_input(text) if text else ""}
        seal = {"encrypted_content": sealed(text)} if self._asked.sealed else {}
        if self._asked.summary:
            return {**item, "summary": [{"type": "summary_text", "text": text}], **seal}
        return {**item, "summary": [], "content": [{"type": "reasoning_text", "text": text}], **seal}

    def _output_text(self, text: str) -> dict[str, Any]:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": self._rows}

    # Events.

    def _begin(self) -> bytes:
        if self._status == "in_progress":
            return b""
        self._status = "in_progress"
        opening = b"" if self._begun else self._whole("created")
        self._begun = True
        return opening + self._whole("in_progress")

    def _fail(self, failed: Failed) -> bytes:
        self._error = {"code": error_code(failed.status), "message": failed.message}
        self._over = True
        begun, self._status = self._begun, "failed"
        if begun:
            return self._whole("failed")
        return self._event("error", {**self._error, "param": None})

    def _whole(self, what: str) -> bytes:
        return self._event(f"response.{what}", {"response": self.response()})

    def _event(self, name: str, facts: dict[str, Any]) -> bytes:
        number, self._next = self._next, self._next + 1
        return named_event(name.encode(), dump({"type": name, **facts, "sequence_number": number}))

    def _counts(self) -> dict[str, Any] | None:
        if self._usage is None or not self._over:
            return None
        usage = self._usage
        return {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
            "output_tokens": usage.completion,
            "output_tokens_details": {"reasoning_tokens": usage.thought},
            "total_tokens": usage.prompt + usage.completion,
        }
