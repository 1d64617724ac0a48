"""Embeddings in OpenAI's and both of ollama's shapes.

An OpenAI answer that is right as it stands passes as bytes; a wrong order or encoding is mended, anything unusable is the engine's
fault and named (cases M1, M3, M4, B4). What a vector must be is the domain's (`domain/wire/embedding.py`).
"""

import re
import struct
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job, Occasion, Stream, Whole, turn_of, unused
from blazar.adapters.http.lane.openai_jobs import usage_in
from blazar.adapters.http.lane.peek import model_of
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.wire.chunking import Document, as_answer, pieces_of, pooled, token_vectors, want_pieces
from blazar.domain.wire.cutting import Cutting
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.embedding import (
    as_base64,
    embed_reply,
    legacy_embed_reply,
    loaded_reply,
    prompt_tokens,
    shortened,
    vectors,
    want_dimensions,
)
from blazar.domain.wire.normalise import drop_nulls
from blazar.domain.wire.ollama import embed_request, embed_warnings, legacy_embed_request
from blazar.domain.wire.openai import reply_bytes
from blazar.domain.wire.refusal import too_long
from blazar.domain.wire.request import ignored, want_bool

_INDEX: Final = re.compile(rb'"index"\s*:\s*(\d{1,9})')
# Empty vectors, and what engines print for a number that is none. Suspects too much (a null elsewhere), never too little.
_UNFIT: Final = re.compile(rb'"embedding"\s*:\s*(?:\[\s*\]|"")|null|[\[,]\s*-?(?:nan|inf)', re.IGNORECASE)
_SENT: Final = frozenset({"model", "input", "encoding_format", "user", "embd_normalize"})
"""Fields of an OpenAI request that the child sees; the last one is llama-server's own."""
_READ: Final = _SENT | {"dimensions", "truncate", "late_chunking"}
_NUMBERS: Final = re.compile(rb'"embedding"\s*:\s*\[')


class _EmbedJob(Job):
    """What the three endpoints share: one buffered answer of the child's `/v1/embeddings`."""

    stream = False
    num_ctx = 0
    load_only = False
    warnings: Sequence[str] = ()
    _body: dict[str, Any]
    _truncate = False
    _cutting: Cutting | None = None
    _pieces: Sequence[str] = ()
    """Those of one text, where it is to be embedded as a whole."""
    _document: Document | None = None

    def call(self, child_model: str) -> ChildCall:
        self._child_model = child_model
        if self._pieces:
            if self.late is None:
                raise Malformed(teaching.late_chunking_off(self.model), "late_chunking")
            self._document = Document(self._pieces, self.late.most)
            return self._next_piece(self._document)
        if self.late is not None:
            return self._tokenwise(self._body["input"])
        return ChildCall(b"POST", b"/v1/embeddings", codec.encode({**self._body, "model": child_model}), JSON_BODY)

    def _tokenwise(self, given: Any) -> ChildCall:
        """A vector for each token: this child makes none for a whole input."""
        body = codec.encode({"input": given, "model": self._child_model})
        return ChildCall(b"POST", b"/embeddings", body, JSON_BODY)

    def _next_piece(self, document: Document) -> ChildCall:
        if (asked := document.ask()) is None:
            return self._tokenwise(document.tokens)
        text, marked = asked
        return ChildCall(b"POST", b"/tokenize", codec.encode({"content": text, "add_special": marked}), JSON_BODY)

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        """An input longer than the window is a 400 with its sizes, or with `truncate: true` cut to it and sent again (M2, B19)."""
        if self._document is not None and status < 400:
            return self._read_on(self._document, raw)
        cutting = self._cutting
        if status >= 400:
            sizes = too_long(raw)
            if sizes is not None and (cutting is not None or self._pieces or not self._truncate):
                raise Malformed(teaching.input_too_long(*sizes), "input")
            if sizes is None:
                return None
            cutting = self._cutting = Cutting(self._body["input"], sizes.window)
        elif cutting is None:
            return None
        elif (text := cutting.ask()) is not None:
            cutting.take(self._tokens_in(raw))
        else:
            return None
        if (text := cutting.ask()) is not None:
            body = codec.encode({"content": text, "add_special": True})
            return ChildCall(b"POST", b"/tokenize", body, JSON_BODY)
        self._body["input"] = cutting.inputs
        cut = teaching.warn_rewritten("input", teaching.input_cut(cutting.cut, cutting.window))
        self.warnings = (*self.warnings, cut)
        return self.call(self._child_model)

    def _read_on(self, document: Document, raw: bytes) -> ChildCall | None:
        """One piece after the other, then the text as a whole."""
        if document.ask() is None:
            return None
        document.take(self._tokens_in(raw))
        return self._next_piece(document)

    def _tokens_in(self, raw: bytes) -> list[int]:
        tokens = self.decoded(raw).get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            raise EngineSaid(502, teaching.child_garbled(self.model))
        return tokens

    def open_stream(self, occasion: Occasion) -> Stream:
        raise unused(occasion)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        raise unused(occasion, reason)

    def pooled(self, raw: bytes, count: int) -> bytes:
        """The child's answer, with one vector for each input where it made one for each token."""
        late = self.late
        if late is None:
            return raw
        try:
            said = codec.decode(raw)
        except ValueError:
            said = None
        document = self._document
        rows = token_vectors(said, 1 if document is not None else count, self.model)
        if document is not None:
            found = pieces_of(rows[0], document.spans())
        else:
            found = [pooled(vectors, late.pooling) for vectors in rows]
        return codec.encode(as_answer(found, sum(map(len, rows))))

    def decoded(self, raw: bytes) -> dict[str, Any]:
        """The child's answer as an object."""
        try:
            answer = codec.decode(raw)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise EngineSaid(502, teaching.embedding_unusable(self.model, teaching.embedding_flaw("json")))
        return answer


