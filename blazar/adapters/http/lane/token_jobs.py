"""`/tokenize`, `/detokenize` and `/apply-template`: the child's answers as they are. What a request must be is the domain's."""

from collections.abc import Callable
from typing import Any

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.peek import model_of
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.manners import APPLY_TEMPLATE, DETOKENIZE, TOKENIZE
from blazar.domain.wire.normalise import brings_media
from blazar.domain.wire.refusal import beyond_vocabulary
from blazar.domain.wire.tokens import detokenize_request, template_request, tokenize_request

Read = Callable[[dict[str, Any]], tuple[dict[str, Any], tuple[str, ...]]]


class TokenJob(Job):
    """One question about text and tokens. `asks` is the member that it is about, `holds` the one that a right answer has."""

    stream = False
    num_ctx = 0
    load_only = False

    def __init__(self, raw: bytes, path: str, asks: str, holds: str, read: Read) -> None:
        body = codec.body_object(raw)
        self.model = model_of(body.get("model"))
        self.keep_alive = parse_keep_alive(body.get("keep_alive"))
        self._path, self._asks, self._holds = path.encode(), asks, holds
        self._body, self.warnings = read(body)
        self.vision = brings_media(self._body.get("messages"))

    def call(self, child_model: str) -> ChildCall:
        return ChildCall(b"POST", self._path, codec.encode({**self._body, "model": child_model}), JSON_BODY)

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        """A number that is no token of the model is the caller's mistake, whatever the engine calls it."""
        if beyond_vocabulary(status, raw):
            raise Malformed(teaching.field_must(self._asks, self._asks), self._asks)
        return None

    def open_stream(self, occasion: Occasion) -> Stream:
        raise unused(occasion)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        del occasion
        try:
            said = codec.decode(raw)
        except ValueError:
            said = None
        if not isinstance(said, dict) or self._holds not in said:
            raise EngineSaid(502, teaching.child_garbled(self.model))
        return Whole(raw)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def tokenize(raw: bytes) -> TokenJob:
    """`/tokenize`."""
    return TokenJob(raw, TOKENIZE, "content", "tokens", tokenize_request)


def detokenize(raw: bytes) -> TokenJob:
    """`/detokenize`."""
    return TokenJob(raw, DETOKENIZE, "tokens", "content", detokenize_request)


def apply_template(raw: bytes) -> TokenJob:
    """`/apply-template`."""
    return TokenJob(raw, APPLY_TEMPLATE, "messages", "prompt", lambda body: template_request(body, str(body["model"])))
