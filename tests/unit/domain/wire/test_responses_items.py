"""Items of the Responses dialect into messages, and as they are kept."""

import base64
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.responses_items import (
    Attached,
    Talk,
    file_ids,
    item_id,
    items_of,
    kept_items,
    opened,
    references,
    response_id,
    response_of,
    sealed,
    thought_of,
)

TOKEN = "0123456789abcdef" * 2
PNG = "data:image/png;base64,iVBORw0KGgo="


def talked(value: Any) -> tuple[list[dict[str, Any]], list[str]]:
    warnings: list[str] = []
    talk = Talk(warnings)
    for at, item in enumerate(items_of(value)):
        talk.add(item, f"input[{at}]")
    return talk.messages(), warnings


def call(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"c_{name}", "name": name, "arguments": "{}", **more}


def part(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [content]}


@pytest.mark.parametrize(
    "value",
    [
        "x",
        [{"role": "user", "content": "x"}],
        [{"type": None, "role": "user", "content": "x"}],
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}],
    ],
)
def test_a_message_needs_no_type(value: Any) -> None:
    """Whatever has a role is one (A27)."""
    assert talked(value) == ([{"role": "user", "content": "x"}], [])


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "input"),
        (5, "input"),
        ([{}], "input[0]"),
        (["x"], "input[0]"),
        ([{"role": "user", "content": "x"}, {"content": "y"}], "input[1]"),
        ([{"role": "robot", "content": "x"}], "input[0].role"),
        ([{"role": ["user"], "content": "x"}], "input[0].role"),
        ([{"role": "user", "content": 5}], "input[0].content"),
        ([part(5)], "input[0].content[0]"),
        ([part({"type": "input_text", "text": 5})], "input[0].content[0].text"),
        ([part({"type": "input_audio"})], "input[0].content[0]"),
        ([part({"type": ["input_text"]})], "input[0].content[0]"),
        ([part({"type": "input_image", "image_url": "http://x/y.png"})], "input[0].content[0].image_url"),
        (
            [part({"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8="})],
            "input[0].content[0].image_url",
        ),
        ([part({"type": "input_image", "file_id": 5})], "input[0].content[0].image_url"),
        ([part({"type": "input_file", "file_url": "http://x/y"})], "input[0].content[0]"),
        ([part({"type": "input_file", "file_data": "data:application/pdf;base64,/w=="})], "input[0].content[0]"),
        ([{"type": "function_call", "call_id": "c"}], "input[0].name"),
    ],
)
def test_what_cannot_be_understood_is_named_by_its_place(value: Any, field: str) -> None:
    """A 400 with the index."""
    with pytest.raises(Malformed) as caught:
        talked(value)
    assert caught.value.field == field


def test_one_turn_of_a_model_is_one_message() -> None:
    """Thought, text and every call of it, as chat templates want them."""
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}]}
    answers = [{"type": "function_call_output", "call_id": f"c_{name}", "output": name} for name in "fg"]
    messages, _ = talked([{"role": "user", "content": "x"}, thought, said, call("f"), call("g"), *answers])
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool"]
    assert messages[1]["reasoning_content"] == "hm"
    assert messages[1]["content"] == "ab"
    assert [each["function"]["name"] for each in messages[1]["tool_calls"]] == ["f", "g"]
    assert messages[3] == {"role": "tool", "tool_call_id": "c_g", "content": "g"}


def test_calls_of_two_turns_stay_apart() -> None:
    """A tool's answer between them ends the first message."""
    output = {"type": "function_call_output", "call_id": "c_f", "output": "1"}
    messages, _ = talked([call("f"), output, call("g")])
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]


def test_a_thought_that_led_to_nothing_is_dropped() -> None:
    """It must not be taken for one of a later turn."""
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "old"}]}
    messages, _ = talked([thought, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}])
    assert messages == [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]


def test_arguments_are_text_whatever_they_came_as() -> None:
    """Objects and nothing are written down as JSON (A17); a custom call's text becomes the one parameter."""
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "p", "input": 'a"b'}
    messages, _ = talked([call("f", arguments={"a": 1}), call("g", arguments=None), custom, call("h", namespace="ns")])
    functions = [each["function"] for each in messages[0]["tool_calls"]]
    assert [each["arguments"] for each in functions] == ['{"a":1}', "{}", '{"input":"a\\"b"}', "{}"]
    assert functions[3]["name"] == "ns__h"


def test_arguments_that_were_cut_are_told_as_such() -> None:
    """Under `raw`, as every dialect has it, and the caller hears of it by the place in its own words."""
    messages, warnings = talked([call("f", arguments='{"a":')])
    assert messages[0]["tool_calls"][0]["function"]["arguments"] == '{"raw":"{\\"a\\":"}'
    assert warnings[0].startswith("rewritten; 'input[0].arguments'")


