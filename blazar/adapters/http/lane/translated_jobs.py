"""Endpoints whose requests and answers are translated: ollama's chat and generate, Anthropic's messages and token counts.

Joins the domain's translators (`domain/wire`) to the lane; decides no translation. Two small families share one class because their
requests are the same record.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, formed, turn_of, unused
from blazar.adapters.http.lane.peek import model_of
from blazar.adapters.http.lane.raw_talk import RawTalk
from blazar.adapters.http.lane.receipt import kept
from blazar.adapters.http.lane.second import SecondTry
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM, NDJSON, Translated
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.manners import COUNTING, TOKENIZE
from blazar.domain.wire import anthropic, infill, ollama
from blazar.domain.wire.answer import Answer, answer_of
from blazar.domain.wire.anthropic_stream import BlockWriter, WarmingWriter
from blazar.domain.wire.bounds import check_bounds
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.continuation import begun, behind
from blazar.domain.wire.delta import Failed
from blazar.domain.wire.normalise import brings_media, offers_tools
from blazar.domain.wire.ollama_stream import NdjsonWriter
from blazar.domain.wire.openai import wants_usage
from blazar.domain.wire.raw_tools import RawLane
from blazar.domain.wire.reach import within_reach
from blazar.domain.wire.refusal import TooLong, too_long
from blazar.domain.wire.request import INFILL, ChildRequest, want_bool
from blazar.domain.wire.trimming import trimmed
from blazar.domain.wire.turn import Shape, Turn

NOT_MADE_FOR: Final = 501
"""What llama-server answers where a model lacks what a route needs, here the tokens of an infill prompt."""

Read = Callable[[Mapping[str, Any], str], ChildRequest]


class TurnJob(Job):
    """One turn of a conversation in a dialect that the child does not speak."""

    format_field = "output_config"
    odds_field = "logprobs"
    history_field = "messages"
    trims = False
    """A conversation that is too long loses its beginning."""
    _tries = _gone = 0  # of making it fit, and messages that went for it

    def __init__(self, body: Mapping[str, Any], read: Read) -> None:
        self.model = model_of(body.get("model"))
        request = self._request = read(body, self.model)
        within_reach(request.body)
        check_bounds(request.body, self.format_field)
        self.stream = request.stream and not request.load_only
        self.keep_alive = parse_keep_alive(request.keep_alive)
        self.num_ctx = request.num_ctx or 0
        self.load_only = request.load_only
        self.vision = brings_media(request.body.get("messages"))
        self.tools = offers_tools(request.body)
        self.warnings: Sequence[str] = request.warnings
        self.schema, self.constraint = request.schema, request.constraint
        self.odds = self.odds_field if request.body.get("logprobs") else ""
        self._second = SecondTry(self.format_field)
        self._infills = request.path == INFILL
        self._decode = codec.decode_infilled if self._infills else codec.decode_chunk

    def sample_by(self, defaults: Mapping[str, Any]) -> None:
        for name, value in defaults.items():
            self._request.body.setdefault(name, value)

    def compat(self, lane: RawLane) -> Job:
        talk = self.talk = RawTalk(self._request.body, lane)
        self.raw, self.schema, self.constraint = True, None, ""
        self.warnings = (*self.warnings, *talk.warnings)
        return self

    def asks(self) -> Mapping[str, Any]:
        return self._request.body

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        if (
            self.trims
            and self.talk is None
            and status >= 400
            and "messages" in self._request.body
            and (sizes := too_long(raw)) is not None
            and self._trim(sizes)
        ):
            return self.call(self._request.body["model"])
        if status == NOT_MADE_FOR and self._infills:
            raise Malformed(teaching.field_unsupported("suffix", teaching.infill_unsupported()), "suffix")
        if status < 400 or not self._second.may(status, raw, self.window_key) or self.talk is not None:
            return None
        warnings = self._second.amend(self._request.body)
        self.warnings = (*self.warnings, *warnings)
        if self._second.eased or (warnings and self.schema is not None and self.schema.of_call):
            self.constraint = ""
        return self.call(self._request.body["model"]) if warnings else None

    def _trim(self, sizes: TooLong) -> bool:
        """Take the beginning off the conversation; False where nothing may go any more, so that the refusal stands."""
        went = trimmed(self._request.body, sizes, self._tries)
        if not went:
            return False
        others = [warning for warning in self.warnings if warning != self._told_gone()]
        self._tries, self._gone = self._tries + 1, self._gone + went
        self.warnings = (*others, self._told_gone())
        return True

    def _told_gone(self) -> str:
        return teaching.warn_rewritten(self.history_field, teaching.conversation_trimmed(self._gone))

    def call(self, child_model: str) -> ChildCall:
        if self.talk is not None:
            return self.talk.call(child_model)
        request = self._request
        request.body["model"] = child_model
        return ChildCall(b"POST", request.path.encode(), codec.encode(request.body), JSON_BODY)

    @property
    def _alone(self) -> bool:
        return self._request.body.get("parallel_tool_calls") is False

    def turn(self, occasion: Occasion) -> Turn:
        """For the writers."""
        return turn_of(self.model, occasion, thinking=self._request.thinking)

    def answer(self, raw: bytes) -> Answer:
        """The child's buffered answer, or the reason why it is none (case C11)."""
        answer = answer_of(raw, self._decode, self.model, alone=self._alone)
        if isinstance(answer, Failed):
            raise EngineSaid(answer.status, answer.message)
        if self.talk is not None:
            return self.talk.read(answer)
        for text in formed(self.schema, answer):
            self.constraint = kept(self.constraint, text)
        return behind(answer, begun(self._request.body.get("messages")))

    def reader(self) -> ChildReader:
        """Of the child's stream."""
        if self.talk is not None:
            return self.talk.reader(self._decode, self.model)
        return ChildReader(self._decode, self.model, alone=self._alone)


