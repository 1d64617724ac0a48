"""One request to a model whose template has no tools (`ollama_compat`): rendered with its tools in words, completed, and read again.

Joins the domain's halves (`raw_tools`, `raw_calls`) to a child and to a job; decides neither.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY
from blazar.application.ports.upstream import ChildCall
from blazar.application.supervise.leasing import Lease
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid
from blazar.domain.manners import APPLY_TEMPLATE
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.child import ChildReader, with_thought
from blazar.domain.wire.chunk import Decode
from blazar.domain.wire.delta import Delta, Finish, Reasoning, Text, ToolFragment
from blazar.domain.wire.raw_calls import CallFinder
from blazar.domain.wire.raw_tools import RawLane, completion_body, offer_of, template_body, warnings_of
from blazar.domain.wire.reasoning import OPEN, ThinkSplitter
from blazar.domain.wire.request import COMPLETIONS
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.tools import CallGatherer

WITHIN: Final = 30.0
"""Seconds for a template to be rendered: a megabyte of conversation takes less than one."""


class RawTalk:
    """`body` is the normalised chat request. `prompt` is what its template made of it, once `render` was there."""

    def __init__(self, body: Mapping[str, Any], lane: RawLane) -> None:
        self.lane = lane
        self.warnings = warnings_of(body, lane)
        self.prompt = ""
        self._body = body
        self._offer = offer_of(body)

    async def render(self, lease: Lease) -> None:
        """Have the child's own template make the prompt. Raises where it cannot, with a system message or without one."""
        for folded in (False, True):
            asked = codec.encode(template_body(self._body, folded=folded))
            answer = await lease.upstream.fetch(ChildCall(b"POST", APPLY_TEMPLATE.encode(), asked, JSON_BODY), WITHIN)
            with suppress(ValueError, TypeError, KeyError):
                prompt = codec.decode(answer.body)["prompt"]
                if answer.status == 200 and isinstance(prompt, str):
                    self.prompt = prompt
                    return
        raise EngineSaid(502, teaching.prompt_not_shown(lease.called))

    def call(self, child_model: str) -> ChildCall:
        """The completion."""
        body = {**completion_body(self._body, self.prompt, self.lane), "model": child_model}
        return ChildCall(b"POST", COMPLETIONS.encode(), codec.encode(body), JSON_BODY)

    def reader(self, decode: Decode, model: str) -> ChildReader:
        """Of its stream."""
        return RawReader(decode, model, self._splitter(), self._finder())

    def read(self, answer: Answer) -> Answer:
        """A whole answer, by the same rules."""
        splitter, finder, gatherer = self._splitter(), self._finder(), CallGatherer()
        thought, text = [], []
        parts = [*splitter.feed(answer.text), *splitter.flush()]
        for part in parts:
            if isinstance(part, Reasoning):
                thought.append(part.text)
            else:
                text += finder.feed(part.text)
        for piece in (text := [*text, *finder.flush()]):
            if isinstance(piece, ToolFragment):
                gatherer.add(piece)
        said, reasoning = "".join(piece.text for piece in text if isinstance(piece, Text)), "".join(thought)
        calls = gatherer.calls()
        rest = len(answer.text) - len(reasoning)
        return answer._replace(
            text=said,
            reasoning=reasoning,
            calls=calls,
            finish=finished(answer.finish, len(calls)),
            usage=with_thought(answer.usage, None, len(reasoning), rest) or answer.usage,
        )

    def _finder(self) -> CallFinder:
        return CallFinder(self._offer.names, 0 if self._offer.several else 1)

    def _splitter(self) -> ThinkSplitter:
        return ThinkSplitter(prefilled=self.prompt.rstrip().endswith(OPEN))


class RawReader(ChildReader):
    """Reads completions; what it hands on is what a chat of a model with tools would have said."""

    __slots__ = ("_finder", "_gatherer")

    def __init__(self, decode: Decode, model: str, splitter: ThinkSplitter, finder: CallFinder) -> None:
        super().__init__(decode, model, splitter)
        self._finder, self._gatherer = finder, CallGatherer()

    def seen(self) -> Seen | None:
        seen = super().seen()
        calls = [(call.name, call.arguments) for call in self._gatherer.calls()]
        return None if seen is None else seen._replace(calls=calls)

    def feed(self, data: bytes) -> list[Delta]:
        return self._found(super().feed(data))

    def flush(self) -> list[Delta]:
        return self._found(super().flush())

    def _found(self, deltas: list[Delta]) -> list[Delta]:
        out: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, Text):
                out += self._finder.feed(delta.text)
            elif isinstance(delta, Reasoning):
                out.append(delta)
            else:
                out += self._finder.flush()  # nothing of the answer follows
                out.append(finished(delta, self._finder.count) if isinstance(delta, Finish) else delta)
        for found in out:
            if isinstance(found, ToolFragment):
                self._gatherer.add(found)
        return out


def finished(finish: Finish, calls: int) -> Finish:
    """An answer that calls something says so, unless it was cut."""
    return Finish("tool_calls") if calls and finish.reason == "stop" else finish
