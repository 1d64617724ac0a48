"""Statuses, dialects and the bytes of a refusal."""

import json

import pytest

from blazar.adapters.http.errors import STATUS, dialect_for, dialect_of, problem, status_of
from blazar.domain import errors
from blazar.domain.kinds import Dialect
from tests.unit.adapters.http.asgi_calls import scope_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.Malformed("s"), 400),
        (errors.BadName("#"), 400),
        (errors.BadModelFile("p", "w"), 400),
        (errors.Unserved("s"), 400),
        (errors.EngineBroken("s"), 502),
        (errors.DoesNotFit("s"), 400),
        (errors.Unauthorized(), 401),
        (errors.Forbidden("s"), 403),
        (errors.ModelNotFound("m"), 404),
        (errors.EngineNotFound("t", ()), 404),
        (errors.Conflict("s"), 409),
        (errors.TooLarge("s"), 413),
        (errors.Refusal("s"), 400),
        (errors.Busy("s"), 503),
        (errors.OverQuota("rpm", "s", 2.0), 429),
        (errors.SpawnFailed("s"), 502),
        (errors.ChildDied("s"), 502),
        (errors.ChildSilent("s"), 504),
        (errors.Fault("s"), 500),
        (errors.StoreTrouble("s"), 500),
        (errors.EngineSaid(422, "s"), 422),
        (errors.EngineSaid(500, "s"), 500),
        (errors.EngineSaid(200, "s"), 502),
        (errors.EngineSaid(302, "s"), 502),
        (errors.EngineSaid(999, "s"), 502),
        (errors.BlazarError("s"), 500),
    ],
)
def test_statuses(error: errors.BlazarError, status: int) -> None:
    """What each class means over HTTP; a child's own status passes while it is an error's (D10)."""
    assert status_of(error) == status


def test_every_class_of_the_tree_has_a_status() -> None:
    """Each one finds itself or an ancestor in the table."""
    seen, rest = set(), [errors.Refusal, errors.Fault]
    while rest:
        kind = rest.pop()
        seen.add(kind)
        rest += kind.__subclasses__()
    assert len(seen) > 15
    assert all(any(base in STATUS for base in kind.__mro__) for kind in seen)


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/api/chat", Dialect.OLLAMA),
        ("/api/ps", Dialect.OLLAMA),
        ("/api/blobs/sha256:00", Dialect.OLLAMA),
        ("/api/chat/", Dialect.OLLAMA),
        ("/api/chats", Dialect.OLLAMA),
        ("/api/experimental/web_search", Dialect.OLLAMA),
        ("/api/loads", Dialect.OLLAMA),
        ("/api/", Dialect.OLLAMA),
        ("/api/load", Dialect.NATIVE),
        ("/api/config/anything", Dialect.NATIVE),
        ("/api/why/", Dialect.NATIVE),
        ("/", Dialect.NATIVE),
        ("/health", Dialect.NATIVE),
        ("/v1/messages", Dialect.ANTHROPIC),
        ("/v1/messages/count_tokens", Dialect.ANTHROPIC),
        ("/v1/messagesx", Dialect.OPENAI),
        ("//v1/messages", Dialect.ANTHROPIC),
        ("//api/chat", Dialect.OLLAMA),
        ("/v1/models", Dialect.OPENAI),
        ("/v1/nope", Dialect.OPENAI),
    ],
)
def test_whose_envelope_a_path_wears(path: str, dialect: Dialect) -> None:
    """By the path alone, so that 404 and 401 know it too."""
    assert dialect_of(path) is dialect


def test_the_shared_listing_belongs_to_who_asks() -> None:
    """An anthropic-version header makes /v1/models Anthropic's, and nothing else."""
    claude = [("anthropic-version", "2023-06-01")]
    assert dialect_for(scope_of(path="/v1/models/x", headers=claude)) is Dialect.ANTHROPIC
    assert dialect_for(scope_of(path="//v1/models", headers=claude)) is Dialect.ANTHROPIC
    assert dialect_for(scope_of(path="/v1/models/x")) is Dialect.OPENAI
    assert dialect_for(scope_of(path="/api/tags", headers=claude)) is Dialect.OLLAMA


