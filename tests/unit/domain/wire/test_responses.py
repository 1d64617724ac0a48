"""Requests of the Responses dialect."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.odds import Odds
from blazar.domain.wire.responses import ResponseRequest, check_metadata, read_response
from blazar.domain.wire.responses_items import Recalled

TOOL = {"type": "function", "name": "f"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
FORM = {"type": "json_schema", "name": "out", "schema": SCHEMA}


def read(**body: Any) -> ResponseRequest:
    return read_response({"model": "m", "input": "hi", **body}, "m")


def test_the_simplest_request() -> None:
    """One user message; kept unless said; not streamed, not in the background."""
    asked = read()
    assert asked.child.body == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False}
    assert (asked.store, asked.background, asked.child.stream, asked.child.warnings) == (True, False, False, ())


def test_sampling_and_the_limit_have_the_childs_names() -> None:
    """`max_output_tokens` is a chat's `max_tokens`."""
    body = read(max_output_tokens=5.0, temperature=0.5, top_p=0.9).child.body
    assert (body["max_tokens"], body["temperature"], body["top_p"]) == (5, 0.5, 0.9)


def test_instructions_stand_first_and_are_one_message_with_others() -> None:
    """Before the history, merged with what the input says as system or developer (C1)."""
    history = [{"type": "message", "role": "user", "content": "before"}]
    body = {"model": "m", "instructions": "Be brief.", "input": [{"role": "developer", "content": "In German."}]}
    messages = read_response(body, "m", Recalled(history)).child.body["messages"]
    assert messages[0] == {"role": "system", "content": "Be brief.\n\nIn German."}
    assert messages[1] == {"role": "user", "content": "before"}


@pytest.mark.parametrize(
    ("body", "number", "told"),
    [
        ({"include": ["message.output_text.logprobs"]}, 1, 0),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 3.0}, 3, 3),
        ({"top_logprobs": 2}, 2, 2),
    ],
)
def test_probabilities_are_asked_for(body: dict[str, Any], number: int, told: int) -> None:
    """By either field; the answer repeats how many alternatives were wanted."""
    asked = read(**body)
    assert (asked.child.body["logprobs"], asked.child.body["top_logprobs"]) == (True, number)
    assert (asked.odds, asked.card["top_logprobs"], asked.child.warnings) == (Odds(True, told), told, ())


def test_probabilities_nobody_asked_for() -> None:
    """Are not asked of the child either."""
    asked = read(top_logprobs=0)
    assert "logprobs" not in asked.child.body
    assert not asked.odds.wanted


def test_who_may_lose_the_beginning() -> None:
    """Only who says so; a word that is neither is named."""
    assert read(truncation="auto").trims
    assert not read(truncation="disabled").trims
    assert read(truncation="auto").card["truncation"] == "auto"
    assert read().card["truncation"] == "disabled"
    with pytest.raises(Malformed, match=r"truncation.*auto"):
        read(truncation="middle")


def test_what_the_input_refers_to_is_put_in_its_place() -> None:
    """Until it is found, the reference is known and nothing else."""
    body = {"model": "m", "input": [{"type": "item_reference", "id": "a"}]}
    assert read_response(body, "m").references == ("a",)
    found = {"a": {"type": "message", "role": "user", "content": "x"}}
    asked = read_response(body, "m", Recalled((), found))
    assert asked.child.body["messages"] == [{"role": "user", "content": "x"}]
    assert asked.references == ()


@pytest.mark.parametrize(
    ("text", "wanted", "constraint"),
    [
        ({"format": {"type": "text"}}, None, ""),
        ({"format": {"type": "json_object"}}, {"type": "json_object"}, "json_object"),
        (
            {"format": FORM},
            {"type": "json_schema", "json_schema": {"name": "out", "strict": True, "schema": SCHEMA}},
            "json_schema",
        ),
        ({"format": None}, None, ""),
        ({}, None, ""),
    ],
)
def test_the_wanted_form_goes_the_way_of_the_chat_route(text: Any, wanted: Any, constraint: str) -> None:
    """The same field for the child, the same receipt (D19)."""
    asked = read(text=text)
    assert asked.child.body.get("response_format") == wanted
    assert asked.child.constraint == constraint
    if constraint == "json_schema":
        assert asked.child.schema is not None
        assert asked.child.schema.field == "text.format.schema"


def test_tools_win_over_a_form() -> None:
    """As in every dialect (E9); where none may be called the form holds."""
    asked = read(text={"format": FORM}, tools=[TOOL])
    assert "response_format" not in asked.child.body
    assert asked.child.warnings == ("ignored; 'text.format' has no effect here",)
    assert read(text={"format": FORM}, tools=[TOOL], tool_choice="none").child.constraint == "json_schema"


