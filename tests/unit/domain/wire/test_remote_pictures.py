"""Where requests name pictures by their address."""

import json
from typing import Any

import pytest

from blazar.domain.wire.remote_pictures import base64_of, is_picture, may_name_addresses, mime_of, remote_pictures

URL = "https://example.com/cat.png"


def message(*parts: Any) -> dict[str, Any]:
    """A request with one message of these parts."""
    return {"messages": [{"role": "user", "content": list(parts)}]}


@pytest.mark.parametrize(
    ("body", "field", "after"),
    [
        (
            message({"type": "image_url", "image_url": {"url": URL, "detail": "low"}}),
            "messages[0].content[0].image_url",
            message({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}),
        ),
        (
            message({"type": "text", "text": URL}, {"type": "image", "source": {"type": "url", "url": URL}}),
            "messages[0].content[1].source.url",
            message(
                {"type": "text", "text": URL},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
            ),
        ),
        (
            message({"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": URL}}]}),
            "messages[0].content[0].content[0].source.url",
            message(
                {
                    "type": "tool_result",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
                    ],
                }
            ),
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": URL}]}]},
            "input[0].content[0].image_url",
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}
                ]
            },
        ),
        ({"prompt": "x", "images": ["BB", URL]}, "images[1]", {"prompt": "x", "images": ["BB", "AA"]}),
        ({"messages": [{"images": [URL]}]}, "messages[0].images[0]", {"messages": [{"images": ["AA"]}]}),
    ],
)
def test_every_dialects_place_is_known(body: dict[str, Any], field: str, after: dict[str, Any]) -> None:
    """Found, named as the caller knows it, and replaced by the data in the dialect's own words."""
    assert may_name_addresses(json.dumps(body).encode())
    (remote,) = remote_pictures(body)
    assert (remote.url, remote.field) == (URL, field)
    remote.put("image/png", "AA")
    assert body == after


@pytest.mark.parametrize(
    "body",
    [
        message({"type": "text", "text": URL}),
        message({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}),
        message({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}),
        message({"type": "video_url", "video_url": {"url": URL}}),
        message({"type": "image_url", "image_url": None}, None, 7),
        {"messages": URL, "input": {"content": URL}, "images": URL},
        {"messages": [URL, {"content": URL}]},
        [],
    ],
)
def test_what_is_no_picture_at_an_address_is_left(body: Any) -> None:
    """Text about one, data, other schemes and other media: whoever reads the request has the say."""
    assert remote_pictures(body) == []


def test_text_is_not_worth_a_look() -> None:
    """An agent's history is full of addresses, and of JSON inside strings."""
    said = json.dumps(message({"type": "text", "text": json.dumps({"url": URL, "image_url": URL})}))
    assert not may_name_addresses(said.encode())
    assert not may_name_addresses(b'{"messages":[{"content":"http://x"}]}')


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"RIFF1234WEBPVP8 ", "image/webp"),
        (b"GIF89a", "image/gif"),
        (b"BM....", "image/bmp"),
        (b"<html>", ""),
        (b"", ""),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(data: bytes, mime: str) -> None:
    """Never by what its server calls it."""
    assert mime_of(data) == mime


def test_data_travels_as_base64() -> None:
    """Without line breaks."""
    assert base64_of(b"\0" * 100) == "AAAA" * 33 + "AA=="


@pytest.mark.parametrize("text", ["iVBORw0KGgo=", "iVBORw0KGgo", "R0lGODlh", "Qk0=", "/9j/4AAQ", "UklGRgAAAABXRUJQ"])
def test_a_picture_is_base64_of_one(text: str) -> None:
    """Alone, or as a data: URL; what its media type says is not asked."""
    assert is_picture(text)
    assert is_picture(f"data:image/png;base64,{text}")
    assert is_picture(f"DATA:image/jpeg;base64,{text}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "aGVsbG8=",
        "!!",
        "\N{SNOWMAN}",
        "data:",
        "data:image/png;base64,",
        "data:image/png,iVBORw0KGgo=",
        "iVBO\nRw0KGgo=",
    ],
)
def test_what_is_no_picture_is_known_before_an_engine_sees_it(text: str) -> None:
    """It would answer with a failure of its own. Line breaks end base64 for llama.cpp."""
    assert not is_picture(text)
