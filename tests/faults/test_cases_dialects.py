"""Small wire questions of the three dialects, asked of a whole daemon: what the child gets and what the caller sees."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.streams import PATHS, RawClient, body_for
from tests.support.daemon import Daemon

Calls = Callable[..., list[dict[str, Any]]]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def events(body: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ") and line != b"data: [DONE]"]
    return [json.loads(line) for line in lines]


def message_of(error: Any) -> str:
    return str(error["message"] if isinstance(error, dict) else error)


def test_shift_has_nothing_to_do_with_the_prompt_cache(cases: Daemon, calls: Calls) -> None:
    """`shift: false` is named as ignored and the cache stays on (B15)."""
    body = body_for("hi", stream=False) | {"shift": False}
    got = cases.ask("POST", "/api/chat", body)
    assert got.status == 200
    assert calls()[0]["cache_prompt"] is True
    assert "'shift' has no effect" in got.headers["x-blazar-warning"]


def test_the_version_is_a_number_that_ollamas_clients_accept(cases: Daemon) -> None:
    """Copilot asks before anything else (B9)."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", cases.ask("GET", "/api/version").json()["version"])


def test_sizes_are_whole_bytes_and_the_command_line_says_gib(cases: Daemon) -> None:
    """One unit on the wire, estimate and measured apart; a person reads GiB (B20)."""
    assert cases.ask("POST", "/api/chat", body_for("hi", stream=False)).status == 200
    (row,) = [row for row in cases.ask("GET", "/api/ps").json()["models"] if row["name"] == "m"]
    for field in ("size", "size_vram", "rss", "context_length", "slots", "pid", "port"):
        assert type(row[field]) is int, field
    assert row["size"] > 0
    assert row["rss"] > 0
    for tag in cases.ask("GET", "/api/tags").json()["models"]:
        assert type(tag["size"]) is int
        assert {"name", "model", "modified_at", "size", "digest", "details"} <= tag.keys()
    assert re.search(r"\bGiB\b|\bMiB\b|\bKiB\b", cases.must("ps"))
    assert " GB" not in cases.must("ps") + cases.must("list")


@pytest.mark.parametrize(
    "body",
    [{"prompt": "hello"}, {"input": "hello"}],
)
def test_the_elder_embedding_route_never_answers_an_empty_vector(cases: Daemon, body: dict[str, Any]) -> None:
    """`input` is an alias of `prompt`; with neither it is a 400 (B4)."""
    got = cases.ask("POST", "/api/embeddings", {"model": "e", **body})
    assert got.status == 200
    assert len(got.json()["embedding"]) == 8
    assert cases.ask("POST", "/api/embeddings", {"model": "e"}).status == 400
    assert cases.ask("POST", "/api/embeddings", {"model": "e", "prompt": ""}).status == 400


def test_a_tool_call_in_ollamas_dialect_is_one_line_with_an_object(cases: Daemon) -> None:
    """Three fragments from the child, one call for the client; the history comes back as ollama wrote it (B16)."""
    got = cases.ask("POST", "/api/chat", body_for("stub:tool") | {"tools": [TOOL]})
    calls = [call for line in got.body.splitlines() for call in json.loads(line)["message"].get("tool_calls", ())]
    assert [call["function"]["arguments"] for call in calls] == [{"a": 1}]
    history = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_name": "f", "content": "sunny"},
    ]
    body = {"model": "m", "stream": False, "messages": history, "tools": [TOOL]}
    assert cases.ask("POST", "/api/chat", body).status == 200


@pytest.mark.parametrize(
    ("value", "status"),
    [
        *[(value, 200) for value in ("10m", 3600, "3600", -1, "-1m", "1h30m", 1.5, None)],
        *[(value, 400) for value in ("", "abc", [])],
    ],
)
@pytest.mark.parametrize("path", [PATHS["openai"], PATHS["ollama"], "/v1/completions", "/v1/embeddings", "/api/embed"])
def test_keep_alive_is_understood_on_every_lane(
    cases: Daemon, calls: Calls, path: str, value: Any, status: int
) -> None:
    """Every spelling, a 400 for what is none, and the child never sees it (L11)."""
    body: dict[str, Any] = body_for("hi", stream=False) if path in PATHS.values() else {"model": "m", "prompt": "hi"}
    if "embed" in path:
        body = {"model": "e", "input": "hi"}
    got = cases.ask("POST", path, body | {"keep_alive": value, "stream": False})
    assert got.status == status, got
    if status == 400:
        assert "keep_alive" in message_of(got.json()["error"])
    assert not any("keep_alive" in call for name in (PATHS["openai"], "/v1/completions") for call in calls(name))


