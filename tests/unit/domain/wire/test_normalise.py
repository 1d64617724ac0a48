"""What every dialect's request must look like."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.normalise import (
    brings_media,
    check_messages,
    drop_nulls,
    merge_system,
    narrow_tool_choice,
    offers_tools,
    repair_history,
    text_of,
)

USER = {"role": "user", "content": "hi"}


def called(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def function(name: str, arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def test_system_messages_are_merged_in_front() -> None:
    """One system message at index 0, the texts in their order, developer included (C1, C16)."""
    messages = [
        {"role": "system", "content": "A"},
        USER,
        {"role": "system", "content": "B"},
        {"role": "developer", "content": [{"type": "text", "text": "C"}]},
    ]
    assert merge_system(messages) == [{"role": "system", "content": "A\n\nB\n\nC"}, USER]
    assert merge_system([USER, {"role": "developer", "content": "B"}]) == [{"role": "system", "content": "B"}, USER]


@pytest.mark.parametrize(
    "messages", [[], [USER], [{"role": "system", "content": [{"type": "text", "text": "A"}]}, USER]]
)
def test_messages_in_order_stay_the_same_object(messages: list[dict[str, Any]]) -> None:
    """Nothing to change is nothing changed."""
    assert merge_system(messages) is messages
    assert repair_history(messages) is messages


def test_a_string_is_opaque() -> None:
    """Text that looks like JSON is text (A18)."""
    assert text_of('["1/4 cup sugar"]') == '["1/4 cup sugar"]'
    assert text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, {"text": "b"}]) == "a\nb"
    assert text_of(None) == text_of(7) == ""


def test_missing_ids_are_made_up_pairwise() -> None:
    """Calls and answers without ids find each other by place (A17)."""
    history = [
        USER,
        called(function("f", id=None), function("g")),
        {"role": "tool", "tool_call_id": None, "content": "1"},
        {"role": "tool", "content": "2"},
    ]
    repaired = repair_history(history)
    assert [call["id"] for call in repaired[1]["tool_calls"]] == ["call_1_0", "call_1_1"]
    assert [message["tool_call_id"] for message in repaired[2:]] == ["call_1_0", "call_1_1"]
    assert history[1]["tool_calls"][0]["id"] is None


def test_answers_with_a_name_find_the_call_of_that_name() -> None:
    """Ollama's `tool_name` (B16); the name is not forwarded, no template reads it."""
    history = [
        called(function("f", id="a"), function("g", id="b")),
        {"role": "tool", "tool_name": "g", "content": "2"},
        {"role": "tool", "tool_name": "f", "content": "1"},
    ]
    repaired = repair_history(history)
    assert repaired[1:] == [
        {"role": "tool", "content": "2", "tool_call_id": "b"},
        {"role": "tool", "content": "1", "tool_call_id": "a"},
    ]


def test_a_whole_history_is_left_alone() -> None:
    """Ids of the caller's own are kept, the list is the same object."""
    history = [
        called(function("f", id="x"), function("g", id="y")),
        {"role": "tool", "tool_call_id": "y", "content": "2"},
        {"role": "tool", "tool_call_id": "x", "content": "1"},
    ]
    assert repair_history(history) is history


def test_answers_with_and_without_ids_do_not_collide() -> None:
    """A given id takes its call; the next one without takes what is left."""
    history = [
        called(function("f", id="x"), function("g", id="y")),
        {"role": "tool", "tool_call_id": "x", "content": "1"},
        {"role": "tool", "content": None},
    ]
    assert repair_history(history)[2] == {"role": "tool", "tool_call_id": "y", "content": ""}


def test_an_answer_to_nothing_still_has_an_id() -> None:
    """Engines answer 500 to null there."""
    assert repair_history([{"role": "tool", "content": "1"}])[0]["tool_call_id"]


@pytest.mark.parametrize(
    ("arguments", "text", "told"),
    [
        ({"a": 1}, '{"a":1}', False),
        (None, "{}", False),
        ('{"a": 1}', '{"a": 1}', False),
        ("", "{}", False),
        ([1], '{"raw":"[1]"}', True),
        ('{"path": "/etc', '{"raw":"{\\"path\\": \\"/etc"}', True),
        ('{"a": NaN}', '{"a":NaN}', True),
        ('"{}"', "{}", True),
        ("hello", '{"raw":"hello"}', True),
    ],
)
def test_arguments_become_the_text_of_an_object(arguments: Any, text: str, told: bool) -> None:
    """Objects are what ollama sends; sound text stays to the letter; what is no object becomes one, and the caller hears where."""
    warnings: list[str] = []
    (_, message) = repair_history([USER, called(function("f", arguments, id="a"))], warnings)
    assert message["tool_calls"][0]["function"]["arguments"] == text
    assert len(warnings) == told
    assert not told or "messages[1].tool_calls[0].function.arguments" in warnings[0]


