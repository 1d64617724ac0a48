"""Schemas that an engine's grammar refuses, prompts that its window does not hold: what three dialects make of both."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.streams import PATHS, body_for
from tests.support.daemon import Answer, Daemon

Calls = Callable[..., list[dict[str, Any]]]

DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}$"}
HUGE = {"type": "string", "maxLength": 1_000_000}
TREE = {
    "$defs": {"N": {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}},
    "$ref": "#/$defs/N",
}
LOOP = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}


def an_object(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


def with_tool(dialect: str, schema: Any, words: str, *, stream: bool) -> dict[str, Any]:
    body = body_for(words, stream=stream)
    if dialect == "anthropic":
        return body | {"tools": [{"name": "f", "input_schema": schema}]}
    return body | {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]}


def with_format(dialect: str, schema: Any, words: str, *, stream: bool) -> dict[str, Any]:
    body = body_for(words, stream=stream)
    if dialect == "ollama":
        return body | {"format": schema}
    if dialect == "anthropic":
        return body | {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    return body | {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}


def said(got: Answer, dialect: str) -> str:
    error = got.json()["error"]
    return str(error if dialect == "ollama" else error["message"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("make", [with_tool, with_format])
@pytest.mark.parametrize("dialect", PATHS)
def test_a_schema_the_grammar_refuses_is_asked_again_without_what_it_refused(
    cases: Daemon, calls: Calls, dialect: str, make: Any, stream: bool
) -> None:
    """Regex classes become ranges, huge bounds go, the answer comes and says so in a header (C14, C15)."""
    schema = {"type": "object", "properties": {"a": DATE, "b": HUGE}}
    got = cases.ask("POST", PATHS[dialect], make(dialect, schema, "stub:old_grammar", stream=stream))
    assert got.status == 200, got
    assert "rewritten; " in got.headers["x-blazar-warning"]
    assert "pattern, maxLength" in got.headers["x-blazar-warning"]
    first, second = [str(call) for call in calls()]
    assert "^[0-9]{4}-[0-9]{2}$" in first
    assert "1000000" in first
    assert "^[0-9]{4}-[0-9]{2}$" in second
    assert "1000000" not in second


@pytest.mark.parametrize("dialect", PATHS)
def test_a_schema_the_engine_takes_reaches_it_with_its_meaning_untouched(
    cases: Daemon, calls: Calls, dialect: str
) -> None:
    """References stay. Regex classes become ranges: newer engines take them and hold nothing of the pattern (C14, E1, E4)."""
    schema = an_object(DATE) | {"$defs": TREE["$defs"]}
    got = cases.ask("POST", PATHS[dialect], with_format(dialect, schema, "hi", stream=False))
    assert got.status == 200
    assert "rewritten" not in got.headers.get("x-blazar-warning", "")
    (call,) = calls()
    same = an_object({**DATE, "pattern": "^[0-9]{4}-[0-9]{2}$"}) | {"$defs": TREE["$defs"]}
    assert call["response_format"]["json_schema"]["schema"] == same


@pytest.mark.parametrize("dialect", PATHS)
def test_tools_are_opened_when_even_a_plain_schema_is_refused(cases: Daemon, calls: Calls, dialect: str) -> None:
    """The agent goes on, without strict arguments, and the header says so (C14)."""
    got = cases.ask("POST", PATHS[dialect], with_tool(dialect, an_object({}), "stub:no_grammar", stream=False))
    assert got.status == 200
    assert "tools.f" in got.headers["x-blazar-warning"]
    assert "not enforced" in got.headers["x-blazar-warning"]
    assert [call["tools"][0]["function"]["parameters"] for call in calls()] == [an_object({}), {"type": "object"}]


@pytest.mark.parametrize("dialect", PATHS)
def test_a_format_that_cannot_be_enforced_is_refused(cases: Daemon, calls: Calls, dialect: str) -> None:
    """Fail closed: an answer is never passed off as constrained when its grammar was refused (E1)."""
    got = cases.ask("POST", PATHS[dialect], with_format(dialect, an_object({}), "stub:no_grammar", stream=False))
    assert got.status == 400
    assert "grammar" in said(got, dialect)
    assert len(calls()) == 1


@pytest.mark.parametrize("dialect", PATHS)
def test_recursion_is_passed_on_and_endless_references_are_a_400(cases: Daemon, dialect: str) -> None:
    """A tree is no loop; what refers only to itself is refused with a sentence, and nothing dies of it (E4, E5)."""
    ask = lambda schema: cases.ask(  # noqa: E731
        "POST", PATHS[dialect], with_format(dialect, schema, "stub:old_grammar", stream=False)
    )
    assert cases.ask("POST", PATHS[dialect], with_format(dialect, TREE, "hi", stream=False)).status == 200
    endless = ask(LOOP)
    assert endless.status == 400
    assert "leads back to itself" in said(endless, dialect)
    missing = ask({"$ref": "file:///etc/passwd"})
    assert missing.status == 400
    assert "not in it" in said(missing, dialect)
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"anyOf": [deep]}
    assert ask(deep | {"$ref": "#/anyOf/0"}).status in (200, 400)


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_longer_than_the_window_is_a_400_with_sizes_and_levers(
    cases: Daemon, dialect: str, stream: bool
) -> None:
    """Never a 200 about a prompt that lost its head, in no dialect and for no model (B5, B6)."""
    words = " ".join(["secret", *["w"] * 700])
    for model, window in (("m", 512), ("small", 64)):
        got = cases.ask("POST", PATHS[dialect], body_for(words, stream=stream, model=model))
        assert got.status == 400
        assert f"prompt is too long: 701 tokens > {window}. This model's maximum context length is" in said(
            got, dialect
        )
        assert "trained for no more: shorten the prompt" in said(got, dialect)


@pytest.mark.parametrize("path", ["/v1/completions", "/api/generate"])
def test_a_raw_prompt_longer_than_the_window_is_the_same_400(cases: Daemon, path: str) -> None:
    """One rule for every route (B6)."""
    got = cases.ask("POST", path, {"model": "small", "prompt": "w " * 100, "raw": True, "stream": False})
    assert got.status == 400
    assert b"prompt is too long: 100 tokens > 64." in got.body


@pytest.mark.parametrize(
    ("path", "field"),
    [("/api/embed", "input"), ("/api/embeddings", "prompt"), ("/v1/embeddings", "input")],
)
def test_truncate_cuts_when_it_is_asked_for_and_only_then(cases: Daemon, calls: Calls, path: str, field: str) -> None:
    """Absent or false: 400 with the sizes. True: cut to the window, said in a header (M2, B19)."""
    body = {"model": "e", field: "w " * 40}
    for more in ({}, {"truncate": False}):
        got = cases.ask("POST", path, body | more)
        assert got.status == 400, got
        assert b"an input has 40 tokens and the model's window is 16" in got.body
    got = cases.ask("POST", path, body | {"truncate": True})
    assert got.status == 200, got
    assert "'input' was cut to 16 tokens" in got.headers["x-blazar-warning"]
    assert [len(one) for one in calls("/v1/embeddings")[-1]["input"]] == [16]
    assert "truncate" not in calls("/v1/embeddings")[0]


def test_of_several_inputs_only_the_long_ones_are_cut(cases: Daemon, calls: Calls) -> None:
    """What fits stays the text it was, in its place (M2, M3)."""
    texts = ["a", "w " * 40, [7] * 30]
    got = cases.ask("POST", "/v1/embeddings", {"model": "e", "input": texts, "truncate": True})
    assert got.status == 200
    assert len(got.json()["data"]) == 3
    sent = calls("/v1/embeddings")[-1]["input"]
    assert sent[0] == "a"
    assert [len(one) for one in sent[1:]] == [16, 16]
    assert "2 inputs" in got.headers["x-blazar-warning"]


def test_long_inputs_are_the_callers_fault_and_cost_no_child(cases: Daemon) -> None:
    """The engine calls them a 500 of its own; three of them must not make a healthy child go (G6)."""
    assert cases.ask("POST", "/api/embed", {"model": "e", "input": "x"}).status == 200
    (child,) = [row["pid"] for row in cases.ask("GET", "/api/ps").json()["models"] if row["name"] == "e"]
    for _ in range(4):
        assert cases.ask("POST", "/api/embed", {"model": "e", "input": "w " * 40}).status == 400
    (now,) = [row["pid"] for row in cases.ask("GET", "/api/ps").json()["models"] if row["name"] == "e"]
    assert now == child


@pytest.mark.parametrize("given", ["yes", 1, []])
def test_truncate_is_true_or_false(cases: Daemon, given: Any) -> None:
    """Anything else is a 400 that names it."""
    got = cases.ask("POST", "/api/embed", {"model": "e", "input": "x", "truncate": given})
    assert got.status == 400
    assert "'truncate' must be true or false" in got.json()["error"]
