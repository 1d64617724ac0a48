"""Anthropic's content blocks."""

import base64
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.anthropic_blocks import messages_of, system_messages


def turned(role: str, content: Any, warnings: list[str] | None = None) -> list[dict[str, Any]]:
    return messages_of({"role": role, "content": content}, "messages[0]", [] if warnings is None else warnings)


def test_text_stays_text() -> None:
    """A string as it is, text blocks joined."""
    assert turned("user", '["a"]') == [{"role": "user", "content": '["a"]'}]
    blocks = [{"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "b"}]
    assert turned("user", blocks) == [{"role": "user", "content": "a\nb"}]
    assert turned("assistant", blocks) == [{"role": "assistant", "content": "a\nb"}]
    assert turned("user", []) == [{"role": "user", "content": ""}]


def test_images() -> None:
    """Base64 becomes a data URL, a URL stays one."""
    blocks = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "text", "text": "what"},
    ]
    assert turned("user", blocks)[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "text", "text": "what"},
    ]


@pytest.mark.parametrize(
    "source",
    [
        None,
        {},
        "x",
        {"type": "base64"},
        {"type": "base64", "data": "A"},
        {"type": "base64", "data": "no base64", "media_type": "image/png"},
        {"type": "base64", "data": "AAA", "media_type": "image/png"},
        {"type": "base64", "data": "ÄÄÄÄ", "media_type": "image/png"},
        {"type": "base64", "data": "A", "media_type": "text/html"},
        {"type": "url"},
        {"type": "url", "url": ""},
        {"type": "file", "file_id": "f"},
    ],
)
def test_malformed_images_are_refused(source: Any) -> None:
    """Fail fast, in the sentence of the contract."""
    with pytest.raises(Malformed) as said:
        turned("user", [{"type": "image", "source": source}])
    assert str(said.value) == teaching.image_source_invalid()
    assert said.value.field == "messages[0].content[0]"


def test_what_is_no_picture_is_refused_by_its_place() -> None:
    """An engine would fail at it as if the fault were its own."""
    source = {"type": "base64", "data": "AAAA", "media_type": "image/png"}
    with pytest.raises(Malformed, match=r"'messages\[0\].content\[0\].source.data' must be a picture"):
        turned("user", [{"type": "image", "source": source}])


def test_thinking_goes_where_templates_look() -> None:
    """And what only Anthropic can read is dropped (C10)."""
    blocks = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "zz"},
        {"type": "text", "text": "a"},
    ]
    warnings: list[str] = []
    assert turned("assistant", blocks, warnings) == [{"role": "assistant", "content": "a", "reasoning_content": "t"}]
    assert warnings == []


def test_tool_use() -> None:
    """A call with its id; no text beside it is a null content."""
    (message,) = turned("assistant", [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": "é"}}])
    assert message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": '{"a":"é"}'}}],
    }
    with pytest.raises(Malformed, match="name"):
        turned("assistant", [{"type": "tool_use", "id": "x"}])


def test_tool_results_come_first() -> None:
    """They must follow the calls at once; a picture in one is shown by the user after them."""
    picture = {"type": "image", "source": {"type": "url", "url": "u"}}
    blocks = [
        {"type": "text", "text": "see"},
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "2"}, picture],
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    assert turned("user", blocks) == [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: 2"},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
    ]
    assert turned("user", blocks[1:2]) == [{"role": "tool", "tool_call_id": "a", "content": "1"}]


def test_documents() -> None:
    """Text in every form; anything else is refused with a way out."""
    raw = base64.b64encode("é".encode()).decode()
    blocks = [
        {"type": "document", "title": "T", "source": {"type": "text", "data": "a"}},
        {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": raw}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "c"}]}},
    ]
    assert turned("user", blocks) == [{"role": "user", "content": "T\na\né\nc"}]
    for source in (
        {"type": "base64", "media_type": "application/pdf", "data": raw},
        {"type": "url", "url": "u"},
        {"type": "base64", "media_type": "text/plain", "data": "!"},
        {"type": "base64", "media_type": "text/plain", "data": base64.b64encode(b"%PDF-1.4 of letters").decode()},
        None,
    ):
        with pytest.raises(Malformed):
            turned("user", [{"type": "document", "source": source}])


def test_blocks_without_meaning_here_are_named() -> None:
    """What Anthropic's servers produced and replayed history carries."""
    warnings: list[str] = []
    turned("assistant", [{"type": "server_tool_use", "id": "x"}, {"type": "text", "text": "a"}], warnings)
    turned("user", [{"type": "search_result"}], warnings)
    assert warnings == ["ignored; 'messages[0].content[0]' has no effect here"] * 2


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "tool", "content": "x"}, "messages[0].role"),
        ({"role": "user"}, "messages[0].content"),
        ({"role": "user", "content": 7}, "messages[0].content"),
        ({"role": "user", "content": ["x"]}, "messages[0].content[0]"),
        ({"role": "user", "content": [{"type": "text"}]}, "messages[0].content[0].text"),
        ({"role": "user", "content": [{"type": "tool_result", "content": 7}]}, "messages[0].content[0].content"),
    ],
)
def test_what_is_malformed_is_named(message: dict[str, Any], field: str) -> None:
    """By its place."""
    with pytest.raises(Malformed) as said:
        messages_of(message, "messages[0]", [])
    assert said.value.field == field


def test_system() -> None:
    """Nothing is no message."""
    assert system_messages(None) == system_messages("") == system_messages([]) == []
    assert system_messages("A") == [{"role": "system", "content": "A"}]


def test_what_a_callers_search_found_is_text() -> None:
    """Title and source before it, in a message and in a tool's result."""
    found = {"type": "search_result", "title": "T", "source": "S", "content": [{"type": "text", "text": "a"}]}
    assert turned("user", [found]) == [{"role": "user", "content": "T\nS\na"}]
    result = {"type": "tool_result", "tool_use_id": "c", "content": [found]}
    assert turned("user", [result]) == [{"role": "tool", "tool_call_id": "c", "content": "T\nS\na"}]


def test_a_documents_context_stands_before_it_and_citations_are_named() -> None:
    """No engine cites; what a document is about is text like its title."""
    warnings: list[str] = []
    source = {"type": "text", "media_type": "text/plain", "data": "d"}
    block = {"type": "document", "title": "T", "context": "C", "citations": {"enabled": True}, "source": source}
    assert turned("user", [block], warnings) == [{"role": "user", "content": "T\nC\nd"}]
    assert warnings == ["ignored; 'messages[0].content[0].citations' has no effect here"]
    turned("user", [{**block, "citations": {"enabled": False}}], warnings)
    assert len(warnings) == 1
