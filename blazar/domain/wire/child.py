"""The one reader of child streams: bytes → deltas. Decides what a stream said and whether it was whole.

Success is what the child said it was: a finish reason or `[DONE]`. A stream that merely stops, a frame that cannot be
read and an error frame all end in `Failed`, never in a shorter answer that looks complete (case D9).
"""

from typing import Any

from blazar.domain import teaching
from blazar.domain.wire.chunk import Choice, Counts, Decode, Said, Timings
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, Usage
from blazar.domain.wire.reasoning import ThinkSplitter
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.sse import DONE_PAYLOAD, EventSplitter
from blazar.domain.wire.tools import CallTracker


class ChildReader:
    """Reads `/v1/chat/completions` and `/v1/completions` streams of one choice; `alone`: of several calls only the first."""

    __slots__ = (
        "_calls",
        "_counts",
        "_decode",
        "_events",
        "_foretold",
        "_hollow",
        "_model",
        "_reason",
        "_rest",
        "_splitter",
        "_stop",
        "_thought",
        "_timings",
        "done",
        "failed",
        "usage",
    )

    def __init__(
        self, decode: Decode, model: str, splitter: ThinkSplitter | None = None, *, alone: bool = False
    ) -> None:
        self._decode = decode
        self._model = model
        self._splitter = splitter
        self._events = EventSplitter()
        self._calls = CallTracker(alone=alone)
        self._hollow: bool | None = None  # whether no event with a choice came; None: no event at all
        self._reason: str | None = None
        self._stop = ""
        self._thought = self._rest = 0  # characters
        self._counts: Counts | None = None
        self._timings: Timings | None = None
        self._foretold = False  # the prompt's size was told before the answer
        self.usage: Usage | None = None
        self.failed: Failed | None = None
        self.done = False
        """Nothing follows: the stream was whole, or it failed."""

    def feed(self, data: bytes) -> list[Delta]:
        """What `data` completes, in the child's order."""
        out: list[Delta] = []
        if self.done:
            return out
        for payload in self._events.feed(data):
            if self._on_payload(payload, out):
                return out
        if self._events.overflowed:
            self._fail(Failed(502, teaching.child_event_too_long(self._model)), out)
        return out

    def flush(self) -> list[Delta]:
        """The end of the child's body."""
        out: list[Delta] = []
        if self.done:
            return out
        for payload in self._events.flush():
            if self._on_payload(payload, out):
                return out
        if self._reason is not None:
            self._close(out)
        else:
            self._fail(Failed(502, teaching.child_cut_stream(self._model)), out)
        return out

    def seen(self) -> Seen | None:
        """What is known of an answer that ended well; None of any other."""
        if not self.done or self.failed is not None:
            return None
        finish = finish_of(self._reason, self._stop, calls=self._calls.count).reason
        tokens = self.usage.completion if self.usage is not None else 0
        return Seen(self._rest > 0, self._thought > 0, finish, tokens, self._calls.told())

    def _on_payload(self, payload: bytes, out: list[Delta]) -> bool:
        """Read one event; whether it was the last."""
        if payload == DONE_PAYLOAD:
            # As in `openai_stream`: an end behind events without a choice is a failed step (C11).
            empty = Failed(502, teaching.child_gave_no_reason(self._model))
            return self._fail(empty, out) if self._hollow else self._close(out)
        try:
            chunk = self._decode(payload)
        except ValueError:
            return self._fail(Failed(502, teaching.child_garbled(self._model)), out)
        if chunk.error is not None:
            return self._fail(failed_of(chunk.error, self._model), out)
        if chunk.prompt_progress is not None and not self._foretold:
            self._foretold = True
            out.append(Usage(chunk.prompt_progress.total or 0, 0))
        if chunk.usage is not None:
            self._counts = chunk.usage
        if chunk.timings is not None:
            self._timings = chunk.timings
        if chunk.verbose is not None and chunk.verbose.stopping_word:
            self._stop = chunk.verbose.stopping_word
        if chunk.choices:
            self._hollow = False
            self._on_choice(chunk.choices[0], out)
        elif chunk.choices is not None and self._hollow is None:
            self._hollow = True
        return False

    def _on_choice(self, choice: Choice, out: list[Delta]) -> None:
        said = choice.delta or choice.message
        odds = choice.logprobs
        before = len(out)
        if said is not None:
            self._on_said(said, out, last=choice.finish_reason is not None)
        elif choice.text:
            self._on_text(choice.text, out)
        if odds is not None and odds.content and len(out) > before:
            first = out[before]
            if isinstance(first, Text | Reasoning):
                out[before] = first._replace(odds=odds.content)
        if choice.finish_reason and self._reason is None:
            self._reason = choice.finish_reason

    def _on_said(self, said: Said, out: list[Delta], *, last: bool) -> None:
        if thought := said.reasoning_content or said.reasoning:
            self._thought += len(thought)
            out.append(Reasoning(thought))
        if said.content:
            self._on_text(said.content, out)
        if said.tool_calls:
            fragments = self._calls.take(said.tool_calls, last=last)
            self._rest += sum(len(fragment.arguments) for fragment in fragments)
            out.extend(fragments)

    def _on_text(self, text: str, out: list[Delta]) -> None:
        if self._splitter is None:
            self._rest += len(text)
            out.append(Text(text))
        else:
            self._split(self._splitter.feed(text), out)

    def _split(self, parts: list[Text | Reasoning], out: list[Delta]) -> None:
        for part in parts:
            if isinstance(part, Reasoning):
                self._thought += len(part.text)
            else:
                self._rest += len(part.text)
        out.extend(parts)

    def _close(self, out: list[Delta]) -> bool:
        if self._splitter is not None:
            self._split(self._splitter.flush(), out)
        self.done = True
        out.append(finish_of(self._reason, self._stop, calls=self._calls.count))
        self.usage = self._usage()
        if self.usage is not None:
            out.append(self.usage)
        return True

    def _fail(self, failed: Failed, out: list[Delta]) -> bool:
        self.done = True
        self.failed = failed
        self.usage = self._usage()
        out.append(failed)
        return True

    def _usage(self) -> Usage | None:
        return with_thought(usage_of(self._counts, self._timings), self._counts, self._thought, self._rest)


