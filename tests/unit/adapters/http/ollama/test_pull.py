"""/api/pull: what is understood, what is told, and when an error is a status."""

import asyncio
import json
from typing import Any

import pytest

from blazar.adapters.http.layers.doors import Key
from blazar.adapters.http.ollama.pull import HELD_SECS, KEEP_ALIVE_SECS
from blazar.application.models.pulling import Pulled, Step, Wish
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Forbidden, NoRoom, NotFound, RegistryTrouble, StoreTrouble
from tests.unit.adapters.http.asgi_calls import KEY, Answer, call, doors, scope_of
from tests.unit.adapters.http.gateway import SMALL, Parts, ToldPull

DIGEST = f"sha256:{'a' * 64}"
MANIFEST, DONE = Step("pulling manifest"), Step("success")
FILE = Step("pulling aaaaaaaaaaaa", DIGEST, 100, 40, "m.gguf")
FRESH = Pulled(SMALL, fresh=True, notes=("n",))


def pull(body: Any, *steps: Step | Exception | None, pulled: Pulled = FRESH) -> tuple[Answer, Parts]:
    parts = Parts(SMALL)
    parts.pull = ToldPull(steps or (MANIFEST, DONE), pulled)
    return call(parts.app, "POST", "/api/pull", body=body), parts


def lines(answer: Answer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.body.splitlines()]


def test_the_steps_are_lines_in_ollama_s_words() -> None:
    """And what came of it is on the last."""
    answer, parts = pull({"model": "smollm2"}, MANIFEST, FILE, DONE)
    assert (answer.status, answer.header("content-type")) == (200, "application/x-ndjson")
    assert (answer.header("cache-control"), answer.header("x-accel-buffering")) == ("no-store", "no")
    assert lines(answer) == [
        {"status": "pulling manifest"},
        {"status": FILE.status, "digest": DIGEST, "total": 100, "completed": 40, "file": "m.gguf"},
        {"status": "success", "fresh": True, "model": "smollm2", "notes": ["n"]},
    ]
    assert parts.pull.left == 1


def test_a_caller_who_means_another_hub_is_told_which_one_is_asked() -> None:
    """What its shell names does not reach a daemon. A slash and the case of letters make no other hub; a secret in it is not said."""
    note = teaching.pull_other_hub("https://hub", "https://mirror")
    assert lines(pull({"model": "a/b", "hub": "https://mirror"}, MANIFEST, DONE)[0])[0] == {
        "status": "pulling manifest",
        "note": note,
    }
    for same in ("https://hub", "https://HUB/", "", None):
        assert lines(pull({"model": "a/b", "hub": same}, MANIFEST, DONE)[0])[0] == {"status": "pulling manifest"}
    assert "tok" not in pull({"model": "a/b", "hub": "https://user:tok@mirror"}, MANIFEST, DONE)[0].body.decode()


def test_one_object_where_no_stream_is_wanted() -> None:
    """An adapter is no model: it has a path."""
    answer, parts = pull({"name": "a/b", "stream": False}, MANIFEST, DONE, pulled=Pulled(None, fresh=False, path="/a"))
    assert answer.json() == {"status": "success", "fresh": False, "path": "/a"}
    assert (parts.pulls, parts.pull.left) == ([Wish("a/b", "a/b")], 1)


def test_every_field_is_understood() -> None:
    """Parts in the order of their roles: the same wish is the same pull, however it is written down."""
    body = {"model": "a/b", "with": {"vae": "c/d", "llm": "e/f"}, "draft": True, "as": "mine:latest"}
    _, parts = pull(body)
    assert parts.pulls == [Wish("a/b", "mine", (("llm", "e/f"), ("vae", "c/d")), "auto")]
    assert pull({"model": "m", "draft": "x/y"})[1].pulls == [Wish("m", draft="x/y")]
    assert pull({"model": "m", "draft": False, "with": None})[1].pulls == [Wish("m")]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen3:0.6b", ""),
        ("library/qwen3", ""),
        ("qwen3-0.6b", "qwen3-0.6b"),
        ("hf.co/a/b:Q4_0", "hf.co/a/b:Q4_0"),
        ("hf.co/a/b:latest", "hf.co/a/b"),
        ("hf:a/b:Q4_0", ""),
        ("https://host.example/m.gguf", ""),
        ("host.example/library/m:1b", "host.example/library/m:1b"),
        ("127.0.0.1:5000/library/m:1b", ""),
        ("./m.gguf", ""),
    ],
)
def test_a_model_is_called_what_its_client_will_ask_for(model: str, name: str) -> None:
    """Clients chat with what they pulled by the same word; whoever says `as` is asked, and an empty one leaves it to the reference."""
    assert pull({"model": model})[1].pulls == [Wish(model, name)]
    assert pull({"model": model, "as": ""})[1].pulls == [Wish(model)]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, teaching.field_missing("model")),
        ({"model": ""}, teaching.field_must("model", "model")),
        ({"model": 3}, teaching.field_must("model", "model")),
        ({"model": "m", "with": ["vae=x"]}, teaching.field_must("with", "object")),
        ({"model": "m", "with": {"vae": 3}}, teaching.field_must("with", "parts")),
        ({"model": "m", "with": {"vae": ""}}, teaching.field_must("with", "parts")),
        ({"model": "m", "draft": 3}, teaching.field_must("draft", "draft")),
        ({"model": "m", "stream": "no"}, teaching.field_must("stream", "boolean")),
    ],
)
def test_what_is_no_wish_begins_nothing(body: dict[str, Any], sentence: str) -> None:
    """400, with the field's name."""
    answer, parts = pull(body)
    assert (answer.status, answer.json(), parts.pulls) == (400, {"error": sentence}, [])


