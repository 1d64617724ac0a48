"""`/v1/chat/completions` for a model whose template has no tools: the one case in which a chat of this dialect is translated both ways."""

from collections.abc import Mapping
from typing import Any

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM, Translated
from blazar.adapters.http.lane.translated_jobs import TurnJob
from blazar.domain.wire.chat_writer import ChatWriter, chat_reply
from blazar.domain.wire.openai import STRIPPED, normalise, wants_usage
from blazar.domain.wire.request import CHAT, ChildRequest


class RawChatJob(TurnJob):
    """One answer."""

    format_field = "response_format"
    observed = refusable = True

    def __init__(self, raw: bytes) -> None:
        body = codec.body_object(raw)
        self._usage = wants_usage(body.get("stream_options"))
        super().__init__(body, _read)

    def open_stream(self, occasion: Occasion) -> Stream:
        writer = ChatWriter(self.turn(occasion), codec.quote, usage=self._usage)
        return Translated(self.reader(), writer, EVENT_STREAM, lambda: COMMENT)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        answer = self.answer(raw)
        return Whole(codec.encode(chat_reply(self.turn(occasion), answer)), answer.usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def _read(body: Mapping[str, Any], model: str) -> ChildRequest:
    outcome = normalise(dict(body), model)
    kept = {name: value for name, value in outcome.body.items() if name not in STRIPPED}
    stream = body.get("stream") is True
    return ChildRequest(CHAT, kept, stream, outcome.warnings, keep_alive=body.get("keep_alive"))