class OpenAiEmbedJob(_EmbedJob):
    """`/v1/embeddings`."""

    def __init__(self, raw: bytes) -> None:
        body = codec.body_object(raw)
        drop_nulls(body)
        self.model = model_of(body.get("model"))
        self.keep_alive = parse_keep_alive(body.pop("keep_alive", None))
        self._count = _count(body.get("input"))
        encoding = body.get("encoding_format", "float")
        if encoding not in ("float", "base64"):
            raise Malformed(teaching.field_must("encoding_format", "encoding"), "encoding_format")
        self._dimensions = want_dimensions(body)
        self._truncate = want_bool(body, "truncate", default=False)
        self._pieces = want_pieces(body)
        self._base64 = encoding == "base64"
        self.warnings = tuple(ignored(field) for field in body if field not in _READ)
        self._body = {field: value for field, value in body.items() if field in _SENT}

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        del occasion
        raw = self.pooled(raw, self._count)
        usage = usage_in(raw)
        if self._fits(raw):
            return Whole(reply_bytes(raw, self.model), usage)
        answer = self.decoded(raw)
        rows = answer.get("data")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("embedding"), str):
                row["embedding"] = self._numbers(row["embedding"])
        found = shortened(vectors(answer, self._count, self.model), self._dimensions)
        data = [
            {"object": "embedding", "index": at, "embedding": as_base64(vector) if self._base64 else vector}
            for at, vector in enumerate(found)
        ]
        return Whole(codec.encode({**answer, "object": "list", "data": data, "model": self.model}), usage)

    def _fits(self, raw: bytes) -> bool:
        """Whether the bytes say what was asked for: every vector there, in order, in its encoding and length."""
        if self._dimensions or _UNFIT.search(raw) is not None or (_NUMBERS.search(raw) is not None) is self._base64:
            return False
        return [int(number) for number in _INDEX.findall(raw)] == list(range(self._count))

    def _numbers(self, text: str) -> list[float]:
        try:
            raw = b64decode(text, validate=True)
            return list(struct.unpack(f"<{len(raw) // 4}f", raw))
        except (ValueError, struct.error):
            raise EngineSaid(502, teaching.embedding_unusable(self.model, teaching.embedding_flaw("base64"))) from None


class OllamaEmbedJob(_EmbedJob):
    """`/api/embed`, and with `legacy` its elder `/api/embeddings`."""

    def __init__(self, raw: bytes, *, legacy: bool) -> None:
        body = codec.body_object(raw)
        self.model = model_of(body.get("model"))
        self.keep_alive = parse_keep_alive(body.get("keep_alive"))
        self.warnings = embed_warnings(body)
        # ODD: nothing is cut unless somebody asks for it, though ollama cuts unless told not to: an answer about a text
        # that was not read is worse than none (B19).
        self._truncate = want_bool(body, "truncate", default=False)
        self._pieces = () if legacy else want_pieces(body)
        self._legacy = legacy
        self._dimensions = want_dimensions({"dimensions": body.get("dimensions") or None})  # Go clients send 0 for none
        self._body = legacy_embed_request(body, self.model) if legacy else embed_request(body, self.model)
        self.load_only = not self._body["input"]

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        answer = self.decoded(self.pooled(raw, len(self._body["input"])))
        usage = Usage(prompt_tokens(answer), 0)
        if self._legacy:
            return Whole(codec.encode(legacy_embed_reply(answer, self.model, self._dimensions)), usage)
        count, turn = len(self._body["input"]), turn_of(self.model, occasion)
        said = embed_reply(answer, count, turn, occasion.elapsed(), self._dimensions)
        return Whole(codec.encode(said), usage)

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        del reason
        said = loaded_reply(turn_of(self.model, occasion), occasion.elapsed())
        return Whole(codec.encode(said))


def embeddings(raw: bytes) -> OpenAiEmbedJob:
    """`/v1/embeddings`."""
    return OpenAiEmbedJob(raw)


def ollama_embed(raw: bytes) -> OllamaEmbedJob:
    """`/api/embed`."""
    return OllamaEmbedJob(raw, legacy=False)


def ollama_embeddings(raw: bytes) -> OllamaEmbedJob:
    """`/api/embeddings`."""
    return OllamaEmbedJob(raw, legacy=True)


def _count(value: Any) -> int:
    """How many inputs these are: a text, a list of texts, token ids, or a list of lists of token ids."""
    if value is None:
        raise Malformed(teaching.field_missing("input"), "input")
    if isinstance(value, str) and value:
        return 1
    if isinstance(value, list) and value:
        if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
            return 1
        if all(isinstance(item, str | list) for item in value):
            return len(value)
    raise Malformed(teaching.field_must("input", "input"), "input")