def test_what_is_asked_for_in_vain_is_named() -> None:
    """TLS stays, whatever a client says."""
    answer, _ = pull({"model": "m", "insecure": True, "username": "u", "password": ""})
    warned = [value for name, value in answer.headers if name == "x-blazar-warning"]
    assert warned == [teaching.warn_ignored("insecure"), teaching.warn_ignored("username")]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("no such model"), 404),
        (Forbidden("gated"), 403),
        (Busy("too often", 7.0), 503),
        (RegistryTrouble("gone"), 502),
        (NoRoom("full"), 507),
        (StoreTrouble("read-only"), 500),
    ],
)
def test_an_error_of_the_registry_s_first_answer_is_a_status(error: BlazarError, status: int, stream: bool) -> None:
    """`pulling manifest` is told before anybody was asked: it alone begins no answer."""
    answer, parts = pull({"model": "m", "stream": stream}, MANIFEST, error)
    assert (answer.status, answer.json(), parts.pull.left) == (status, {"error": str(error)}, 1)
    assert (answer.header("retry-after") == "7") == (status == 503)


def test_a_later_error_is_the_last_line() -> None:
    """As ollama's clients raise it."""
    answer, parts = pull({"model": "m"}, MANIFEST, FILE, RegistryTrouble("gone"))
    assert answer.status == 200
    assert lines(answer)[1:] == [
        {"status": FILE.status, "digest": DIGEST, "total": 100, "completed": 40, "file": "m.gguf"},
        {"error": "gone"},
    ]
    assert parts.pull.left == 1


def test_a_slow_registry_does_not_hold_the_head_for_ever_and_silence_is_filled() -> None:
    """Five seconds, then the answer begins; a proxy that hears nothing for a minute would cut it."""
    answer, parts = pull({"model": "m"}, MANIFEST, None, None, NotFound("no such model"))
    assert answer.status == 200
    assert lines(answer) == [{"status": "pulling manifest"}] * 2 + [{"error": "no such model"}]
    assert parts.pull.waited == [HELD_SECS, HELD_SECS, KEEP_ALIVE_SECS, KEEP_ALIVE_SECS]


def test_a_client_that_leaves_gives_its_place_back() -> None:
    """Before the head and behind it: the last one's leave stops the pull."""

    class Silent(ToldPull):
        async def next(self, seconds: float = 0.0) -> Step | None:
            if self.steps:
                return await super().next(seconds)
            await asyncio.Event().wait()
            raise AssertionError

    async def left(*steps: Step | None) -> int:
        parts, begun = Parts(SMALL), asyncio.Event()
        parts.pull = Silent(steps, FRESH)
        raw, asked = b'{"model":"m"}', False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": raw, "more_body": False}
            if len(steps) > 1:
                await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                begun.set()

        headers = [("content-length", str(len(raw)))]
        await asyncio.wait_for(parts.app(scope_of("POST", "/api/pull", headers), receive, send), 10)
        return parts.pull.left

    assert asyncio.run(left(MANIFEST)) == 1
    assert asyncio.run(left(MANIFEST, FILE)) == 1


def test_a_scoped_key_pulls_nothing() -> None:
    """Models are everybody's."""
    parts = Parts(SMALL, layers=doors(keys=(KEY, Key("guest", "plm_guest", ("m",)))))
    for key, status in (("", 401), ("plm_guest", 403), ("plm_secret", 200)):
        headers = [("authorization", f"Bearer {key}")] if key else []
        assert call(parts.app, "POST", "/api/pull", headers, {"model": "m", "stream": False}).status == status
    assert len(parts.pulls) == 1