def test_a_wrong_field_is_named() -> None:
    """OpenAI's param is the field."""
    shown = problem(errors.Malformed("no", "temperature"), Dialect.OPENAI, "plm-1-1")
    assert json.loads(shown.body)["error"]["param"] == "temperature"


@pytest.mark.parametrize(("after", "header"), [(0.0, b"1"), (1.0, b"1"), (1.01, b"2"), (60.0, b"60")])
def test_retry_after_is_whole_seconds(after: float, header: bytes) -> None:
    """Never zero: clients would hammer."""
    assert (b"retry-after", header) in problem(errors.Busy("s", after), Dialect.NATIVE).headers


@pytest.mark.parametrize(("after", "header", "told"), [(0.2, b"1", False), (60.0, b"60", False), (60.5, b"61", True)])
def test_a_used_up_limit_says_when_to_come_back(after: float, header: bytes, told: bool) -> None:
    """The stock SDKs ignore a wait of more than a minute and come back at once, so that they are told not to."""
    headers = problem(errors.OverQuota("rpm", "s", after), Dialect.OPENAI).headers
    assert (b"retry-after", header) in headers
    assert ((b"x-should-retry", b"false") in headers) is told


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "header"), [("7", b"7"), ("", b"1"), ("Wed, 21 Oct 2026 07:28:00 GMT", b"Wed, 21 Oct 2026 07:28:00 GMT")]
)
def test_a_child_that_says_later_says_when(status: int, said: str, header: bytes) -> None:
    """Its own word for it, or soon: clients back off by this header."""
    shown = problem(errors.EngineSaid(status, "s", retry_after=said), Dialect.OPENAI)
    assert (b"retry-after", header) in shown.headers
    assert "retry-after" not in str(problem(errors.EngineSaid(500, "s", retry_after="7"), Dialect.OPENAI).headers)


def test_the_field_that_a_child_named_is_param() -> None:
    """Its text stays as it is (D10)."""
    shown = json.loads(problem(errors.EngineSaid(400, "Field 'n': no", "n"), Dialect.OPENAI).body)
    assert (shown["error"]["param"], shown["error"]["message"]) == ("n", "Field 'n': no")


def test_odd_the_answer_to_a_wrong_key_has_no_param() -> None:
    """Every other refusal of this dialect has one, if only null."""
    assert set(json.loads(problem(errors.Unauthorized(), Dialect.OPENAI).body)["error"]) == {"message", "type", "code"}
    assert json.loads(problem(errors.Refusal("s"), Dialect.OPENAI).body)["error"]["param"] is None


def test_sentences_keep_their_letters() -> None:
    """UTF-8, not escapes."""
    assert "é".encode() in problem(errors.Refusal("é"), Dialect.OLLAMA).body


def test_an_unknown_model_is_the_field_model() -> None:
    """In the dialects that name a field; other things that are not there name none."""
    for dialect in (Dialect.OPENAI, Dialect.NATIVE):
        assert json.loads(problem(errors.ModelNotFound("m"), dialect).body)["error"]["param"] == "model"
        assert json.loads(problem(errors.EngineNotFound("t", ()), dialect).body)["error"]["param"] is None


def test_choices_stand_beside_the_sentence() -> None:
    """Programs need not read it; clients of ollama pass over what they do not know."""
    question = errors.ChoiceOpen("a/b", [("Q8_0", 5)], asked="Q9")
    body = json.loads(problem(question, Dialect.OLLAMA).body)
    choice = {"quant": "Q8_0", "size": 5, "verdict": ""}
    assert body == {"error": str(question), "repo": "a/b", "choices": [choice], "files": False, "asked": "Q9"}
