"""`/v1/images/generations`: one buffered answer of a child that draws. What is asked and answered is the domain's (`domain/wire/images.py`)."""

import secrets
from collections.abc import Sequence
from typing import Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.peek import model_of
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.wire.images import drawn_otherwise, image_request, image_warnings, pictures_in, with_urls

SEEDS: Final = 2**31
GENERATIONS: Final = b"/v1/images/generations"


class ImageJob(Job):
    """Pictures out of a prompt."""

    stream = False
    num_ctx = 0
    load_only = False
    warnings: Sequence[str]

    def __init__(self, raw: bytes) -> None:
        body = codec.body_object(raw)
        self.model = model_of(body.get("model"))
        self.keep_alive = parse_keep_alive(body.get("keep_alive"))
        if body.get("stream") not in (None, False):
            raise Malformed(teaching.field_unsupported("stream", teaching.pictures_are_whole()), "stream")
        body.pop("stream", None)
        # ODD: without a seed sd-server draws the same picture for ever, and below zero it takes one by the clock's second.
        self._body = {"seed": secrets.randbelow(SEEDS), **image_request(body)}
        self._urls = body.get("response_format") == "url"
        self.warnings = image_warnings(body)

    def call(self, child_model: str) -> ChildCall:
        return ChildCall(b"POST", GENERATIONS, codec.encode({**self._body, "model": child_model}), JSON_BODY)

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        del status, raw
        return None

    def open_stream(self, occasion: Occasion) -> Stream:
        raise unused(occasion)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        del occasion
        try:
            answer = codec.decode(raw)
        except ValueError:
            raise EngineSaid(502, teaching.child_drew_nothing(self.model)) from None
        pictures = pictures_in(answer, self.model, self._body.get("n", 1))
        self.warnings = (*self.warnings, *drawn_otherwise(self._body, pictures))
        return Whole(codec.encode(with_urls(answer, pictures)) if self._urls else raw)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def generations(raw: bytes) -> ImageJob:
    """An image request."""
    return ImageJob(raw)
