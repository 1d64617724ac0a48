"""ollama's requests and whole answers."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.context import packed, unpacked
from blazar.domain.wire.delta import Finish, Usage
from blazar.domain.wire.ollama import (
    OPTIONS,
    chat_request,
    closing_facts,
    embed_request,
    embed_warnings,
    extra_of,
    generate_request,
    legacy_embed_request,
    load_reply,
    reply,
)
from blazar.domain.wire.request import ENDLESS, ignored
from blazar.domain.wire.tools import Call
from blazar.domain.wire.turn import Shape, Turn

HI = [{"role": "user", "content": "hi"}]
TURN = Turn("m:latest", wall=1_800_000_000.0, id="plm-1")


def chat(**more: Any) -> Any:
    return chat_request({"model": "m", "messages": HI, **more}, "child")


def generate(**more: Any) -> Any:
    return generate_request({"model": "m", **more}, "child")


def refused(read: Any) -> str | None:
    with pytest.raises(Malformed) as said:
        read()
    return said.value.field


def test_a_plain_chat() -> None:
    """Streaming is the default, the cache is the engine's (B15)."""
    request = chat()
    assert (request.path, request.stream, request.shape, request.load_only) == (
        "/v1/chat/completions",
        True,
        Shape.CHAT,
        False,
    )
    assert request.body == {
        "model": "child",
        "messages": HI,
        "cache_prompt": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert request.warnings == ()
    assert chat(shift=False).body["cache_prompt"] is True


def test_not_streaming() -> None:
    """Only when it says so."""
    request = chat(stream=False)
    assert request.stream is False
    assert "stream_options" not in request.body


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": None}])
def test_no_messages_only_load(body: dict[str, Any]) -> None:
    """Whether it is a load or an unload, `keep_alive` decides."""
    request = chat_request({"model": "m", "keep_alive": 0, **body}, "child")
    assert request.load_only
    assert request.keep_alive == 0


def test_history_of_tools_becomes_openais() -> None:
    """Objects to text, names to ids (B16)."""
    calls = [{"function": {"name": "f", "arguments": {"a": 1}, "index": 0}}]
    request = chat(
        messages=[
            *HI,
            {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": calls},
            {"role": "tool", "tool_name": "f", "content": "x"},
        ]
    )
    assert request.body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "hm",
            "tool_calls": [{"id": "call_1_0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "call_1_0", "content": "x"},
    ]


def test_system_in_the_middle_is_merged() -> None:
    """The shared normaliser serves this dialect too (C1)."""
    request = chat(messages=[*HI, {"role": "system", "content": "B"}])
    assert request.body["messages"] == [{"role": "system", "content": "B"}, *HI]


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        ("iVBORw0KGgo=", "image/png"),
        ("iVBORw0KGgo", "image/png"),
        ("/9j/4AAQ", "image/jpeg"),
        ("R0lGODlh", "image/gif"),
        ("UklGRgAAAABXRUJQ", "image/webp"),
        ("Qk0=", "image/bmp"),
    ],
)
def test_images_become_data_urls(data: str, mime: str) -> None:
    """Ollama sends bare base64; the engine wants to know the format."""
    request = chat(messages=[{"role": "user", "content": "what", "images": [data]}])
    image = {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
    assert request.body["messages"][0]["content"] == [{"type": "text", "text": "what"}, image]
    assert generate(prompt="", images=[data]).body["messages"][0]["content"] == [image]


def test_options_are_translated() -> None:
    """Sampling to the child's names, the window to the caller, the rest into warnings."""
    options = {
        "num_predict": 9,
        "temperature": 0,
        "top_k": 3,
        "min_p": 0.1,
        "seed": 7,
        "stop": ["a"],
        "repeat_penalty": 1.1,
        "num_ctx": 4096,
        "num_gpu": 1,
        "use_mmap": None,
    }
    request = chat(options=options)
    expected = {
        "max_tokens": 9,
        "temperature": 0,
        "top_k": 3,
        "min_p": 0.1,
        "seed": 7,
        "stop": ["a"],
        "repeat_penalty": 1.1,
    }
    assert {key: request.body[key] for key in expected} == expected
    assert request.num_ctx == 4096
    assert request.warnings == ("ignored; 'options.num_gpu' has no effect here",)
    assert "n_ctx" not in request.body


@pytest.mark.parametrize("value", [0, -1, -2])
def test_no_limit_is_said(value: int) -> None:
    """Ollama's ways to say it (its runners only know bounds above 0); unsaid, a limit that a created model was started with would hold."""
    assert chat(options={"num_predict": value}).body["max_tokens"] == ENDLESS


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_the_wrong_type_is_refused(name: str) -> None:
    """By its name, before a child sees it."""
    assert refused(lambda: chat(options={name: {}})) == f"options.{name}"
    assert refused(lambda: chat(options={name: True})) == f"options.{name}"


@pytest.mark.parametrize("value", [0, -5, "4096", True, 2.5])
def test_a_window_that_is_none_is_refused(value: Any) -> None:
    """By its name."""
    assert refused(lambda: chat(options={"num_ctx": value})) == "options.num_ctx"


def test_fields_without_effect_are_named() -> None:
    """Nothing is dropped in silence; empty values are no wish."""
    request = generate(prompt="a", shift=True, truncate=True, logprobs=None, system="", context=[])
    assert request.warnings == ("ignored; 'shift' has no effect here",)
    assert generate(prompt="a", raw=True, truncate=False).warnings == ()
    assert generate(prompt="a", raw=True, truncate=True).warnings == ("ignored; 'truncate' has no effect here",)


@pytest.mark.parametrize(
    ("think", "kwargs", "shown"),
    [
        (None, None, True),
        (True, {"enable_thinking": True}, True),
        (False, {"enable_thinking": False}, False),
        ("low", {"enable_thinking": True, "reasoning_effort": "low"}, True),
    ],
)
def test_thinking(think: Any, kwargs: Any, shown: bool) -> None:
    """A switch for the template, and whether the caller sees any."""
    request = chat(think=think)
    assert request.body.get("chat_template_kwargs") == kwargs
    assert request.thinking is shown


def test_format() -> None:
    """A constraint; beside tools the tools win, and the answer says so (E9)."""
    assert chat(format="json").body["response_format"] == {"type": "json_object"}
    request = chat(
        format={"type": "object"}, tools=[{"type": "function", "function": {"name": "f", "description": None}}]
    )
    assert "response_format" not in request.body
    assert request.body["tools"] == [{"type": "function", "function": {"name": "f"}}]
    assert request.warnings == ("ignored; 'format' has no effect here",)
    assert generate(prompt="a", raw=True, format={"type": "object", "x": 1}).body["json_schema"] == {
        "type": "object",
        "x": 1,
    }
    assert generate(prompt="a", raw=True, format="json").body["json_schema"] == {"type": "object"}


def test_generate_is_a_turn() -> None:
    """Prompt and system go through the model's template."""
    request = generate(prompt="hi", system="be", think=True)
    assert request.path == "/v1/chat/completions"
    assert request.shape is Shape.GENERATE
    assert request.body["messages"] == [{"role": "system", "content": "be"}, *HI]
    assert request.body["chat_template_kwargs"] == {"enable_thinking": True}


def test_raw_goes_as_it_is() -> None:
    """To the completions route, without a template."""
    request = generate(prompt="<s>hi", raw=True, system="be", think=False)
    assert request.path == "/v1/completions"
    assert request.body["prompt"] == "<s>hi"
    assert "messages" not in request.body
    assert "chat_template_kwargs" not in request.body
    assert request.warnings == ("ignored; 'system' has no effect here",)


def test_a_suffix_asks_for_what_is_missing_between() -> None:
    """The child's own route for it; a system prompt has no place there and is named."""
    request = generate(prompt="a", suffix="b", system="s", options={"num_predict": 9}, stream=False)
    assert request.path == "/infill"
    assert (request.body["input_prefix"], request.body["input_suffix"]) == ("a", "b")
    assert request.body["max_tokens"] == 9
    assert "messages" not in request.body
    assert request.warnings == ("ignored; 'system' has no effect here",)
    assert not generate(suffix="b").load_only
    assert generate(prompt="a", suffix="").path == "/v1/chat/completions"


def test_the_constraint_is_the_one_that_was_asked_for() -> None:
    """What the receipt says (D19): nothing beside tools, nothing where the schema had to be simplified."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a$"}}}
    assert chat(format=schema).constraint == "json_schema"
    assert chat(format="json").constraint == "json_object"
    assert chat().constraint == ""
    assert chat(format=schema, tools=[{"type": "function", "function": {"name": "f"}}]).constraint == ""
    assert generate(prompt="a", raw=True, format="json").constraint == "json_object"
    assert generate(prompt="a", raw=True, format={"type": "string", "maxLength": 10**9}).constraint == ""
    assert generate(prompt="a", raw=True, format={"type": "string"}).schema == ("format", {"type": "string"}, False)


@pytest.mark.parametrize("body", [{}, {"prompt": ""}, {"prompt": None, "keep_alive": "5m"}])
def test_an_empty_prompt_only_loads(body: dict[str, Any]) -> None:
    """Both routes alike."""
    assert generate(**body).load_only
    assert not generate(prompt="a", **{key: value for key, value in body.items() if key != "prompt"}).load_only


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prompt": 7}, "prompt"),
        ({"prompt": "a", "suffix": 7}, "suffix"),
        ({"prompt": "a", "suffix": "b", "images": ["x"]}, "images"),
        ({"prompt": "a", "context": [1, 2]}, "context"),
        ({"prompt": "a", "raw": "yes"}, "raw"),
        ({"prompt": "a", "raw": True, "images": ["x"]}, "images"),
        ({"prompt": "a", "images": [7]}, "images"),
        ({"prompt": "a", "images": ["zzzz"]}, "images"),
        ({"prompt": "a", "images": ["no base64"]}, "images"),
        ({"prompt": "a", "stream": "no"}, "stream"),
        ({"prompt": "a", "options": []}, None),
        ({"prompt": "a", "options": [1]}, "options"),
        ({"prompt": "", "options": False}, "options"),
        ({"prompt": "a", "options": ""}, "options"),
        ({"prompt": "a", "options": {"temperature": False}}, "options.temperature"),
        ({"prompt": "a", "format": "xml"}, "format"),
        ({"prompt": "a", "think": "often"}, "think"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(body: dict[str, Any], field: str | None) -> None:
    """A 400 that names the field."""
    if field is None:
        generate(**body)  # an empty list for an object is what PHP clients send for {}
    else:
        assert refused(lambda: generate(**body)) == field


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ("x", "messages"),
        ([7], "messages[0]"),
        ([{"role": "user", "content": 7}], "messages[0].content"),
        ([{"role": "user", "images": "x"}], "messages[0].images"),
    ],
)
def test_messages_are_refused_by_their_place(messages: Any, field: str) -> None:
    """The sentence says which one."""
    assert refused(lambda: chat(messages=messages)) == field


def test_tools_are_objects() -> None:
    """Named by place where they are not."""
    assert refused(lambda: chat(tools=[{"function": {"name": "f"}}, 7])) == "tools[1]"


def test_the_callers_body_is_left_alone() -> None:
    """Requests may be retried."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi", "images": None}],
        "tools": [{"function": {"name": "f", "description": None}}],
    }
    before = repr(body)
    chat_request(body, "child")
    assert repr(body) == before


