"""Kept chat completions: the whole out of what was sent."""

import json
from typing import Any

import pytest

from blazar.domain.wire.delta import Usage
from blazar.domain.wire.stored_chat import StoredChat, listed_messages, packed_chat, stored_chat, unpacked_chat
from tests.support.lane_rig import DONE, chunk, usage_chunk, whole_chat

REQUEST = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "metadata": {"a": "b"}, "seed": 1}


def call(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def stored(sent: bytes, *, stream: bool = True) -> StoredChat:
    found = stored_chat(REQUEST, sent, stream=stream)
    assert found is not None
    return found


def test_a_whole_answer_is_kept_as_it_was_sent() -> None:
    """With what was attached and asked for, and the messages."""
    found = stored(whole_chat("hello"), stream=False)
    sent = json.loads(whole_chat("hello"))
    assert found.completion["choices"] == sent["choices"]
    assert found.completion["usage"] == sent["usage"]
    assert (found.completion["metadata"], found.completion["seed"]) == ({"a": "b"}, 1)
    assert found.messages == REQUEST["messages"]


def test_a_stream_is_put_together() -> None:
    """Text, thoughts, calls in pieces, the finish and the counts make the answer that a buffered one would have been."""
    pieces = [
        chunk("Hel", role="assistant"),
        chunk("lo", reasoning_content="hm"),
        chunk(tool_calls=[call(1, "c1", "g", "{}"), call(0, "c0", "f", '{"a"')]),
        chunk(tool_calls=[call(0, None, None, ":1}")]),
        chunk(finish="tool_calls"),
        usage_chunk(),
        DONE,
    ]
    completion = stored(b"".join(pieces)).completion
    (choice,) = completion["choices"]
    assert choice["message"]["content"] == "Hello"
    assert choice["message"]["reasoning_content"] == "hm"
    assert choice["message"]["role"] == "assistant"
    functions = [each["function"] for each in choice["message"]["tool_calls"]]
    assert functions == [{"name": "f", "arguments": '{"a":1}'}, {"name": "g", "arguments": "{}"}]
    assert (choice["finish_reason"], completion["object"], completion["id"]) == ("tool_calls", "chat.completion", "c1")
    assert completion["usage"]["prompt_tokens"] == 11


def test_a_stream_without_counts_gets_those_that_are_known() -> None:
    """Its caller did not ask to be told; what was told stands."""
    bare = b"".join([chunk("Hi"), chunk(finish="stop"), DONE])
    told = b"".join([chunk("Hi"), chunk(finish="stop"), usage_chunk(), DONE])
    for sent, prompt in ((bare, 3), (told, 11)):
        found = stored_chat(REQUEST, sent, stream=True, usage=Usage(3, 2, cached=1))
        assert found is not None
        assert found.completion["usage"]["prompt_tokens"] == prompt
    assert "usage" not in stored(bare).completion


def test_several_choices_stay_apart() -> None:
    """By their index, with what each token weighed."""
    events = [
        {"id": "c", "choices": [{"index": at, "delta": {"content": str(at)}, "logprobs": {"content": [at]}}]}
        for at in (1, 0, 1)
    ]
    sent = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events) + DONE
    first, second = stored(sent).completion["choices"]
    assert (first["message"]["content"], second["message"]["content"]) == ("0", "11")
    assert second["logprobs"] == {"content": [1, 1]}


@pytest.mark.parametrize(
    ("sent", "stream"),
    [
        (b"", True),
        (chunk("x"), True),
        (chunk("x") + b'data: {"error":{"message":"gone"}}\n\n', True),
        (b"data: {\n\n" + DONE, True),
        (DONE, True),
        (b"data: []\n\n" + DONE, True),
        (b'data: {"choices":["x"]}\n\n' + DONE, True),
        (b'data: {"choices":[{"delta":{"tool_calls":5}}]}\n\n' + DONE, True),
        (b"", False),
        (b"[]", False),
        (b'{"id":"x","choices":[]}', False),
        (b'{"choices":[{}]}', False),
    ],
)
def test_what_is_no_whole_answer_is_not_kept(sent: bytes, stream: bool) -> None:
    """A cut stream, an error, or nothing."""
    assert stored_chat(REQUEST, sent, stream=stream) is None


def test_what_was_written_down_is_read_again() -> None:
    """Answer and messages."""
    found = stored(whole_chat("ü"), stream=False)
    assert unpacked_chat(packed_chat(found)) == found


def test_messages_are_listed_with_ids_and_texts() -> None:
    """Parts stand beside their text."""
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    rows = listed_messages(
        StoredChat({"id": "c"}, [{"role": "system", "content": "s"}, {"role": "user", "content": parts}])
    )
    assert [row["id"] for row in rows] == ["c-0", "c-1"]
    assert [row["content"] for row in rows] == ["s", "look"]
    assert [row["content_parts"] for row in rows] == [None, parts]
