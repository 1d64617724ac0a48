"""The OpenAI endpoints: bodies and answers pass as they are, but for the triggers of D15.

Decides when a request must be parsed at all; what changes then is the domain's table (`domain/wire/openai.py`).
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.echoed import Echoed
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.kept_chat import KeptChat
from blazar.adapters.http.lane.peek import Peek, given, peek
from blazar.adapters.http.lane.raw_chat_jobs import RawChatJob
from blazar.adapters.http.lane.receipt import kept
from blazar.adapters.http.lane.second import SecondTry
from blazar.adapters.http.lane.several_jobs import SeveralJob
from blazar.adapters.http.lane.streams import Passthrough, TextPassthrough
from blazar.adapters.http.lane.translated_jobs import InfillJob
from blazar.application.ports.upstream import ChildCall
from blazar.domain.errors import EngineSaid
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.wire.answer import answer_of
from blazar.domain.wire.completions import reshaped, tells_logprobs, want_logprobs
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.echo import wants_echo
from blazar.domain.wire.normalise import brings_media
from blazar.domain.wire.openai import (
    STRIPPED,
    check,
    first_call_alone,
    normalise,
    passed,
    plan,
    refuse_unmade,
    reply_bytes,
)
from blazar.domain.wire.polite import with_thought
from blazar.domain.wire.raw_tools import RawLane
from blazar.domain.wire.reach import within_reach
from blazar.domain.wire.sampling import check_chat, check_choice, check_effort, check_sampling, check_types
from blazar.domain.wire.several import split
from blazar.domain.wire.structured import constraint_of, wanted_schema

CHAT: Final = b"/v1/chat/completions"
_TAIL: Final = 4096  # an answer's counts stand at its end; llama-server's timings behind them take half a kilobyte
_HEAD: Final = 512  # an embedding's stand before the vectors
_PROMPT: Final = re.compile(rb'"prompt_tokens"\s*:\s*(\d{1,12})')
_CACHED: Final = re.compile(rb'"cache(?:d_tokens|_n)"\s*:\s*(\d{1,12})')
_COMPLETION: Final = re.compile(rb'"completion_tokens"\s*:\s*(\d{1,12})')
COMPLETIONS: Final = b"/v1/completions"
_PROMPTS: Final = re.compile(rb'"prompt"\s*:\s*\[\s*["\[]')
_NO_CHOICE: Final = re.compile(rb'"choices"\s*:\s*(?!\s|\[\s*\{)')
"""Anything but a list that begins with an object: none, null, a text."""


class ChatJob(Job):
    """`/v1/chat/completions` and `/v1/completions`."""

    num_ctx = 0
    load_only = False
    observed = True

    def __init__(self, path: bytes, raw: bytes, seen: Peek) -> None:
        self._path, self._raw, self._seen = path, raw, seen
        self.model, self.stream = seen.model, seen.stream
        self.keep_alive: float | None = None
        self.warnings: tuple[str, ...] = seen.ignored(chat=path == CHAT)
        self._body: dict[str, Any] | None = None
        self._same = False
        self._child_model = self.model
        self._second = SecondTry("response_format")
        self._needs = "messages" if path == CHAT else "prompt"
        self.tools = path == CHAT and seen.offers_tools
        self.refusable = path == CHAT
        if b'"messages"' not in raw and b'"prompt"' not in raw:
            check({}, self._needs)
        self._plan = plan(raw, seen, self.model)
        if seen.strips:
            refuse_unmade(given(seen.echo) if path == CHAT else None, given(seen.best_of))
            self.keep_alive = parse_keep_alive(given(seen.keep_alive))
        check_sampling(seen.stop, seen.logit_bias, seen.reasoning_effort, seen.parallel_tool_calls)
        check_types(seen.numbers, seen.tool_choice, seen.stream_options)
        if path == CHAT:
            check_chat(seen.max_tokens, seen.max_completion_tokens, seen.top_logprobs, seen.metadata)
            check_effort(seen.reasoning_effort)
            check_choice(seen.tool_choice, offered=self.tools)
        self._alone = path == CHAT and seen.parallel_tool_calls is False
        self._bare = path != CHAT and want_logprobs(seen.logprobs)
        self.odds = "logprobs" if seen.logprobs or self._bare else ""
        if seen.strips or self._bare or seen.wraps or self._plan.parse:
            self._parse()
            self._pass_if_same()
        if seen.constrains:
            self._constrain()
        if seen.store not in (None, False) and path == CHAT:
            self.keeps = KeptChat(self, seen.store, raw)

    def _parse(self) -> None:
        outcome = normalise(codec.body_object(self._raw), self.model, self._needs)
        for field in STRIPPED:
            outcome.body.pop(field, None)
        if self._bare:
            outcome.body["logprobs"] = 1
        self._same = not within_reach(outcome.body) and outcome.same
        self._body, self.warnings = outcome.body, (*self.warnings, *outcome.warnings)
        self.vision = brings_media(outcome.body.get("messages"))

    def _pass_if_same(self) -> None:
        """What was parsed only to be looked at goes to the child in its own bytes (D15)."""
        if self._same and not self._seen.strips and not self._bare and b"null" not in self._raw:
            body = passed(self._raw, self._seen, self.model)
            if body is not None:
                self._plan, self._body = self._plan._replace(body=body, parse=False), None

    def _constrain(self) -> None:
        """The wanted form as the child gets it: raw completions take a schema and a grammar, and no `response_format`."""
        sent = self._seen.form() if self._body is None else self._body
        if self._path != CHAT:
            sent = {**sent, "response_format": None}
        self.schema, self.constraint = wanted_schema(sent), constraint_of(sent)

    def asks(self) -> Mapping[str, Any]:
        """Of a body that may hold a long history only the few members that are read, as they came."""
        offered = bytes(self._seen.tools) if self._path == CHAT else b""
        return {**codec.limits_in(self._raw), "tools": codec.decode(offered) if offered else None}

    def sample_by(self, defaults: Mapping[str, Any]) -> None:
        if self._body is None:
            self._parse()
        assert self._body is not None
        for name, value in defaults.items():
            self._body.setdefault(name, value)

    def compat(self, lane: RawLane) -> Job:
        job = RawChatJob(self._raw).compat(lane)
        if self.keeps is not None:
            job.keeps = KeptChat(job, self._seen.store, self._raw)
        return job

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        if status < 400 or not self._second.may(status, raw, self.window_key):
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
            self._plan = self._plan._replace(body=passed(self._raw, self._seen, child_model))
            if self._plan.body is None:
                self._parse()
        if self._body is None:
            assert self._plan.body is not None
            return ChildCall(b"POST", self._path, self._plan.body, JSON_BODY)
        self._body["model"] = child_model
        return ChildCall(b"POST", self._path, codec.encode(self._body), JSON_BODY)

    def open_stream(self, occasion: Occasion) -> Stream:
        if self._path != CHAT:
            text = TextPassthrough(self.model, occasion, drop_usage=self._plan.drop_usage, bare=self._bare)
            return text if self.echo is None else self.echo.stream(text)
        return Passthrough(self.model, occasion, drop_usage=self._plan.drop_usage, alone=self._alone)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        if self.constraint or b'"choices"' not in raw or _NO_CHOICE.search(raw) is not None:
            # mistral.rs reports a failed step as a success without choices.
            answer = answer_of(raw, codec.decode_chunk, self.model)
            if isinstance(answer, Failed):
                raise EngineSaid(answer.status, answer.message)
            self.constraint = kept(self.constraint, answer.text)
        said = with_thought(reply_bytes(raw, self.model), occasion.manners)
        if self._alone and b'"tool_calls"' in said and first_call_alone(answer := codec.decode(said)):
            said = codec.encode(answer)
        if self._path != CHAT and tells_logprobs(raw):
            said = codec.encode(reshaped(codec.decode(said), bare=self._bare))
        whole = Whole(said, usage_in(raw))
        return whole if self.echo is None else self.echo.whole(whole)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def chat(raw: bytes) -> Job:
    """A chat request."""
    seen = peek(raw)
    return ChatJob(CHAT, raw, seen) if _alone(seen) else _several(CHAT, raw, seen)


def completion(raw: bytes) -> Job:
    """A raw completion; with a suffix, the middle of a text."""
    seen = peek(raw)
    if not seen.suffix:
        one = _alone(seen) and _PROMPTS.search(raw) is None
        job = ChatJob(COMPLETIONS, raw, seen) if one else _several(COMPLETIONS, raw, seen)
        if wants_echo(given(seen.echo), seen.logprobs):
            job.echo = Echoed(codec.body_object(raw))
        return job
    refuse_unmade(given(seen.echo), given(seen.best_of))
    return InfillJob(codec.body_object(raw))


def _alone(seen: Peek) -> bool:
    """Whether no more than one answer is wanted of a prompt, said as engines take it."""
    return seen.n is None or (seen.n == 1 and seen.n is not True)


def _several(path: bytes, raw: bytes, seen: Peek) -> Job:
    """One job, or one for each answer that is wanted."""
    body = codec.body_object(raw)
    asked = split(body)
    if asked is None:
        return ChatJob(path, raw, seen)
    job = SeveralJob(asked, lambda part: ChatJob(path, part, peek(part)))
    if path == CHAT and seen.store not in (None, False):
        job.keeps = KeptChat(job, seen.store, raw)
    return job


def usage_in(raw: bytes) -> Usage | None:
    """Token counts by a scan of an answer's end, else its beginning; text cannot look like them, its quotes are escaped."""
    for part in (raw[-_TAIL:], raw[:_HEAD]):
        prompt, completion = _PROMPT.findall(part), _COMPLETION.findall(part)
        if prompt:
            cached = max(map(int, _CACHED.findall(part)), default=0)  # in the details, or in the engine's own timings
            return Usage(int(prompt[-1]), int(completion[-1]) if completion else 0, cached)
    return None