def test_load_replies() -> None:
    """Both shapes and both reasons."""
    assert load_reply(Shape.GENERATE, TURN, "load") == {
        "model": "m:latest",
        "created_at": "2027-01-15T08:00:00.000000Z",
        "response": "",
        "done": True,
        "done_reason": "load",
    }
    assert load_reply(Shape.CHAT, TURN, "unload")["message"] == {"role": "assistant", "content": ""}


def test_buffered_replies() -> None:
    """Everything a client reads, in both shapes."""
    answer = Answer(
        "a", "b", (Call("c1", "f", '{"x":1}'), Call("", "g", "")), Finish("tool_calls"), Usage(3, 4, 1, 1.5, 2.5)
    )
    said = reply(Shape.CHAT, TURN, answer, 0.5)
    assert said == {
        "model": "m:latest",
        "created_at": "2027-01-15T08:00:00.500000Z",
        "message": {
            "role": "assistant",
            "content": "a",
            "thinking": "b",
            "tool_calls": [
                {"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}},
                {"id": "call_plm-1_1", "function": {"index": 1, "name": "g", "arguments": {}}},
            ],
        },
        "done": True,
        "done_reason": "stop",
        "total_duration": 500_000_000,
        "prompt_eval_count": 3,
        "prompt_eval_duration": 1_500_000,
        "eval_count": 4,
        "eval_duration": 2_500_000,
    }
    plain = reply(Shape.GENERATE, TURN._replace(thinking=False), answer, 0.5)
    assert plain["response"] == "a"
    assert "thinking" not in plain


def test_load_duration_is_told_above_100_ms_only() -> None:
    """Below, the model was there."""
    finish, usage = Finish("length"), Usage(1, 1)
    assert "load_duration" not in closing_facts(TURN._replace(load_ns=100_000_000), finish, usage, (0, 1))
    told = closing_facts(TURN._replace(load_ns=150_000_000), finish, usage, (0.4, 1.0))
    assert told["load_duration"] == 150_000_000
    assert told["done_reason"] == "length"
    # Engines that time nothing: what we saw ourselves, the load apart.
    assert (told["prompt_eval_duration"], told["eval_duration"]) == (250_000_000, 600_000_000)


def test_embedding_requests() -> None:
    """One text or many, by either name of the field (B4)."""
    assert embed_request({"input": "a"}, "c") == {"model": "c", "input": ["a"], "encoding_format": "float"}
    assert embed_request({"input": ["a", "b"]}, "c")["input"] == ["a", "b"]
    assert (
        legacy_embed_request({"prompt": "a"}, "c")["input"]
        == legacy_embed_request({"input": "a"}, "c")["input"]
        == ["a"]
    )
    assert embed_warnings({"model": "m", "input": "a", "odd": 1, "keep_alive": "5m"}) == (
        "ignored; 'odd' has no effect here",
    )


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": None},
        {"input": [""]},
        {"input": [1]},
        {"input": 7},
    ],
)
def test_nothing_to_embed_is_refused(body: dict[str, Any]) -> None:
    """Never an empty vector (B4), never a length that is not honoured (M8)."""
    with pytest.raises(Malformed):
        embed_request(body, "c")


