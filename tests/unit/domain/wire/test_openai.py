"""OpenAI requests and buffered replies."""

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.errors import Malformed
from blazar.domain.wire.openai import (
    TRIGGERS,
    check,
    first_call_alone,
    normalise,
    plain,
    plan,
    reply_bytes,
    wants_usage,
)

HI = [{"role": "user", "content": "hi"}]


class _Peek(NamedTuple):
    model: str
    stream: bool | None
    stream_options: Any


def planned(body: dict[str, Any], child: str = "m", *, compact: bool = False) -> tuple[bytes | None, bool, bool, bytes]:
    raw = json.dumps(body, separators=(",", ":") if compact else None).encode()
    peek = _Peek(body["model"], body.get("stream"), body.get("stream_options"))
    made = plan(raw, peek, child)
    return made.body, made.parse, made.drop_usage, raw


def test_a_plain_request_passes_as_it_is() -> None:
    """The same bytes object, no parse (D15)."""
    body, parse, drop, raw = planned(
        {"model": "m", "messages": [{"role": "system", "content": "s"}, *HI], "temperature": 0.5}
    )
    assert body == raw
    assert (parse, drop) == (False, False)


@pytest.mark.parametrize("compact", [True, False])
def test_a_stream_asks_for_usage_without_a_parse(compact: bool) -> None:
    """The field is put in front, and the chunk it brings is to be dropped."""
    body, parse, drop, raw = planned({"model": "m", "stream": True, "messages": HI}, compact=compact)
    assert (parse, drop) == (False, True)
    assert body is not None
    assert json.loads(body) == {**json.loads(raw), "stream_options": {"include_usage": True}}


def test_usage_that_was_asked_for_is_kept() -> None:
    """Nothing is added, nothing dropped."""
    body, parse, drop, raw = planned(
        {"model": "m", "stream": True, "stream_options": {"include_usage": True}, "messages": HI}
    )
    assert (body, parse, drop) == (raw, False, False)
    _, parse, drop, _ = planned(
        {"model": "m", "stream": True, "stream_options": {"include_usage": False}, "messages": HI}
    )
    assert (parse, drop) == (True, True)


def test_the_model_name_is_swapped_without_a_parse() -> None:
    """Only where it can mean one thing."""
    body, parse, _, raw = planned({"messages": HI, "model": 'a"b:latest', "user": "x"}, "ü")
    assert not parse
    assert body is not None
    assert json.loads(body) == {**json.loads(raw), "model": "ü"}
    _, parse, _, _ = planned({"model": "a", "messages": HI, "metadata": {"model": "x"}}, "m")
    assert parse


def called(call: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message with one call."""
    return {"role": "assistant", "content": "", "tool_calls": [call]}


SOUND: dict[str, Any] = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("null", {"seed": None}),
        ("history", {"messages": [*HI, {"role": "tool", "content": "x"}]}),
        (
            "history",
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}, "id": "x"}]}
                ]
            },
        ),
        (
            "history",
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]},
        ),
        ("system", {"messages": [*HI, {"role": "system", "content": "B"}]}),
        ("system", {"messages": [{"role": "developer", "content": "B"}, *HI]}),
        ("system", {"messages": [{"role": "system", "content": "A"}, {"role": "system", "content": "B"}, *HI]}),
        ("tool_choice", {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
        ("conversation", {"messages": []}),
        ("gbnf", {"response_format": {"type": "gbnf", "grammar": "root ::= x"}}),
        ("think", {"think": False}),
        ("history", {"messages": [called({"id": "x", "function": {"name": "f", "arguments": "{}"}})]}),
        ("history", {"messages": [called(SOUND | {"function": {"name": "f", "arguments": '{"a": "b'}})]}),
        ("history", {"messages": [called(SOUND | {"function": {"name": "f", "arguments": ""}})]}),
        ("think", {"think": True}),
        ("format", {"tools": [], "response_format": {"type": "json_object"}}),
        ("parameters", {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]}),
        ("media", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]}),
        ("media", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
        ("media", {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]}]}),
        ("files", {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "aGk="}}]}]}),
        ("custom", {"tools": [{"type": "custom", "custom": {"name": "f"}}]}),
        ("references", {"tools": [{"$ref": "#/a", "a": {}}] * 50}),
    ],
)
@pytest.mark.parametrize("compact", [True, False])
def test_each_trigger_is_noticed_in_the_bytes(name: str, more: dict[str, Any], compact: bool) -> None:
    """A request that needs a change is parsed, and its own row of the table says so."""
    raw = json.dumps({"model": "m", "messages": HI, **more}, separators=(",", ":") if compact else None).encode()
    assert [trigger.name for trigger in TRIGGERS if trigger.suspects(raw)] == [name]
    assert planned({"model": "m", "messages": HI, **more}, compact=compact)[1]


def test_every_row_of_the_table_is_shown() -> None:
    """One that no test notices is one that nobody may rely on."""
    (shown,) = [
        mark for mark in test_each_trigger_is_noticed_in_the_bytes.pytestmark if mark.args[0] == ("name", "more")
    ]  # type: ignore[attr-defined]
    assert {name for name, _ in shown.args[1]} == {trigger.name for trigger in TRIGGERS}


def test_a_sound_tool_history_passes_as_it_is() -> None:
    """Agents send long ones every turn; they must not cost a parse."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":{"b":1}}'}}
    messages = [
        *HI,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '"tool" says {"arguments":{}}'},
    ]
    body, parse, _, raw = planned({"model": "m", "messages": messages, "tool_choice": "auto"})
    assert (body, parse) == (raw, False)


