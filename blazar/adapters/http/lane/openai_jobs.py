"""The OpenAI endpoints: bodies and answers pass as they are, but for the triggers of D15.

Decides when a request must be parsed at all; what changes then is the domain's table (`domain/wire/openai.py`).
"""

import re
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Whole, unused
from blazar.adapters.http.lane.peek import Peek, given, peek
from blazar.adapters.http.lane.receipt import kept
from blazar.adapters.http.lane.second import SecondTry
from blazar.adapters.http.lane.streams import Passthrough
from blazar.adapters.http.lane.translated_jobs import InfillJob
from blazar.application.ports.upstream import ChildCall
from blazar.domain.errors import EngineSaid
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.wire.answer import answer_of
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.normalise import brings_media
from blazar.domain.wire.openai import STRIPPED, check, normalise, plan, refuse_unmade, reply_bytes
from blazar.domain.wire.polite import with_thought
from blazar.domain.wire.structured import constraint_of, wanted_schema

CHAT: Final = b"/v1/chat/completions"
_TAIL: Final = 4096  # an answer's counts stand at its end; llama-server's timings behind them take half a kilobyte
_HEAD: Final = 512  # an embedding's stand before the vectors
_PROMPT: Final = re.compile(rb'"prompt_tokens"\s*:\s*(\d{1,12})')
_COMPLETION: Final = re.compile(rb'"completion_tokens"\s*:\s*(\d{1,12})')
_NO_CHOICE: Final = re.compile(rb'"choices"\s*:\s*(?!\s|\[\s*\{)')
"""Anything but a list that begins with an object: none, null, a text."""


class ChatJob(Job):
    """`/v1/chat/completions` and `/v1/completions`."""

    num_ctx = 0
    load_only = False

    def __init__(self, path: bytes, raw: bytes, seen: Peek) -> None:
        self._path, self._raw, self._seen = path, raw, seen
        self.model, self.stream = seen.model, seen.stream
        self.keep_alive: float | None = None
        self.warnings: tuple[str, ...] = seen.ignored(chat=path == CHAT)
        self._body: dict[str, Any] | None = None
        self._child_model = self.model
        self._second = SecondTry("response_format")
        self._needs = "messages" if path == CHAT else "prompt"
        if b'"messages"' not in raw and b'"prompt"' not in raw:
            check({}, self._needs)
        self._plan = plan(raw, seen, self.model)
        if seen.strips:
            refuse_unmade(given(seen.echo), given(seen.best_of))
            self.keep_alive = parse_keep_alive(given(seen.keep_alive))
        if seen.strips or self._plan.parse:
            self._parse()
        if seen.constrains:
            self._constrain()

    def _parse(self) -> None:
        outcome = normalise(codec.body_object(self._raw), self.model, self._needs)
        for field in STRIPPED:
            outcome.body.pop(field, None)
        self._body, self.warnings = outcome.body, (*self.warnings, *outcome.warnings)
        self.vision = brings_media(outcome.body.get("messages"))

    def _constrain(self) -> None:
        """The wanted form as the child gets it: raw completions take a schema and a grammar, and no `response_format`."""
        sent = self._seen.form() if self._body is None else self._body
        if self._path != CHAT:
            sent = {**sent, "response_format": None}
        self.schema, self.constraint = wanted_schema(sent), constraint_of(sent)

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        if status < 400 or not self._second.may(status, raw):
            return None
        if self._body is None:
            self._parse()
        assert self._body is not None
        warnings = self._second.amend(self._body)
        self.warnings = (*self.warnings, *warnings)
        if self._second.eased:
            self.constraint = ""
        return self.call(self._child_model) if warnings else None

    def call(self, child_model: str) -> ChildCall:
        self._child_model = child_model
        if self._body is None and child_model != self.model:
            self._plan = plan(self._raw, self._seen, child_model)
            if self._plan.parse:
                self._parse()
        if self._body is None:
            assert self._plan.body is not None
            return ChildCall(b"POST", self._path, self._plan.body, JSON_BODY)
        self._body["model"] = child_model
        return ChildCall(b"POST", self._path, codec.encode(self._body), JSON_BODY)

    def open_stream(self, occasion: Occasion) -> Passthrough:
        return Passthrough(self.model, occasion, drop_usage=self._plan.drop_usage)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        if self.constraint or b'"choices"' not in raw or _NO_CHOICE.search(raw) is not None:
            # mistral.rs reports a failed step as a success without choices.
            answer = answer_of(raw, codec.decode_chunk, self.model)
            if isinstance(answer, Failed):
                raise EngineSaid(answer.status, answer.message)
            self.constraint = kept(self.constraint, answer.text)
        return Whole(with_thought(reply_bytes(raw, self.model), occasion.manners), usage_in(raw))

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def chat(raw: bytes) -> ChatJob:
    """A chat request."""
    return ChatJob(CHAT, raw, peek(raw))


def completion(raw: bytes) -> Job:
    """A raw completion; with a suffix, the middle of a text."""
    seen = peek(raw)
    if not seen.suffix:
        return ChatJob(b"/v1/completions", raw, seen)
    refuse_unmade(given(seen.echo), given(seen.best_of))
    return InfillJob(codec.body_object(raw))


def usage_in(raw: bytes) -> Usage | None:
    """Token counts by a scan of an answer's end, else its beginning; text cannot look like them, its quotes are escaped."""
    for part in (raw[-_TAIL:], raw[:_HEAD]):
        prompt, completion = _PROMPT.findall(part), _COMPLETION.findall(part)
        if prompt:
            return Usage(int(prompt[-1]), int(completion[-1]) if completion else 0)
    return None