def test_a_missing_type_is_function() -> None:
    """llama-server fails a whole conversation for it."""
    (message,) = repair_history([called({"id": "a", "function": {"name": "f", "arguments": "{}"}})])
    assert message["tool_calls"][0]["type"] == "function"


def test_odd_an_answer_to_no_call_and_a_call_without_an_answer_stay() -> None:
    """Templates show them; what was left out nobody knows."""
    history = [
        {"role": "tool", "tool_call_id": "z", "content": "before any"},
        USER,
        called(function("f", id="a")),
        USER,
        {"role": "tool", "tool_call_id": "other", "content": "of none"},
    ]
    assert repair_history(history) is history


@pytest.mark.parametrize(
    "call", [None, {}, {"function": None}, {"function": {"arguments": "{}"}}, {"function": {"name": 7}}]
)
def test_a_call_without_a_name_is_refused(call: Any) -> None:
    """Nothing can be made of it."""
    with pytest.raises(Malformed, match=r"messages\[0\].tool_calls\[0\]"):
        repair_history([{"role": "assistant", "tool_calls": [call]}])


def test_null_is_absent_but_for_content() -> None:
    """In the body (A13), the tools (A16), the messages; beside tool calls a null content is what the API says."""
    body = {
        "seed": None,
        "stop": None,
        "stream_options": {"include_usage": None},
        "tools": [
            {
                "type": "function",
                "strict": None,
                "function": {"name": "t", "description": None, "parameters": {"a": None}},
            }
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "strict": None, "schema": {"type": "object", "title": None}},
        },
        "json_schema": {"const": None, "pattern": None},
        "messages": [
            {"role": "assistant", "content": None, "refusal": None, "tool_calls": None},
            USER,
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": None},
                    {"type": "text", "text": "a", "cache_control": None},
                    {"type": "image_url", "image_url": {"url": "data:", "detail": None}},
                ],
            },
        ],
    }
    drop_nulls(body)
    assert body == {
        "stream_options": {},
        "tools": [{"type": "function", "function": {"name": "t", "parameters": {}}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
        "json_schema": {"const": None},
        "messages": [
            {"role": "assistant", "content": None},
            USER,
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}],
            },
        ],
    }


def test_a_named_tool_is_the_only_one_left() -> None:
    """llama-server takes the object form for "auto" in silence (A19)."""
    body = {"tools": [function("f"), function("g")], "tool_choice": {"type": "function", "function": {"name": "g"}}}
    narrow_tool_choice(body)
    assert body == {"tools": [function("g")], "tool_choice": "required"}


@pytest.mark.parametrize("choice", ["none", "auto", "required", None])
def test_a_choice_that_is_a_word_stays(choice: Any) -> None:
    """The engine reads those itself."""
    body = {"tools": [function("f")], "tool_choice": choice}
    narrow_tool_choice(body)
    assert body == {"tools": [function("f")], "tool_choice": choice}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"type": "function", "function": {"name": "zzz"}}, "zzz"),
        ({"type": "function"}, "must name"),
        ({"type": "function", "function": {}}, "must name"),
    ],
)
def test_an_unknown_or_nameless_tool_is_refused(choice: Any, words: str) -> None:
    """With a 400 that says which (A19)."""
    with pytest.raises(Malformed, match=words) as refused:
        narrow_tool_choice({"tools": [function("f")], "tool_choice": choice})
    assert refused.value.field == "tool_choice"


@pytest.mark.parametrize(
    ("messages", "field"),
    [("x", "messages"), ({}, "messages"), ([USER, 7], "messages[1]"), ([{"content": "x"}], "messages[0]")],
)
def test_messages_that_are_none_are_refused_by_their_place(messages: Any, field: str) -> None:
    """The sentence names which one."""
    with pytest.raises(Malformed) as refused:
        check_messages(messages)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("content", "brings"),
    [
        ("look: image_url", False),
        ([{"type": "text", "text": "image_url"}], False),
        (
            [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,x"}}],
            True,
        ),
        ([{"type": "video_url", "video_url": {"url": "data:video/mp4;base64,x"}}], True),
        (None, False),
    ],
)
def test_what_needs_a_child_that_takes_pictures(content: Any, brings: bool) -> None:
    """Parts with something to look at, in any message; never the text about them."""
    assert brings_media([{"role": "user", "content": "hi"}, {"role": "user", "content": content}]) is brings


@pytest.mark.parametrize("messages", [None, "text", [], [1], [{"role": "user"}]])
def test_what_holds_no_messages_brings_nothing(messages: Any) -> None:
    """Raw prompts, and what is refused elsewhere."""
    assert brings_media(messages) is False


def test_tools_that_nobody_may_call_are_no_offer() -> None:
    """They need no place in a template."""
    assert offers_tools({"tools": [{}]})
    assert not any(map(offers_tools, ({}, {"tools": None}, {"tools": []}, {"tools": [{}], "tool_choice": "none"})))
