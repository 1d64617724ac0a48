"""Bodies of the cold routes: read as the hot ones are, refused in the same words."""

import re
from typing import Any

import pytest

from blazar.adapters.http.lane import codec
from blazar.adapters.http.layers.doors import Key
from blazar.adapters.http.routes import ROUTES
from blazar.adapters.http.schema.openapi import BODIES
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from tests.support.lane_rig import MemoryReply, Rig, run
from tests.unit.adapters.http.asgi_calls import call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts

OWNER = Key("owner", "plm_owners-own-secret")
BROKEN: list[tuple[bytes, str]] = [
    (b"", "it is empty"),
    (b" \n", "it is empty"),
    (b'{"model":', "it ends too early"),
    ('{"model":"m"}'.encode("utf-16"), "it is not UTF-8"),
    (b'{"model":"\xff"}', "it is not UTF-8"),
    (b"[" * 100_000, "it is nested too deeply"),
    (b'{"model":"m","x":1e400}', "a number in it is too large"),
    (b'{"model":"m","x":%b}' % (b"9" * 5000), "a number in it is too large"),
    (b'{"model":"\\ud800 rest of the text"}', "is not a character"),
    (b'{"model":"m","x":NaN}', "invalid character"),
    (b'{"model":"m"} x', "trailing characters"),
]


@pytest.mark.parametrize(("raw", "why"), BROKEN)
def test_a_broken_body_is_refused_in_our_words(raw: bytes, why: str) -> None:
    """What is wrong, and nothing of the decoder's advice to programmers (A21)."""
    with pytest.raises(Malformed) as caught:
        codec.body_object(raw)
    assert why in str(caught.value)


COLD = [(route.method, route.path) for route in ROUTES if route.key in BODIES and not route.lane]
HOT = [("POST", route.path) for route in ROUTES if route.lane]
# Mistakes that every body can hold, and the one sentence for each; `model` is called `source` where a model is copied.
MISTAKES: list[tuple[bytes, str]] = [
    *[(raw, teaching.body_not_json(teaching.body_flaw(what))) for raw, what in ((b"", "empty"), (b" \n", "empty"))],
    (b'{"model":', teaching.body_not_json(teaching.body_flaw("cut"))),
    (b'{"model":"m","x":"\xff"}', teaching.body_not_json(teaching.body_flaw("bytes"))),
    (b"\xff\xfe{\x00}\x00", teaching.body_not_json(teaching.body_flaw("bytes"))),
    (b"[" * 100_000, teaching.body_not_json(teaching.body_flaw("deep"))),
    (b'{"model":"m","keep_alive":1e400}', teaching.body_not_json(teaching.body_flaw("number"))),
    (b'{"model":"\\ud800 rest of the text"}', teaching.body_not_json(teaching.body_flaw("escape", " (byte 0)"))),
    (b'{"model":"m","x":NaN}', teaching.body_not_json("invalid character (byte 0)")),
    (b'{"model":"m"} x', teaching.body_not_json("trailing characters (byte 0)")),
    (b"[]", teaching.body_not_object()),
    (b'"x"', teaching.body_not_object()),
    (b"null", teaching.body_not_object()),
    (b'{"model":5}', teaching.field_must("model", "model")),
    (b'{"model":""}', teaching.field_must("model", "model")),
    (b'{"model":["m"]}', teaching.field_must("model", "model")),
    (b"{}", teaching.field_missing("model")),
    (b'{"model":null}', teaching.field_missing("model")),
]


MODELLESS: dict[str, tuple[bytes, str]] = {
    "/v1/chat/completions/{id}": (b'{"metadata":5}', teaching.field_must("metadata", "object")),
    "/api/ps": (b'{"reset":5}', teaching.field_must("reset", "boolean")),
    "/v1/batches": (b'{"input_file_id":null}', teaching.field_missing("input_file_id")),
    "/v1/messages/batches": (b'{"requests":5}', teaching.field_must("requests", "list")),
    "/api/keys": (b'{"name":5}', teaching.field_must("name", "string")),
    "/api/keys/{name}": (b'{"rpm":"x"}', teaching.field_must("rpm", "positive")),
}
"""Bodies that name no model, with a mistake of their own."""


def refusal(method: str, path: str, raw: bytes) -> tuple[int, str]:
    """Status and sentence, out of whatever envelope the route wears."""
    if (method, path) not in HOT:
        managed = path.startswith("/api/keys")  # only who shows a key gets as far as the body
        parts = Parts(layers=doors(keys=(OWNER,))) if managed else Parts(SMALL)
        shown = [("authorization", f"Bearer {OWNER.key}")] if managed else []
        answer = call(parts.app, method, path.replace("{name}", OWNER.name), shown, raw)
        status, body = answer.status, answer.json()
    else:
        replies: list[MemoryReply] = []

        async def ask(rig: Rig) -> None:
            replies.append(await rig.post(path, raw))
            assert not rig.leasing.leases

        run(ask)
        status, body = replies[0].status, replies[0].json()
    return status, body["error"] if isinstance(body["error"], str) else body["error"]["message"]


@pytest.mark.parametrize(("raw", "sentence"), MISTAKES)
@pytest.mark.parametrize(("method", "path"), COLD + HOT)
def test_a_mistake_has_one_sentence_on_every_route(method: str, path: str, raw: bytes, sentence: str) -> None:
    """Whichever reader a route has; clients match on these (A21)."""
    if path == "/api/copy":
        raw, sentence = (
            raw.replace(b'"model"', b'"source"'),
            sentence.replace("'model'", "'source'"),
        )
    if path in MODELLESS and "'model'" in sentence:
        raw, sentence = MODELLESS[path]
    status, said = refusal(method, path, raw)
    assert (status, re.sub(r"byte \d+", "byte 0", said)) == (400, sentence)


def test_a_byte_order_mark_is_dropped() -> None:
    """Editors on Windows write one; it is not part of the text."""
    assert codec.body_object(b'\xef\xbb\xbf{"model":"m"}') == {"model": "m"}
    answer = call(Parts(SMALL).app, "POST", "/api/show", body=b'\xef\xbb\xbf{"model":"%b"}' % SMALL.name.encode())
    assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/api/show", {"model": 5}, teaching.field_must("model", "model")),
        ("/api/load", {"model": "m", "keep_alive": []}, teaching.field_must("keep_alive", "duration")),
        ("/api/evict", {"model": "m", "force": "yes"}, teaching.field_must("force", "boolean")),
        ("/api/evict", {"model": ""}, teaching.field_must("model", "model")),
    ],
)
def test_a_wrong_field_is_named_in_our_words(path: str, body: dict[str, Any], sentence: str) -> None:
    """The field as the caller wrote it, whatever the library calls its branches."""
    answer = call(Parts(SMALL).app, "POST", path, body=body)
    error = answer.json()["error"]
    assert (answer.status, error if isinstance(error, str) else error["message"]) == (400, sentence)
