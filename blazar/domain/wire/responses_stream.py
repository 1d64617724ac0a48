"""Deltas → the typed events of `/v1/responses`, and the response object that they add up to.

One item is open at a time; every event has the next number, and an item one id through its life (A28). The object is built by the
same steps whether the events are wanted or not, so a buffered answer and a streamed one cannot differ.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.responses import ResponseRequest
from blazar.domain.wire.responses_items import item_id, response_id, sealed
from blazar.domain.wire.responses_tools import custom_input
from blazar.domain.wire.sse import named_event
from blazar.domain.wire.tools import is_object

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
_SERVER_ERROR: Final = "server_error"
_TEXT, _THOUGHT, _SUMMARY = "output_text", "reasoning_text", "reasoning_summary_text"


class Moment(NamedTuple):
    """When a response began, in Unix seconds, and how to know when it ended."""

    wall: float = 0.0
    elapsed: Callable[[], float] = lambda: 0.0


class ResponseWriter:
    """Writes one response. Nothing is said before the first delta: until then a failure can still be a status (case C12)."""

    def __init__(self, asked: ResponseRequest, model: str, token: str, quoter: Quote = quote) -> None:
        self._asked, self._model, self._token, self._quote = asked, model, token, quoter
        self._thinking = asked.child.thinking
        self.moment = Moment()
        self._status = "queued"
        self._next = 0
        self._begun = self._over = False
        self._items: list[dict[str, Any]] = []
        self._item: dict[str, Any] | None = None
        self._kind = ""
        self._call = -1
        self._parts: list[str] = []
        self._before = b""
        self._waiting: dict[int, list[ToolFragment]] = {}
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._error: dict[str, Any] | None = None
        self._said = {"reasoning": 0, "rest": 0}

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
            return self._say("message", delta.text)
        if isinstance(delta, Reasoning):
            return self._say("reasoning", delta.text) if self._thinking else b""
        if isinstance(delta, ToolFragment):
            return self._on_fragment(delta)
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
            opening += self._open("message", {})  # an answer of nothing is a message too
        last = b"".join((self._close("incomplete" if cut else "completed"), *self._drain()))
        self._status = "incomplete" if cut else "completed"
        self._over = True
        return opening + last + self._whole(self._status)

    def cancel(self) -> bytes:
        """The caller wants no more of it. What was said so far stays, as incomplete."""
        if self._over:
            return b""
        closing = self._close("incomplete")
        self._waiting.clear()
        self._status, self._over = "cancelled", True
        # ODD: a cancelled response ends as an incomplete one: the dialect has no event of its own for it. The status says why.
        return closing + self._whole("incomplete")

    def take(self, answer: Answer) -> None:
        """A buffered answer: the same steps, without a listener."""
        if answer.reasoning:
            self.write(Reasoning(answer.reasoning))
        if answer.text:
            self.write(Text(answer.text))
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

    def _say(self, kind: str, text: str) -> bytes:
        self._said["reasoning" if kind == "reasoning" else "rest"] += len(text)
        opening = b""
        if self._kind != kind:
            opening = b"".join((self._begin(), self._close(), *self._drain(), self._open(kind, {})))
        self._parts.append(text)
        return opening + self._piece(text)

    def _piece(self, text: str) -> bytes:
        number, self._next = self._next, self._next + 1
        return b"%b%d,%b}\n\n" % (self._before, number, b'"delta":' + self._quote(text))

    def _on_fragment(self, fragment: ToolFragment) -> bytes:
        if self._kind == "call" and self._call == fragment.call:
            return self._grow(fragment)
        if self._kind == "call" and (self._waiting or not is_object("".join(self._parts))):
            self._waiting.setdefault(fragment.call, []).append(fragment)
            return b""
        if fragment.name is None:
            return b""  # more of a call whose item is closed: it was complete, and an item is never opened twice
        return b"".join((self._begin(), self._close(), *self._drain(), self._open_call(fragment)))

    def _drain(self) -> list[bytes]:
        """The calls that had to wait, each as an item of its own."""
        written: list[bytes] = []
        waiting, self._waiting = self._waiting, {}
        for fragments in waiting.values():
            written.append(self._open_call(fragments[0]))
            written.extend(self._grow(fragment) for fragment in fragments[1:])
            written.append(self._close("completed" if is_object("".join(self._parts)) else "incomplete"))
        return written

    def _open_call(self, fragment: ToolFragment) -> bytes:
        self._call = fragment.call
        tool = self._asked.tools.called(fragment.name or "")
        facts = {"call_id": fragment.id or f"call_{self._token}{len(self._items):04x}", "name": tool.name}
        if tool.namespace:
            facts["namespace"] = tool.namespace
        return self._open("custom" if tool.custom else "call", facts) + self._grow(fragment)

    def _grow(self, fragment: ToolFragment) -> bytes:
        if not fragment.arguments:
            return b""
        self._said["rest"] += len(fragment.arguments)
        self._parts.append(fragment.arguments)
        # A custom tool's text comes as JSON here: it is told whole, once it can be unpacked.
        return b"" if self._item and self._item["type"] == "custom_tool_call" else self._piece(fragment.arguments)

    def _open(self, kind: str, facts: dict[str, Any]) -> bytes:
        custom = kind == "custom"
        self._kind, self._parts = ("call" if custom else kind), []
        type_ = {"message": "message", "reasoning": "reasoning", "call": "function_call"}.get(kind, "custom_tool_call")
        made = item_id(type_, self._token, len(self._items))
        self._item = {"id": made, "type": type_, "status": "in_progress", **facts}
        shown = self._whole_item("in_progress")
        if kind in ("message", "reasoning"):
            shown["content" if kind == "message" or not self._asked.summary else "summary"] = []
        out = self._event("response.output_item.added", {"output_index": len(self._items), "item": shown})
        out += self._part("added", "")
        name = {"message": _TEXT, "reasoning": _SUMMARY if self._asked.summary else _THOUGHT}.get(kind)
        name = f"response.{name}.delta" if name else "response.function_call_arguments.delta"
        place = dump({"type": name, **self._place()})[:-1]
        more = b',"logprobs":[]' if kind == "message" else b""
        self._before = b'event: %b\ndata: %b%b,"sequence_number":' % (name.encode(), place, more)
        return out

    def _close(self, status: str = "completed") -> bytes:
        if self._item is None:
            return b""
        item = self._whole_item(status)
        text = "".join(self._parts)
        out = self._ending(item, text) + self._part("done", text)
        out += self._event("response.output_item.done", {"output_index": len(self._items), "item": item})
        self._items.append(item)
        self._item, self._kind = None, ""
        return out

    def _ending(self, item: dict[str, Any], text: str) -> bytes:
        """What ends the pieces of an item."""
        if item["type"] == "message":
            return self._event("response.output_text.done", {**self._place(), "text": text, "logprobs": []})
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
            return self._event(f"response.content_part.{what}", {**self._place(), "part": _output_text(text)})
        if self._kind == "reasoning" and self._asked.summary:
            part = {"type": "summary_text", "text": text}
            return self._event(f"response.reasoning_summary_part.{what}", {**self._place(), "part": part})
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
            return {**item, "role": "assistant", "content": [_output_text(text)]}
        if item["type"] == "function_call":
            return {**item, "arguments": text}
        if item["type"] == "custom_tool_call":
            return {**item, "input": custom_input(text) if text else ""}
        seal = {"encrypted_content": sealed(text)} if self._asked.sealed else {}
        if self._asked.summary:
            return {**item, "summary": [{"type": "summary_text", "text": text}], **seal}
        return {**item, "summary": [], "content": [{"type": "reasoning_text", "text": text}], **seal}

    # Events.

    def _begin(self) -> bytes:
        if self._status == "in_progress":
            return b""
        self._status = "in_progress"
        opening = b"" if self._begun else self._whole("created")
        self._begun = True
        return opening + self._whole("in_progress")

    def _fail(self, failed: Failed) -> bytes:
        self._error = {"code": _SERVER_ERROR, "message": failed.message}
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
            "output_tokens_details": {"reasoning_tokens": self._thought_tokens(usage.completion)},
            "total_tokens": usage.prompt + usage.completion,
        }

    def _thought_tokens(self, completion: int) -> int:
        """Engines count an answer as one, so the thoughts get the share that they have of its characters."""
        thought = self._said["reasoning"]
        return round(completion * thought / (thought + self._said["rest"])) if thought else 0


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