def finish_of(reason: str | None, stop: str, *, calls: int) -> Finish:
    """Why it ended. An answer of tool calls says so even where the engine only said `stop`; `length` stays (case A6)."""
    if calls and reason in (None, "stop", "function_call"):
        return Finish("tool_calls")
    return Finish(reason or "stop", stop)


def usage_of(counts: Counts | None, timings: Timings | None) -> Usage | None:
    """Token counts. `prompt_n` leaves out what the cache held, so the prompt is `prompt_n + cache_n` (case B12)."""
    if counts is None and timings is None:
        return None
    details = counts.prompt_tokens_details if counts is not None else None
    prompt = (counts.prompt_tokens or 0) if counts is not None else 0
    completion = (counts.completion_tokens or 0) if counts is not None else 0
    cached = (details.cached_tokens or 0) if details is not None else 0
    if timings is None:
        return Usage(prompt, completion, cached)
    held = timings.cache_n or 0
    return Usage(
        max(prompt, (timings.prompt_n or 0) + held),
        completion or timings.predicted_n or 0,
        max(cached, held),
        timings.prompt_ms or 0.0,
        timings.predicted_ms or 0.0,
    )


def with_thought(usage: Usage | None, counts: Counts | None, thought: int, rest: int) -> Usage | None:
    """The counts with those of the thinking: the child's own, else the share of the answer's characters that are thoughts.

    Most engines count an answer as one. A share needs no tokeniser, and is the same for every dialect, streamed or not.
    """
    if usage is None or not (thought or counts):
        return usage
    details = counts.completion_tokens_details if counts is not None else None
    told = (details.reasoning_tokens if details else None) or (counts.reasoning_tokens if counts else None)
    if not told and thought:
        told = round(usage.completion * thought / (thought + rest))
    return usage._replace(thought=min(told, usage.completion)) if told else usage


def failed_of(error: Any, model: str) -> Failed:
    """A child's error object or text. Its status if it names a sensible one, else 502: it failed to answer (D10)."""
    status = 502
    text = error
    if isinstance(error, dict):
        code = error.get("code")
        if isinstance(code, int) and 400 <= code <= 599:
            status = code
        text = error.get("message")
    return Failed(status, text if isinstance(text, str) and text else teaching.child_gave_no_reason(model))