class OllamaJob(TurnJob):
    """`/api/chat` and `/api/generate`."""

    format_field = "format"

    def __init__(self, body: Mapping[str, Any], read: Read) -> None:
        super().__init__(body, read)
        self._given = body
        self._extra = ollama.extra_of(body, self._request)
        self.trims = want_bool(body, "truncate", default=False)
        self.history_field = "messages" if self._request.shape is Shape.CHAT else "context"
        self.thinks = not self.load_only and ollama.wants_thoughts(body)
        self.observed, self.refusable = not self._infills, self._request.shape is Shape.CHAT

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        call = super().again(status, raw)
        if self._gone:  # what `context` is made of has gone too
            self._extra = ollama.extra_of(self._given, self._request)
        return call

    def open_stream(self, occasion: Occasion) -> Stream:
        writer = NdjsonWriter(self._request.shape, self.turn(occasion), occasion.elapsed, codec.quote, self._extra)
        return Translated(self.reader(), writer, NDJSON, bytes)  # NDJSON has nothing that means nothing

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        answer = self.answer(raw)
        said = ollama.reply(self._request.shape, self.turn(occasion), answer, occasion.elapsed(), self._extra)
        return Whole(codec.encode(said), answer.usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        return Whole(codec.encode(ollama.load_reply(self._request.shape, self.turn(occasion), reason)))


class InfillJob(TurnJob):
    """`/v1/completions` with a suffix."""

    format_field = "json_schema"

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body, infill.completion_request)
        self._usage = wants_usage(body.get("stream_options"))

    def open_stream(self, occasion: Occasion) -> Stream:
        writer = infill.CompletionWriter(self.turn(occasion), codec.quote, usage=self._usage)
        return Translated(self.reader(), writer, EVENT_STREAM, lambda: COMMENT)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        answer = self.answer(raw)
        return Whole(codec.encode(infill.completion_reply(self.turn(occasion), answer)), answer.usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


class MessagesJob(TurnJob):
    """`/v1/messages`."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body, anthropic.messages_request)
        self._warms = anthropic.only_warms(body)
        self.observed = self.refusable = not self._warms
        if self._warms:
            self.schema, self.constraint = None, ""  # there is nothing to be held to a form

    def open_stream(self, occasion: Occasion) -> Stream:
        write = WarmingWriter if self._warms else BlockWriter
        writer = write(self.turn(occasion), codec.quote, occasion.window)
        # Until the message has begun its dialect has no ping (case C12); a comment is no event at all.
        return Translated(self.reader(), writer, EVENT_STREAM, lambda: writer.ping() or COMMENT)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        answer = self.answer(raw)
        said = anthropic.warmed(answer) if self._warms else answer
        return Whole(codec.encode(anthropic.reply(self.turn(occasion), said, occasion.window)), answer.usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


class Counts(TurnJob):
    """A call that is not made: the child renders the same prompt as for the real one and counts it (case C3).

    A kind that has no route for that is asked for one token, and its usage has the count (`polite.asked_for_one`).
    """

    def told(self, tokens: int) -> Mapping[str, Any]:
        """The answer in the caller's dialect."""
        raise unused(tokens)

    def call(self, child_model: str) -> ChildCall:
        call = super().call(child_model)
        if self.talk is not None:
            asked = {"content": self.talk.prompt, "add_special": True, "parse_special": True}
            return call._replace(path=TOKENIZE.encode(), body=codec.encode(asked))
        return call._replace(path=call.path + b"/input_tokens")

    def open_stream(self, occasion: Occasion) -> Stream:
        raise unused(occasion)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        if COUNTING not in occasion.manners.routes:
            usage = self.answer(raw).usage
            if not usage.prompt:
                raise Malformed(teaching.kind_counts_no_tokens(occasion.manners.name), "model")
            return Whole(codec.encode(self.told(usage.prompt)), usage)
        try:
            said = codec.decode(raw)
            tokens = said["input_tokens"] if self.talk is None else len(said["tokens"])
        except (ValueError, TypeError, KeyError):
            tokens = None
        if not isinstance(tokens, int):
            raise EngineSaid(502, teaching.child_garbled(self.model))
        return Whole(codec.encode(self.told(tokens)))

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


class CountJob(Counts):
    """`/v1/messages/count_tokens`."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body, anthropic.counting_request)
        self.stream, self.constraint = False, ""  # nothing is generated

    def told(self, tokens: int) -> Mapping[str, Any]:
        return anthropic.count_reply(tokens)


def ollama_chat(raw: bytes) -> OllamaJob:
    """`/api/chat`."""
    return OllamaJob(codec.body_object(raw), ollama.chat_request)


def ollama_generate(raw: bytes) -> OllamaJob:
    """`/api/generate`."""
    return OllamaJob(codec.body_object(raw), ollama.generate_request)


def messages(raw: bytes) -> MessagesJob:
    """`/v1/messages`."""
    return MessagesJob(codec.body_object(raw))


def count_tokens(raw: bytes) -> CountJob:
    """`/v1/messages/count_tokens`."""
    return CountJob(codec.body_object(raw))
