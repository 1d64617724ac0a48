"""Files in a request: the text of those that are one. A PDF of plain letters is none, whatever it is called. Holds no dialect."""

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.request import want_object

_NO_TEXT: Final = re.compile(r"(?:image|audio|video|font)/|application/(?:pdf|zip|msword|vnd\.)", re.IGNORECASE)
_PDF: Final = b"%PDF-"


def text_in(data: bytes, media: str = "") -> str:
    """The text that a file is; raises `ValueError` for one that is none. `media` is what its sender takes it for."""
    if _NO_TEXT.match(media) is not None or data.lstrip()[:5] == _PDF or b"\0" in data:
        raise ValueError(media)
    return data.decode("utf-8-sig")


def text_of_base64(data: str) -> str:
    """The same of a file as base64, bare or as a data: URL, which says its media type."""
    head, comma, encoded = data.partition(",")
    if data[:5].lower() != "data:" or not comma:
        return text_in(base64.b64decode(data, validate=True))
    return text_in(base64.b64decode(encoded, validate=True), head[5:])


def inline_files(body: dict[str, Any]) -> None:
    """Parts of a chat that are files become their text behind their name: engines know no such part."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return
    read = [_read(message, f"messages[{at}]") for at, message in enumerate(messages)]
    if any(new is not old for new, old in zip(read, messages, strict=True)):
        body["messages"] = read


def _read(message: Any, where: str) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not any(_is_file(part) for part in content):
        return message
    parts = [
        {"type": "text", "text": _text(part, f"{where}.content[{number}]")} if _is_file(part) else part
        for number, part in enumerate(content)
    ]
    return {**message, "content": parts}


def _is_file(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "file"


def _text(part: Mapping[str, Any], where: str) -> str:
    file = want_object(part.get("file"), f"{where}.file")
    name, data = file.get("filename"), file.get("file_data")
    if not isinstance(data, str) or not data:
        raise Malformed(teaching.field_unsupported(where, teaching.chat_file_by_data_only()), where)
    try:
        text = text_of_base64(data)
    except ValueError:
        raise Malformed(teaching.field_unsupported(where, teaching.document_unsupported()), where) from None
    return f"{name}\n{text}" if isinstance(name, str) and name else text


def refuse_custom_tools(body: Mapping[str, Any]) -> None:
    """A chat's tools are functions: a child passes over a custom one, or refuses it in words about a function that it lacks."""
    tools = body.get("tools")
    for at, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type") == "custom":
            raise Malformed(teaching.field_unsupported(f"tools[{at}]", teaching.chat_tool_custom()), f"tools[{at}]")
