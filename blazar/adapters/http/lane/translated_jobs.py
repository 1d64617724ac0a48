"""Endpoints whose requests and answers are translated: ollama's chat and generate, Anthropic's messages and token counts.

Joins the domain's translators (`domain/wire`) to the lane; decides no translation. Two small families share one class because their
requests are the same record.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, formed, turn_of, unused
from blazar.adapters.http.lane.peek import model_of
from blazar.adapters.http.lane.receipt import kept
from blazar.adapters.http.lane.second import SecondTry
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM, NDJSON, Translated
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.wire import anthropic, infill, ollama
from blazar.domain.wire.answer import Answer, answer_of
from blazar.domain.wire.anthropic_stream import BlockWriter
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.delta import Failed
from blazar.domain.wire.normalise import brings_media, offers_tools
from blazar.domain.wire.ollama_stream import NdjsonWriter
from blazar.domain.wire.openai import wants_usage
from blazar.domain.wire.request import INFILL, ChildRequest
from blazar.domain.wire.turn import Turn

NOT_MADE_FOR: Final = 501
"""What llama-server answers where a model lacks what a route needs, here the tokens of an infill prompt."""

Read = Callable[[Mapping[str, Any], str], ChildRequest]


class TurnJob(Job):
    """One turn of a conversation in a dialect that the child does not speak."""

    format_field = "output_config"

    def __init__(self, body: Mapping[str, Any], read: Read) -> None:
        self.model = model_of(body.get("model"))
        request = self._request = read(body, self.model)
        self.stream = request.stream and not request.load_only
        self.keep_alive = parse_keep_alive(request.keep_alive)
        self.num_ctx = request.num_ctx or 0
        self.load_only = request.load_only
        self.vision = brings_media(request.body.get("messages"))
        self.tools = offers_tools(request.body)
        self.warnings: Sequence[str] = request.warnings
        self.schema, self.constraint = request.schema, request.constraint
        self._second = SecondTry(self.format_field)
        self._infills = request.path == INFILL
        self._decode = codec.decode_infilled if self._infills else codec.decode_chunk

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        if status == NOT_MADE_FOR and self._infills:
            raise Malformed(teaching.field_unsupported("suffix", teaching.infill_unsupported()), "suffix")
        if status < 400 or not self._second.may(status, raw, self.window_key):
            return None
        warnings = self._second.amend(self._request.body)
        self.warnings = (*self.warnings, *warnings)
        if self._second.eased or (warnings and self.schema is not None and self.schema.of_call):
            self.constraint = ""
        return self.call(self._request.body["model"]) if warnings else None

    def call(self, child_model: str) -> ChildCall:
        request = self._request
        request.body["model"] = child_model
        return ChildCall(b"POST", request.path.encode(), codec.encode(request.body), JSON_BODY)

    def turn(self, occasion: Occasion) -> Turn:
        """For the writers."""
        return turn_of(self.model, occasion, thinking=self._request.thinking)

    def answer(self, raw: bytes) -> Answer:
        """The child's buffered answer, or the reason why it is none (case C11)."""
        answer = answer_of(raw, self._decode, self.model)
        if isinstance(answer, Failed):
            raise EngineSaid(answer.status, answer.message)
        for text in formed(self.schema, answer):
            self.constraint = kept(self.constraint, text)
        return answer

    def reader(self) -> ChildReader:
        """Of the child's stream."""
        return ChildReader(self._decode, self.model)


class OllamaJob(TurnJob):
    """`/api/chat` and `/api/generate`."""

    format_field = "format"

    def __init__(self, body: Mapping[str, Any], read: Read) -> None:
        super().__init__(body, read)
        self._extra = ollama.extra_of(body, self._request)

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

    def open_stream(self, occasion: Occasion) -> Stream:
        writer = BlockWriter(self.turn(occasion), codec.quote, occasion.window)
        # Until the message has begun its dialect has no ping (case C12); a comment is no event at all.
        return Translated(self.reader(), writer, EVENT_STREAM, lambda: writer.ping() or COMMENT)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        answer = self.answer(raw)
        return Whole(codec.encode(anthropic.reply(self.turn(occasion), answer, occasion.window)), answer.usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


class CountJob(TurnJob):
    """`/v1/messages/count_tokens`: the child renders the same prompt as for the real call and counts it (case C3)."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body, anthropic.counting_request)
        self.stream, self.constraint = False, ""  # nothing is generated

    def call(self, child_model: str) -> ChildCall:
        call = super().call(child_model)
        return call._replace(path=call.path + b"/input_tokens")

    def open_stream(self, occasion: Occasion) -> Stream:
        raise unused(occasion)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        del occasion
        try:
            tokens = codec.decode(raw)["input_tokens"]
        except (ValueError, TypeError, KeyError):
            tokens = None
        if not isinstance(tokens, int):
            raise EngineSaid(502, teaching.child_garbled(self.model))
        return Whole(codec.encode(anthropic.count_reply(tokens)))

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def ollama_chat(raw: bytes) -> OllamaJob:
    """`/api/chat`."""
    return OllamaJob(codec.body_object(raw), ollama.chat_request)


def ollama_generate(raw: bytes) -> OllamaJob:
    """`/api/generate`."""
    return OllamaJob(codec.body_object(raw), ollama.generate_request)


def messages(raw: bytes) -> MessagesJob:
    """`/v1/messages`."""
    return MessagesJob(codec.body_object(raw), anthropic.messages_request)


def count_tokens(raw: bytes) -> CountJob:
    """`/v1/messages/count_tokens`."""
    return CountJob(codec.body_object(raw))