def test_odd_an_empty_text_to_embed_is_no_input() -> None:
    """It only loads the model, as clients of ollama do it."""
    assert embed_request({"input": ""}, "c")["input"] == embed_request({"input": []}, "c")["input"] == []


@pytest.mark.parametrize("body", [{}, {"prompt": None}, {"prompt": ""}, {"input": ""}, {"input": ["a"]}])
def test_the_old_route_refuses_too(body: dict[str, Any]) -> None:
    """With the field's name."""
    with pytest.raises(Malformed):
        legacy_embed_request(body, "c")


def test_a_context_goes_on_with_its_conversation() -> None:
    """The messages of the earlier turns stand before the prompt; a new system prompt takes the old one's place."""
    before = [{"role": "system", "content": "S"}, {"role": "user", "content": "one"}]
    context = packed(before, "two")
    got = generate_request({"model": "m", "prompt": "three", "context": context}, "m").body["messages"]
    answered = {"role": "assistant", "content": "two"}
    assert got == [*before, answered, {"role": "user", "content": "three"}]
    got = generate_request({"model": "m", "prompt": "three", "context": context, "system": "T"}, "m").body["messages"]
    assert got == [{"role": "system", "content": "T"}, before[1], answered, {"role": "user", "content": "three"}]


def test_a_context_means_nothing_to_a_raw_prompt() -> None:
    """No template is filled in there, so it is named as ignored."""
    request = generate_request({"model": "m", "prompt": "a", "raw": True, "context": [1]}, "m")
    assert ignored("context") in request.warnings


