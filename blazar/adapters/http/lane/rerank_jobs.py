"""`/v1/rerank` under its four names: a buffered answer of the child's scores. What it says is the domain's (`domain/wire/rerank.py`)."""

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, unused
from blazar.adapters.http.lane.peek import model_of
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.embedding import prompt_tokens
from blazar.domain.wire.refusal import too_long
from blazar.domain.wire.rerank import ranked, read_ranking


class RerankJob(Job):
    """One ranking."""

    stream = False
    num_ctx = 0
    load_only = False

    def __init__(self, raw: bytes) -> None:
        body = codec.body_object(raw)
        self.model = model_of(body.get("model"))
        self.keep_alive = parse_keep_alive(body.get("keep_alive"))
        self._asked = read_ranking(body)
        self.warnings = self._asked.warnings

    def call(self, child_model: str) -> ChildCall:
        return ChildCall(b"POST", b"/v1/rerank", codec.encode(self._asked.body(child_model)), JSON_BODY)

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        """A query and a document longer than the window are a 400 with their sizes: what was not read has no score."""
        if status >= 400 and (sizes := too_long(raw)) is not None:
            raise Malformed(teaching.pair_too_long(*sizes), "documents")
        return None

    def open_stream(self, occasion: Occasion) -> Stream:
        raise unused(occasion)

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        try:
            said = codec.decode(raw)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise EngineSaid(502, teaching.child_garbled(self.model))
        answer = ranked(said, self._asked, self.model, occasion.trace)
        return Whole(codec.encode(answer), Usage(prompt_tokens(said), 0))

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)


def rerank(raw: bytes) -> RerankJob:
    """`/v1/rerank`."""
    return RerankJob(raw)
