"""`/v1/responses`: one turn like those of the other translated dialects, which may go on from kept ones and be kept itself.

Joins the domain's translator to the lane and to what is kept; decides no translation.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import Keeps, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.peek import model_of
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM, Translated
from blazar.adapters.http.lane.translated_jobs import Counts, TurnJob
from blazar.application.kept.keep_answer import KEPT_SECONDS
from blazar.application.ports.saved import Keeping, Saved
from blazar.domain.wire.normalise import brings_media
from blazar.domain.wire.reach import within_reach
from blazar.domain.wire.responses import ResponseRequest, read_response
from blazar.domain.wire.responses_items import Recalled, kept_items
from blazar.domain.wire.responses_kept import KeptResponse, packed
from blazar.domain.wire.responses_stream import Moment, ResponseWriter


class ResponsesJob(TurnJob, Keeps):
    """One response. Its id is made here, from randomness: a trace may be the caller's own word."""

    format_field = "text.format"
    odds_field = "include"
    collects = False
    observed = refusable = True
    history_field = "input"

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._given = {field: value for field, value in body.items() if value is not None}
        self._token = secrets.token_hex(16)
        self._asked = read_response(self._given, model_of(body.get("model")))
        super().__init__(self._given, lambda *_: self._asked.child)
        asked = self._asked
        self.trims = asked.trims
        self.follows = asked.child.stream
        self.stream = asked.child.stream or asked.background
        self.stores, self.background = asked.store, asked.background
        self.previous, self.references, self.files = asked.previous, asked.references, asked.files
        self.writer = self._writer(asked)
        if asked.store or asked.previous or asked.references or asked.files:
            self.keeps = self

    def _writer(self, asked: ResponseRequest) -> ResponseWriter:
        return ResponseWriter(asked, self.model, self._token, codec.quote)

    def recall(self, recalled: Recalled) -> None:
        self._asked = read_response(self._given, self.model, recalled)
        self._request = self._asked.child
        within_reach(self._request.body)
        self.vision = brings_media(self._request.body.get("messages"))
        self.warnings = self._request.warnings
        self.writer = self._writer(self._asked)
        if self.talk is not None:
            self.compat(self.talk.lane)

    def begin(self, wall: float) -> None:
        """For a response in the background, which exists before it is answered."""
        self.writer.moment = Moment(wall)

    def open_stream(self, occasion: Occasion) -> Stream:
        self._opened(occasion)
        return Translated(self.reader(), self.writer, EVENT_STREAM, lambda: COMMENT)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        self._opened(occasion)
        answer = self.answer(raw)
        self.writer.take(answer)
        return Whole(codec.encode(self.writer.response()), answer.usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)

    def ends(self, data: bytes) -> bool:
        del data
        return self.writer.over

    def saved(self, owner: str, sent: bytes, now: float) -> Saved | None:
        del sent
        response = self.writer.response()
        kept = KeptResponse(response, kept_items(self._asked.items, self._token), self._asked.previous)
        status, ends = response["status"], now + KEPT_SECONDS
        return Saved(Keeping.RESPONSE, response["id"], owner, now, self.model, status, "{}", packed(kept), ends)

    def _opened(self, occasion: Occasion) -> None:
        wall = self.writer.moment.wall or occasion.wall
        self.writer.moment = Moment(wall, occasion.elapsed)


class InputTokensJob(Counts, ResponsesJob):
    """`/v1/responses/input_tokens`: what a response to this would read, kept conversations included. Keeps nothing."""

    observed = refusable = False

    def __init__(self, body: Mapping[str, Any]) -> None:
        kept = ("stream", "store", "background")
        ResponsesJob.__init__(
            self, {**{name: value for name, value in body.items() if name not in kept}, "store": False}
        )
        self.constraint = ""  # nothing is generated

    def told(self, tokens: int) -> Mapping[str, Any]:
        return {"object": "response.input_tokens", "input_tokens": tokens}


def responses(raw: bytes) -> ResponsesJob:
    """`/v1/responses`."""
    return ResponsesJob(codec.body_object(raw))


def input_tokens(raw: bytes) -> InputTokensJob:
    """`/v1/responses/input_tokens`."""
    return InputTokensJob(codec.body_object(raw))