def test_an_answer_tells_its_context_unless_it_was_raw_or_a_chat() -> None:
    """What ollama's clients hand back next time."""
    body = {"model": "m", "prompt": "one"}
    extra = extra_of(body, generate_request(body, "m"))
    answer = Answer("two", "", (), Finish("stop"), Usage(1, 1))
    told = reply(Shape.GENERATE, Turn("m"), answer, 0.0, extra)
    assert unpacked(told["context"]) == [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    raw = {**body, "raw": True}
    assert "context" not in reply(Shape.GENERATE, Turn("m"), answer, 0.0, extra_of(raw, generate_request(raw, "m")))
    chat = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
    assert "context" not in reply(Shape.CHAT, Turn("m"), answer, 0.0, extra_of(chat, chat_request(chat, "m")))


def test_log_probabilities_are_asked_for_and_told() -> None:
    """A child is asked in its words; rows stand beside the message. A filled gap has none."""
    chat = {"model": "m", "messages": [{"role": "user", "content": "one"}], "logprobs": True, "top_logprobs": 2}
    request = chat_request(chat, "m")
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 2)
    row = {"token": "a", "logprob": -1.0, "top_logprobs": [{"token": "b", "logprob": -2.0}]}
    answer = Answer("a", "", (), Finish("stop"), Usage(1, 1), [{**row, "id": 3}])
    assert reply(Shape.CHAT, Turn("m"), answer, 0.0, extra_of(chat, request))["logprobs"] == [row]
    assert "logprobs" not in reply(Shape.CHAT, Turn("m"), answer, 0.0)
    gap = generate_request({"model": "m", "prompt": "a", "suffix": "b", "logprobs": True}, "m")
    assert ignored("logprobs") in gap.warnings
    assert "logprobs" not in gap.body


def test_a_template_of_the_requests_own_writes_the_prompt() -> None:
    """Here, and it goes raw; what was said before stands in it. Pictures have no place in it."""
    template = "{{ if .System }}({{ .System }}){{ end }}[{{ .Prompt }}]{{ .Response }};"
    body = {"model": "m", "prompt": "b", "system": "S", "template": template}
    request = generate_request({**body, "context": packed([{"role": "user", "content": "a"}], "A")}, "m")
    assert (request.path, request.body["prompt"]) == ("/v1/completions", "(S)[a]A;[b]")
    assert request.warnings == ()
    with pytest.raises(Malformed, match="Go"):
        generate_request({**body, "template": "{{ range .Messages }}"}, "m")
    with pytest.raises(Malformed, match="images"):
        generate_request({**body, "images": ["iVBOR"]}, "m")
    assert ignored("template") in generate_request({**body, "raw": True}, "m").warnings
