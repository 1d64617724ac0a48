"""Anthropic's content blocks → the parts and messages that stock engines read."""

import base64
import binascii
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.documents import text_in
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.remote_pictures import is_picture
from blazar.domain.wire.request import ignored, want_bool, want_object, want_text


def system_messages(system: Any) -> list[dict[str, Any]]:
    """The `system` field as at most one message."""
    if system is None or system in ("", []):
        return []
    if isinstance(system, str):
        return [{"role": "system", "content": system}]
    if not isinstance(system, list) or not all(_is_text(block) for block in system):
        raise Malformed(teaching.field_must("system", "text_blocks"), "system")
    return [{"role": "system", "content": "\n\n".join(block["text"] for block in system)}]


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def messages_of(message: dict[str, Any], where: str, warnings: list[str]) -> list[dict[str, Any]]:
    """One message as one or several; `where` is its place, for errors and warnings."""
    role, content = message["role"], message.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        raise Malformed(teaching.field_must(f"{where}.role", "role"), f"{where}.role")
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    if not isinstance(content, list):
        raise Malformed(teaching.field_must(f"{where}.content", "blocks"), f"{where}.content")
    blocks = [want_object(block, f"{where}.content[{at}]") for at, block in enumerate(content)]
    if role == "assistant":
        return [_assistant(blocks, where, warnings)]
    return _user(role, blocks, where, warnings)


def _assistant(blocks: list[dict[str, Any]], where: str, warnings: list[str]) -> dict[str, Any]:
    """Thinking goes where templates look for it; what only Anthropic can read of it is dropped (C10)."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for at, block in enumerate(blocks):
        kind = block.get("type")
        if kind == "text":
            texts.append(_block_text(block, f"{where}.content[{at}]"))
        elif kind == "thinking":
            thoughts.append(want_text(block, "thinking", f"{where}.content[{at}].thinking"))
        elif kind == "tool_use":
            calls.append(_call(block, f"{where}.content[{at}]"))
        elif kind != "redacted_thinking":
            warnings.append(ignored(f"{where}.content[{at}]"))
    out: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts) if texts or not calls else None}
    if any(thoughts):
        out["reasoning_content"] = "\n".join(thoughts)
    if calls:
        out["tool_calls"] = calls
    return out


def _call(block: dict[str, Any], where: str) -> dict[str, Any]:
    name = block.get("name")
    if not isinstance(name, str) or not name:
        raise Malformed(teaching.field_missing(f"{where}.name"), f"{where}.name")
    arguments = dump(block.get("input") if block.get("input") is not None else {}).decode()
    return {"id": block.get("id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _user(role: str, blocks: list[dict[str, Any]], where: str, warnings: list[str]) -> list[dict[str, Any]]:
    """Tool results first: they must follow the calls at once. What else was said comes after them, in its order."""
    results: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for at, block in enumerate(blocks):
        place = f"{where}.content[{at}]"
        if block.get("type") == "tool_result":
            said = _parts(block.get("content"), place, warnings)
            text = "\n".join(part["text"] for part in said if part["type"] == "text")
            # A tool message is text; pictures in a result follow as something the user shows.
            parts.extend(part for part in said if part["type"] != "text")
            if want_bool(block, "is_error", f"{place}.is_error", default=False):
                text = f"Error: {text}"
            results.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text})
        else:
            parts.extend(_block(block, place, warnings))
    if not parts:
        return results or [{"role": role, "content": ""}]
    if all(part["type"] == "text" for part in parts):
        return [*results, {"role": role, "content": "\n".join(part["text"] for part in parts)}]
    return [*results, {"role": role, "content": parts}]


def _parts(content: Any, where: str, warnings: list[str]) -> list[dict[str, Any]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise Malformed(teaching.field_must(f"{where}.content", "blocks"), f"{where}.content")
    return [part for at, block in enumerate(content) for part in _block(block, f"{where}.content[{at}]", warnings)]


def _block(block: Any, where: str, warnings: list[str]) -> list[dict[str, Any]]:
    """One block of something a user may say, as OpenAI parts."""
    kind = want_object(block, where).get("type")
    if kind == "text":
        return [{"type": "text", "text": _block_text(block, where)}]
    if kind == "image":
        return [{"type": "image_url", "image_url": {"url": _image_url(block.get("source"), where)}}]
    if kind == "document":
        return _document(block, where, warnings)
    if kind == "search_result" and block.get("content"):
        return _search_result(block, where, warnings)
    warnings.append(ignored(where))
    return []


def _block_text(block: dict[str, Any], where: str) -> str:
    text = block.get("text")
    if not isinstance(text, str):
        raise Malformed(teaching.field_must(f"{where}.text", "string"), f"{where}.text")
    return text


def _image_url(source: Any, where: str) -> str:
    """Neither base64 data nor a URL is refused at once: a placeholder would be answered as if it were the picture."""
    source = source if isinstance(source, dict) else {}
    kind = source.get("type")
    if kind == "base64":
        data, media = source.get("data"), source.get("media_type")
        sound = isinstance(media, str) and media.startswith("image/") and _is_base64(data)
        if sound:
            if not is_picture(str(data)):
                raise Malformed(teaching.field_must(f"{where}.source.data", "picture"), where)
            return f"data:{media};base64,{data}"
    if kind == "url" and isinstance(source.get("url"), str) and source["url"]:
        return str(source["url"])
    raise Malformed(teaching.image_source_invalid(), where)


def _is_base64(data: Any) -> bool:
    """An engine would refuse it too, in words about its own decoder."""
    try:
        return isinstance(data, str) and bool(binascii.a2b_base64(data, strict_mode=True))
    except ValueError:  # also of a text that is not ASCII
        return False


def _search_result(block: dict[str, Any], where: str, warnings: list[str]) -> list[dict[str, Any]]:
    """What a caller's own search found: its title and its source stand before its text."""
    head = [block[key] for key in ("title", "source") if isinstance(block.get(key), str) and block[key]]
    parts = _parts(block.get("content"), where, warnings)
    return [{"type": "text", "text": "\n".join(head)}, *parts] if head else parts


def _document(block: dict[str, Any], where: str, warnings: list[str]) -> list[dict[str, Any]]:
    source: dict[str, Any] = block["source"] if isinstance(block.get("source"), dict) else {}
    kind = source.get("type")
    heads = [block[key] for key in ("title", "context") if isinstance(block.get(key), str) and block[key]]
    title = "".join(f"{head}\n" for head in heads)
    citations = block.get("citations")
    if isinstance(citations, dict) and citations.get("enabled") is True:
        warnings.append(ignored(f"{where}.citations"))
    if kind == "text" and isinstance(source.get("data"), str):
        return [{"type": "text", "text": title + source["data"]}]
    if kind == "content":
        return _parts(source.get("content"), where, warnings)
    if kind == "base64" and str(source.get("media_type")).startswith("text/"):
        try:
            data = base64.b64decode(str(source.get("data")), validate=True)
        except ValueError:
            raise Malformed(teaching.field_must(f"{where}.source.data", "text_base64"), where) from None
        try:
            text = text_in(data)
        except UnicodeDecodeError:
            raise Malformed(teaching.field_must(f"{where}.source.data", "text_base64"), where) from None
        except ValueError:
            raise Malformed(
                teaching.field_unsupported(f"{where}.source", teaching.document_unsupported()), where
            ) from None
        return [{"type": "text", "text": title + text}]
    raise Malformed(teaching.field_unsupported(f"{where}.source", teaching.document_unsupported()), where)