def test_text_that_looks_like_a_trigger_is_none() -> None:
    """Quotes inside text stand escaped (A18)."""
    body, parse, _, raw = planned(
        {"model": "m", "messages": [{"role": "user", "content": '"developer" "tool" {"tool_choice":{"a":1}}'}]}
    )
    assert (body, parse) == (raw, False)


def test_normalising_changes_what_needs_it() -> None:
    """All rows together, and the two that need no table."""
    body = {
        "model": "caller",
        "stream": True,
        "stream_options": None,
        "seed": None,
        "tools": [
            {"type": "function", "function": {"name": "f", "description": None}},
            {"type": "function", "function": {"name": "g"}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "messages": [
            {"role": "user", "content": "a"},
            {
                "role": "assistant",
                "tool_calls": [{"id": None, "type": "function", "function": {"name": "echo", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": None, "content": "x"},
            {"role": "developer", "content": "B"},
        ],
        "x_unknown": {"kept": None},
    }
    assert normalise(body, "child").body == {
        "model": "child",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": "required",
        "messages": [
            {"role": "system", "content": "B"},
            {"role": "user", "content": "a"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "call_1_0", "type": "function", "function": {"name": "echo", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "call_1_0", "content": "x"},
        ],
        "x_unknown": {"kept": None},
    }


def test_normalising_leaves_what_needs_nothing() -> None:
    """A parse costs time, never a difference."""
    body = {"model": "m", "messages": HI, "stream": False, "odd": [None]}
    assert normalise(json.loads(json.dumps(body)), "m").body == body


@pytest.mark.parametrize(
    ("think", "told"),
    [
        (False, {"enable_thinking": False}),
        (True, {"enable_thinking": True}),
        ("low", {"enable_thinking": True, "reasoning_effort": "low"}),
    ],
)
def test_a_wish_for_thinking_reaches_the_template(think: Any, told: dict[str, Any]) -> None:
    """Beside what the caller tells it; the field itself is no engine's (D15)."""
    body = {"model": "m", "messages": HI, "think": think, "chat_template_kwargs": {"own": 1}}
    made = normalise(body, "m")
    assert made.body == {"model": "m", "messages": HI, "chat_template_kwargs": {"own": 1, **told}}
    assert made.warnings == ()


def test_a_wish_for_thinking_that_nobody_can_read_is_refused() -> None:
    """By its name; where no template is asked it has no effect, and variables that are none are left to the engine."""
    with pytest.raises(Malformed) as refused:
        normalise({"model": "m", "messages": HI, "think": "often"}, "m")
    assert refused.value.field == "think"
    assert normalise({"model": "m", "prompt": "a", "think": False}, "m").warnings == (
        "ignored; 'think' has no effect here",
    )
    odd = {"model": "m", "messages": HI, "think": False, "chat_template_kwargs": 7}
    assert normalise(odd, "m").body["chat_template_kwargs"] == 7


def test_a_completion_has_a_prompt() -> None:
    """No messages are needed there."""
    assert normalise({"model": "m", "prompt": [1, 2]}, "c").body == {"model": "c", "prompt": [1, 2]}


@pytest.mark.parametrize("body", [None, [], "x", 7])
def test_what_is_no_object_is_refused(body: Any) -> None:
    """With a 400 (A21)."""
    with pytest.raises(Malformed):
        check(body)


@pytest.mark.parametrize(
    ("body", "field"), [({}, "messages"), ({"messages": None}, "messages"), ({"messages": [1]}, "messages[0]")]
)
def test_missing_messages_are_named(body: Any, field: str) -> None:
    """By field."""
    with pytest.raises(Malformed) as refused:
        check(body)
    assert refused.value.field == field


def test_a_conversation_of_nothing_is_refused() -> None:
    """An engine would make up an answer to it, of any length."""
    with pytest.raises(Malformed, match="at least one message") as refused:
        normalise({"model": "m", "messages": []}, "c")
    assert refused.value.field == "messages"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [(None, False), ({}, False), ({"include_usage": True}, True), ({"include_usage": 1}, False), ("x", False)],
)
def test_who_wants_usage(options: Any, wanted: bool) -> None:
    """Only a true is a wish."""
    assert wants_usage(options) is wanted


def test_a_buffered_reply_names_the_callers_model() -> None:
    """The first `model` of the object, never text (A22); untouched where it is right."""
    raw = b'{"choices":[{"message":{"content":"\\"model\\":\\"x\\""}}],"model":"/srv/a.gguf","usage":{}}'
    assert json.loads(reply_bytes(raw, 'my"name')) == {**json.loads(raw), "model": 'my"name'}
    assert reply_bytes(raw, "/srv/a.gguf") is raw
    assert reply_bytes(b"{}", "m") == b"{}"


def test_every_trigger_says_why() -> None:
    """The table explains itself, and every name is used once."""
    assert all(trigger.why for trigger in TRIGGERS)
    assert len({trigger.name for trigger in TRIGGERS}) == len(TRIGGERS)


def test_a_grammar_goes_where_the_engine_looks_for_it() -> None:
    """Beside tools the tools win, as over every form (E9); a raw completion has no such field."""
    form = {"type": "gbnf", "grammar": "root ::= x"}
    body = normalise({"model": "m", "messages": list(HI), "response_format": form}, "m").body
    assert (body["grammar"], "response_format" in body) == ("root ::= x", False)
    outcome = normalise({"model": "m", "messages": list(HI), "response_format": form, "tools": [{}]}, "m")
    assert not {"grammar", "response_format"} & outcome.body.keys()
    assert outcome.warnings == ("ignored; 'response_format' has no effect here",)
    assert "grammar" not in normalise({"model": "m", "prompt": "x", "response_format": form}, "m").body


@pytest.mark.parametrize("form", [{"type": "gbnf"}, {"type": "gbnf", "grammar": 5}])
def test_a_grammar_that_is_none_is_named(form: dict[str, Any]) -> None:
    """By its own place."""
    with pytest.raises(Malformed) as caught:
        normalise({"model": "m", "messages": list(HI), "response_format": form}, "m")
    assert caught.value.field == "response_format.grammar"


def test_arguments_that_are_no_object_are_handed_on_and_told() -> None:
    """A cut call in the history must not fail the conversation, nor pass for a whole one."""
    cut = SOUND | {"function": {"name": "f", "arguments": '{"path": "/etc'}}
    outcome = normalise({"messages": [*HI, called(cut)]}, "m")
    assert outcome.body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"raw":"{\\"path\\": \\"/etc"}'
    assert "messages[1].tool_calls[0]" in outcome.warnings[0]


def test_one_call_may_be_all_that_was_asked_for() -> None:
    """Of every choice; an answer that has no more stays as it is, and so does what is none."""
    two = {"choices": [{"message": {"tool_calls": [1, 2]}}, {"message": {"tool_calls": [3]}}, {"message": None}, 5]}
    assert first_call_alone(two)
    assert two["choices"][:2] == [{"message": {"tool_calls": [1]}}, {"message": {"tool_calls": [3]}}]
    assert not first_call_alone(two)
    assert not first_call_alone([])


WORDS = (
    *(
        "null",
        "tool",
        "tools",
        "tool_calls",
        "tool_choice",
        "tool_call_id",
        "system",
        "developer",
        "user",
        "arguments",
        "gbnf",
    ),
    *(
        "think",
        "parameters",
        "$ref",
        "ref",
        "file",
        "custom",
        "image_url",
        "_url",
        "input_audio",
        "messages",
        "function",
    ),
    *("response_format", "json_schema", "type", "id", "role", "content"),
)
PIECES = st.lists(
    st.one_of(
        st.sampled_from(WORDS).map(lambda word: f'"{word}"'.encode()),
        st.sampled_from(
            [
                b"null",
                b":",
                b": ",
                b",",
                b"{",
                b"}",
                b"[",
                b"]",
                b"[ ]",
                b'"messages": []',
                b"\\u0041",
                b"\\u00e4",
                b"1",
            ]
        ),
        st.sampled_from([b"{" * 999, b"{" * 1001]),
    ),
    max_size=14,
)


@given(PIECES)
def test_what_is_plain_is_suspected_by_nobody(pieces: list[bytes]) -> None:
    """The quick look may only spare the triggers, never overrule one; short bodies and long ones are looked at in two ways."""
    for raw in (b"".join(pieces), b"".join(pieces) + b" " * 1024):
        assert not plain(raw) or not any(trigger.suspects(raw) for trigger in TRIGGERS)


def test_most_chats_are_plain() -> None:
    """Else the quick look would only cost."""
    assert plain(b'{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.5,"stream":true}')
