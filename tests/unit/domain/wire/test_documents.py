"""Files in a request: the text of those that are one."""

import base64
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.documents import inline_files, refuse_custom_tools, text_in, text_of_base64
from blazar.domain.wire.openai import normalise


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def body_of(file: Any) -> dict[str, Any]:
    """A chat with a text and a file."""
    parts = [{"type": "text", "text": "see"}, {"type": "file", "file": file}]
    return {"model": "m", "messages": [{"role": "user", "content": parts}]}


@pytest.mark.parametrize("media", ["", "text/plain", "text/x-python", "application/json", "application/octet-stream"])
def test_what_is_text_is_read(media: str) -> None:
    """Without the mark that editors put before it."""
    assert text_in("\ufeffé %PDF-".encode(), media) == "é %PDF-"


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (b"%PDF-1.4 of letters", ""),
        (b"\n%PDF-1.4 of letters", "text/plain"),
        (b"plain", "application/pdf"),
        (b"plain", "Image/png"),
        (b"PK\0", ""),
        (b"\xff", "text/plain"),
    ],
)
def test_what_is_none_is_not(data: bytes, media: str) -> None:
    """A document of another kind may be made of letters all the same: what it is called and how it begins tell it."""
    with pytest.raises(ValueError):
        text_in(data, media)


def test_base64_may_say_its_media_type() -> None:
    """As a data: URL."""
    assert text_of_base64(encoded(b"hi")) == text_of_base64(f"data:text/plain;base64,{encoded(b'hi')}") == "hi"
    for odd in (f"data:application/pdf;base64,{encoded(b'hi')}", "data:", "!", "é"):
        with pytest.raises(ValueError):
            text_of_base64(odd)


def test_a_file_of_a_chat_is_its_text_behind_its_name() -> None:
    """And the request counts as changed, so that its own bytes do not go to the child."""
    body = body_of({"filename": "a.txt", "file_data": encoded(b"hi")})
    outcome = normalise(body, "m")
    assert outcome.same is False
    assert outcome.body["messages"][0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "text", "text": "a.txt\nhi"},
    ]
    assert normalise({"model": "m", "messages": [{"role": "user", "content": "x"}]}, "m").same is True


@pytest.mark.parametrize(
    ("file", "field"),
    [
        (None, "messages[0].content[1].file"),
        ({"file_id": "file-a"}, "messages[0].content[1]"),
        ({"file_data": 5}, "messages[0].content[1]"),
        ({"file_data": encoded(b"%PDF-1.4")}, "messages[0].content[1]"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(file: Any, field: str) -> None:
    """By its place."""
    with pytest.raises(Malformed) as refused:
        inline_files(body_of(file))
    assert refused.value.field == field


def test_a_custom_tool_of_a_chat_is_named() -> None:
    """Functions pass."""
    function = {"type": "function", "function": {"name": "f"}}
    refuse_custom_tools({"tools": [function]})
    with pytest.raises(Malformed, match="a tool of a chat is a function") as refused:
        refuse_custom_tools({"tools": [function, {"type": "custom", "custom": {"name": "f"}}]})
    assert refused.value.field == "tools[1]"
