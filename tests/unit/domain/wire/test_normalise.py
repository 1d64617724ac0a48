"""What every dialect's request must look like."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.normalise import (
    brings_media,
    check_audio,
    check_messages,
    check_names,
    check_pictures,
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


@pytest.mark.parametrize("mode", ["auto", "required", None])
@pytest.mark.parametrize("nested", [True, False])
def test_allowed_tools_are_the_only_ones_left(mode: str | None, *, nested: bool) -> None:
    """With the word that says whether one must be called, in a chat's spelling and in that of responses (A19)."""
    named = [{"type": "function", "function": {"name": "h"}}, {"type": "function", "name": "g"}]
    allowed = {"tools": named} | ({} if mode is None else {"mode": mode})
    choice = {"type": "allowed_tools", **({"allowed_tools": allowed} if nested else allowed)}
    body = {"tools": [function("f"), function("g"), function("h")], "tool_choice": choice}
    narrow_tool_choice(body)
    assert body == {"tools": [function("g"), function("h")], "tool_choice": mode or "auto"}


@pytest.mark.parametrize(
    ("allowed", "field"),
    [
        ({"mode": "none", "tools": [{"function": {"name": "f"}}]}, "tool_choice.mode"),
        ({"mode": 5, "tools": [{"function": {"name": "f"}}]}, "tool_choice.mode"),
        ({"mode": "auto", "tools": []}, "tool_choice.tools"),
        ({"mode": "auto"}, "tool_choice.tools"),
        ([], "tool_choice.tools"),
        ({"tools": [{"function": {"name": "zzz"}}]}, "tool_choice"),
        ({"tools": [{"type": "function"}]}, "tool_choice"),
    ],
)
def test_allowed_tools_that_are_none_are_refused(allowed: Any, field: str) -> None:
    """With a 400 that says what of it (A19)."""
    with pytest.raises(Malformed) as refused:
        narrow_tool_choice(
            {"tools": [function("f")], "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}
        )
    assert refused.value.field == field


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


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url"},
        {"type": "image_url", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "image_url", "image_url": {}},
        {"type": "image_url", "image_url": {"url": 5}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
        {"type": "image_url", "image_url": {"url": "data:"}},
    ],
)
def test_what_is_no_picture_is_refused_by_its_place(part: dict[str, Any]) -> None:
    """An engine fails at it as if the fault were its own."""
    with pytest.raises(Malformed) as refused:
        check_pictures([{"role": "user", "content": [{"type": "text", "text": "a"}, part]}])
    assert refused.value.field == "messages[0].content[1].image_url"


def test_pictures_and_texts_pass() -> None:
    """What has no picture in it is none of its business."""
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    check_pictures(
        [{"role": "user", "content": "image_url"}, {"role": "user", "content": [{"type": "text"}, shown, 5]}]
    )


@pytest.mark.parametrize("member", ["data", "url"])
@pytest.mark.parametrize("address", ["http://10.0.0.1/a.wav", "file:///etc/passwd", "HTTPS://x/y"])
def test_sound_is_not_fetched(member: str, address: str) -> None:
    """llama-server would, from any network (J10)."""
    part = {"type": "input_audio", "input_audio": {member: address, "format": "wav"}}
    with pytest.raises(Malformed) as refused:
        check_audio([{"role": "user", "content": [part]}])
    assert refused.value.field == "messages[0].content[0].input_audio"
    check_audio([{"role": "user", "content": [{**part, "input_audio": {member: "UklGRg==", "format": "wav"}}]}])


def test_functions_have_names_of_their_own() -> None:
    """Nobody could say which of two was called."""
    one, other = ({"type": "function", "function": {"name": name}} for name in "fg")
    check_names([one, other])
    with pytest.raises(Malformed, match="'f'"):
        check_names([one, other, one])