@pytest.mark.parametrize(
    ("reasoning", "thinking", "kwargs"),
    [
        (None, True, None),
        ({}, True, None),
        ({"effort": "none"}, False, {"enable_thinking": False}),
        ({"effort": "low"}, True, {"enable_thinking": True, "reasoning_effort": "low"}),
    ],
)
def test_reasoning_is_asked_for_as_elsewhere(reasoning: Any, thinking: bool, kwargs: Any) -> None:
    """Unsaid, the template decides; with effort `none` there are no thoughts."""
    asked = read(reasoning=reasoning)
    assert asked.child.thinking is thinking
    assert asked.child.body.get("chat_template_kwargs") == kwargs


def test_how_thoughts_are_told() -> None:
    """As summaries where those are asked for, sealed where they are to be kept by the caller."""
    assert (read().summary, read().sealed) == (False, False)
    asked = read(reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"])
    assert (asked.summary, asked.sealed) == (True, True)


def test_a_response_in_the_background_is_always_listened_to() -> None:
    """Its events can be asked for later; its caller did not ask for a stream."""
    asked = read(background=True)
    assert asked.child.body["stream"] is True
    assert asked.child.stream is False


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"truncation": "disabled"}, []),
        ({"text": {"verbosity": "low"}}, ["text.verbosity"]),
        ({"include": ["message.output_text.logprobs"], "tools": [TOOL], "stream": True}, ["include"]),
        ({"top_logprobs": 5, "tools": [TOOL], "background": True}, ["top_logprobs"]),
        ({"context_management": [{}]}, ["context_management"]),
        ({"user": "u", "prompt_cache_key": "k", "service_tier": "auto", "client_metadata": {}}, []),
    ],
)
def test_what_has_no_effect_is_named(more: dict[str, Any], named: list[str]) -> None:
    """Unless it has none anywhere: billing, caching, tracing."""
    assert [warning.split("'")[1] for warning in read(**more).child.warnings] == named


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": True}, "max_output_tokens"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"text": []}, None),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
        ({"text": {"format": "json"}}, "text.format"),
        ({"text": False}, "text"),
        ({"text": {"format": False}}, "text.format"),
        ({"reasoning": False}, "reasoning"),
        ({"reasoning": {"summary": False}}, "reasoning.summary"),
        ({"temperature": False}, "temperature"),
        ({"tools": [{"type": "function", "name": "f", "description": 7}]}, "tools[0].description"),
        ({"tools": [{"type": "custom", "name": "f", "description": False}]}, "tools[0].description"),
        ({"tool_choice": {"type": "allowed_tools", "mode": False}}, "tool_choice.mode"),
        ({"reasoning": {"effort": "most"}}, "reasoning.effort"),
        ({"reasoning": "low"}, "reasoning"),
        ({"include": [5]}, "include"),
        ({"stream": "yes"}, "stream"),
        ({"store": 1}, "store"),
        ({"background": True, "store": False}, "background"),
        ({"parallel_tool_calls": "no"}, "parallel_tool_calls"),
        ({"previous_response_id": 5}, "previous_response_id"),
        ({"instructions": ["x"]}, "instructions"),
        ({"metadata": {"a": 1}}, "metadata"),
    ],
)
def test_what_cannot_be_meant_is_refused(more: dict[str, Any], field: str | None) -> None:
    """With the field; an empty value of another kind means nothing was asked for."""
    if field is None:
        read(**more)
        return
    with pytest.raises(Malformed) as caught:
        read(**more)
    assert caught.value.field == field


def test_answers_repeat_the_request() -> None:
    """With the service's defaults for what was not said."""
    card = read(instructions="Be brief.", metadata={"a": "b"}, tools=[TOOL]).card
    assert (card["instructions"], card["metadata"], card["tool_choice"]) == ("Be brief.", {"a": "b"}, "auto")
    assert card["tools"][0]["name"] == "f"
    assert card["text"] == {"format": {"type": "text"}}
    assert card["parallel_tool_calls"] is True


@pytest.mark.parametrize(
    "value", [{"k" * 65: "v"}, {"k": "v" * 513}, {f"k{n}": "v" for n in range(17)}, {"k": None}, "x"]
)
def test_metadata_is_small_and_of_texts(value: Any) -> None:
    """The service's own bounds."""
    with pytest.raises(Malformed):
        check_metadata(value)


def test_metadata_may_be_absent() -> None:
    """Then it is empty."""
    assert check_metadata(None) == {}
    assert check_metadata({"k" * 64: "v" * 512})