def test_pictures_of_a_tool_follow_its_answers() -> None:
    """A tool message is text; what is to be looked at is shown behind all answers."""
    shown = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": PNG}]
    outputs = [
        {"type": "function_call_output", "call_id": "c_f", "output": shown},
        {"type": "custom_tool_call_output", "call_id": "c_g", "output": "g"},
    ]
    messages, _ = talked([call("f"), call("g"), *outputs])
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user"]
    assert messages[1]["content"] == "see"
    assert messages[3]["content"] == [{"type": "image_url", "image_url": {"url": PNG}}]


@pytest.mark.parametrize("data", ["aGk=", "data:text/plain;base64,aGk="])
def test_a_text_file_is_its_text(data: str) -> None:
    """Behind its name, as bare base64 or a data: URL."""
    given = {"type": "input_file", "filename": "a.txt", "file_data": data}
    assert talked([part(given)])[0] == [{"role": "user", "content": "a.txt\nhi"}]


def test_files_that_were_sent_before_are_named() -> None:
    """A text, a picture; what is neither is a 400 by its place."""
    items = [
        part({"type": "input_file", "file_id": "file-a"}),
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "file_id": "file-b"}]},
    ]
    assert file_ids(items) == ("file-a", "file-b")
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    talk = Talk([], {"file-a": Attached("a.txt", b"hi"), "file-b": Attached("b.png", png)})
    for at, item in enumerate(items_of([{"type": "message", **items[0]}, items[1]])):
        talk.add(item, f"input[{at}]")
    said, _, shown = talk.messages()
    assert said["content"] == "a.txt\nhi"
    assert shown["content"][0]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    for kind, data in (("input_image", b"text"), ("input_file", b"\xff"), ("input_file", b"%PDF-1.4 of letters")):
        with pytest.raises(Malformed) as caught:
            Talk([], {"f": Attached("f", data)}).add(
                {"type": "message", **part({"type": kind, "file_id": "f"})}, "input[0]"
            )
        assert caught.value.field == "input[0].content[0]"


def test_files_that_were_not_looked_up_yet_are_no_mistake() -> None:
    """The request is read once before, to see what it names."""
    talk = Talk([])
    for kind in ("input_image", "input_file"):
        talk.add({"type": "message", **part({"type": kind, "file_id": "f"})}, "input[0]")
    assert len(talk.messages()) == 2


def test_a_picture_stands_among_texts() -> None:
    """Then the content stays in parts."""
    given = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": {"url": PNG}}]
    (message,) = talked([{"role": "user", "content": given}])[0]
    assert [each["type"] for each in message["content"]] == ["text", "image_url"]


def test_items_of_tools_that_are_run_elsewhere_are_named() -> None:
    """They mean nothing to a local model."""
    assert talked([{"type": "web_search_call", "id": "ws_1"}])[1] == ["ignored; 'input[0]' has no effect here"]


def test_ids_lead_back_to_their_response() -> None:
    """So that a reference to an item finds it; anything else leads nowhere."""
    assert item_id("message", TOKEN, 3) == f"msg_{TOKEN}0003"
    assert response_of(item_id("reasoning", TOKEN, 1)) == response_id(TOKEN)
    assert [response_of(id_) for id_ in ("", "msg_1", f"resp_{TOKEN}", f"msg_{TOKEN}00zz")] == [""] * 4


def test_references_are_read_with_and_without_a_type() -> None:
    """An id alone refers to an item."""
    items = items_of([{"type": "item_reference", "id": "a"}, {"id": "b"}, {"role": "user", "content": "x"}])
    assert references(items) == ("a", "b")


def test_kept_items_look_as_the_service_lists_them() -> None:
    """Each with an id, a status, and content in parts; an id of the caller's stays."""
    items = items_of(
        [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {**call(), "id": "fc_mine"}]
    )
    user, assistant, called = kept_items(items, TOKEN)
    assert user["id"] == f"msg_{TOKEN}8000"
    assert user["content"] == [{"type": "input_text", "text": "x"}]
    assert assistant["content"] == [{"type": "output_text", "text": "y", "annotations": []}]
    assert called["id"] == "fc_mine"
    assert {item["status"] for item in (user, assistant, called)} == {"completed"}


def test_odd_encrypted_content_is_the_thought_in_base64() -> None:
    """It comes back only from where it went; another server's is passed over."""
    assert opened(sealed("thöught")) == "thöught"
    assert thought_of({"summary": [], "encrypted_content": sealed("x")}) == "x"
    assert thought_of({"content": None, "summary": [{"text": "s"}], "encrypted_content": sealed("x")}) == "s"
    assert [opened(text) for text in ("gAAAA-_", base64.b64encode(b"\xff").decode(), "")] == ["", "", ""]