def test_null_is_absent_for_every_optional_field(cases: Daemon, calls: Calls) -> None:
    """The child, which answers 500 to them, sees none (A13, A16)."""
    names = ("seed", "stop", "temperature", "tools", "response_format", "stream_options", "max_tokens", "keep_alive")
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **dict.fromkeys(names)}
    assert cases.ask("POST", PATHS["openai"], body).status == 200
    assert not any(name in calls()[0] for name in names)


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        ("none", 200),
        ("required", 200),
        ({"type": "function", "function": {"name": "f"}}, 200),
        ({"type": "function", "function": {"name": "nope"}}, 400),
    ],
)
def test_tool_choice_is_honoured_or_refused(cases: Daemon, calls: Calls, choice: Any, status: int) -> None:
    """In both forms; a function that was not declared is a 400 (A19)."""
    body = body_for("hi", stream=False) | {"tools": [TOOL], "tool_choice": choice}
    assert cases.ask("POST", PATHS["openai"], body).status == status
    if status == 200:
        assert calls()[0]["tool_choice"] == ("required" if isinstance(choice, dict) else choice)


@pytest.mark.parametrize("tools", [[], [TOOL]])
def test_usage_is_the_same_with_and_without_tools(cases: Daemon, tools: list[Any]) -> None:
    """And only the trailing chunk carries it, and only when it was asked for (A7, A8)."""
    body = body_for("one two three") | ({"tools": tools} if tools else {})
    asked = events(cases.ask("POST", PATHS["openai"], body | {"stream_options": {"include_usage": True}}).body)
    assert [event["usage"]["prompt_tokens"] for event in asked if event.get("usage")] == [3]
    assert asked[-1]["choices"] == []
    assert asked[-1]["usage"]["completion_tokens"] == 5
    assert not any("usage" in event for event in events(cases.ask("POST", PATHS["openai"], body).body))


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b"null", b"\xff\xfe", b'{"model":"m","messages":"x"}'])
@pytest.mark.parametrize("dialect", PATHS)
def test_a_body_that_is_none_is_a_400_in_the_dialects_shape(cases: Daemon, dialect: str, raw: bytes) -> None:
    """Never a 500, never an empty body (A21, A11)."""
    got = cases.ask("POST", PATHS[dialect], raw)
    assert got.status == 400
    assert message_of(got.json()["error"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nope", 404),
        ("GET", "/v1/completions", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/models/nope", 404),
    ],
)
def test_every_refusal_has_the_shape_that_sdks_read(cases: Daemon, method: str, path: str, status: int) -> None:
    """`error` is an object with four members (A11)."""
    got = cases.ask(method, path)
    assert got.status == status
    assert got.json()["error"].keys() == {"message", "type", "param", "code"}
    assert got.json()["error"]["code"] == status


@pytest.mark.parametrize("dialect", PATHS)
def test_an_unknown_model_is_never_served_by_another(cases: Daemon, dialect: str) -> None:
    """404 with near matches, although one is loaded (A23)."""
    cases.ask("POST", PATHS["openai"], body_for("hi", stream=False))
    got = cases.ask("POST", PATHS[dialect], body_for("hi", stream=False, model="smal"))
    assert got.status == 404
    assert "did you mean small" in message_of(got.json()["error"])


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_names_the_model_as_the_caller_did(cases: Daemon, stream: bool) -> None:
    """Whatever the child calls itself (A22)."""
    got = cases.ask("POST", PATHS["openai"], body_for("hi", stream=stream, model="m:latest"))
    assert set(re.findall(rb'"model":"([^"]*)"', got.body)) == {b"m:latest"}


def test_text_that_looks_like_json_stays_text(cases: Daemon, calls: Calls) -> None:
    """A string is opaque (A18)."""
    text = '["1/4 cup sugar","2 eggs"]'
    assert cases.ask("POST", PATHS["openai"], body_for(text, stream=False)).status == 200
    assert calls()[0]["messages"][0]["content"] == text


@pytest.mark.parametrize("dialect", PATHS)
def test_one_system_message_at_the_front(cases: Daemon, calls: Calls, dialect: str) -> None:
    """Strict templates raise otherwise; the order of the texts is kept (C1, C16)."""
    role = "system" if dialect != "openai" else "developer"
    messages = [{"role": "user", "content": "hi"}, {"role": role, "content": "B"}]
    body = body_for("", stream=False) | {"messages": messages}
    if dialect == "anthropic":
        body["system"] = "A"
    else:
        body["messages"] = [{"role": "system", "content": "A"}, *messages]
    assert cases.ask("POST", PATHS[dialect], body).status == 200
    sent = calls()[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user"]
    assert sent[0]["content"] == "A\n\nB"


def test_an_early_failure_keeps_its_status_in_anthropics_dialect(cases: Daemon) -> None:
    """No message_start before the child has begun: 503 stays 503, whatever it took to fail (C11, C12)."""
    for stream in (True, False):
        got = cases.ask("POST", PATHS["anthropic"], body_for("stub:fail=503", stream=stream))
        assert got.status == 503
        assert got.json()["error"]["type"] == "overloaded_error"


def test_thinking_is_off_unless_it_is_asked_for(cases: Daemon, calls: Calls) -> None:
    """Absent means disabled, for the child and for the blocks that come back (C7)."""
    got = cases.ask("POST", PATHS["anthropic"], body_for("stub:think", stream=False))
    assert [block["type"] for block in got.json()["content"]] == ["text"]
    assert calls()[0]["chat_template_kwargs"]["enable_thinking"] is False


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_think_false_is_a_variable_of_the_template(cases: Daemon, calls: Calls, dialect: str) -> None:
    """Whatever the template makes of it; a value that nobody can read is refused with the field's name."""
    body = body_for("hi", stream=False) | {"think": False}
    assert cases.ask("POST", PATHS[dialect], body).status == 200
    assert calls()[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert "think" not in calls()[0]
    got = cases.ask("POST", PATHS[dialect], body | {"think": "often"})
    assert (got.status, "think" in message_of(got.json()["error"])) == (400, True)


def test_a_query_is_no_obstacle(cases: Daemon) -> None:
    """Claude Code counts with ?beta=true (C2)."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    got = cases.ask("POST", "/v1/messages/count_tokens?beta=true", body)
    assert got.status == 200
    assert got.json()["input_tokens"] > 0


def test_ndjson_and_events_end_as_their_dialects_do(cases: Daemon) -> None:
    """One terminal event each, and nothing after it (A6)."""
    seen = {name: cases.ask("POST", path, body_for("hi")).body for name, path in PATHS.items()}
    assert seen["openai"].endswith(b"data: [DONE]\n\n")
    assert seen["openai"].count(b"[DONE]") == 1
    assert json.loads(seen["ollama"].splitlines()[-1])["done"] is True
    assert seen["anthropic"].count(b"event: message_stop") == 1
    created = {event["created"] for event in events(seen["openai"])}
    assert len(created) == 1


def test_an_embedding_comes_in_the_encoding_and_order_that_was_asked_for(cases: Daemon) -> None:
    """base64 of float32 by default of the SDKs; as many vectors as inputs; shorter where asked for, and of length 1 (M1, M3, M8)."""
    import base64

    got = cases.ask("POST", "/v1/embeddings", {"model": "e", "input": ["a", "b", "c"], "encoding_format": "base64"})
    rows = got.json()["data"]
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert {len(base64.b64decode(row["embedding"])) for row in rows} == {32}
    short = cases.ask("POST", "/v1/embeddings", {"model": "e", "input": "x", "dimensions": 4}).json()["data"][0][
        "embedding"
    ]
    assert (len(short), round(sum(number * number for number in short), 6)) == (4, 1)
    assert cases.ask("POST", "/v1/embeddings", {"model": "e", "input": "x", "dimensions": 256}).status == 400


def test_a_raw_socket_sees_the_end_of_a_buffered_answer(cases: Daemon) -> None:
    """A length or the last chunk, never just a close (D4)."""
    with RawClient(cases.port, PATHS["openai"], body_for("hi", stream=False)) as client:
        seen = client.read_all()
    head, _, body = seen.partition(b"\r\n\r\n")
    assert int(re.search(rb"content-length: (\d+)", head.lower())[1]) == len(body)  # type: ignore[index]
