"""Items of the Responses dialect: those of a request → the messages that stock engines read, and the form in which they are kept.

One assistant message holds what a model said, thought and called in one go, as chat templates want it; the dialect has an item for
each of these.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.documents import text_in, text_of_base64
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.remote_pictures import base64_of, is_picture, mime_of
from blazar.domain.wire.request import ignored, want_list, want_object
from blazar.domain.wire.responses_tools import CUSTOM_INPUT, qualified
from blazar.domain.wire.tools import arguments_object, strict_object

PREFIXES: Final = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}
FIRST_INPUT: Final = 0x8000
"""Numbers of input items begin here, so that they and those of the answer never meet."""
_ITEM_ID: Final = re.compile(r"[a-z]{2,5}_([0-9a-f]{32})[0-9a-f]{4}")
_ROLES: Final = ("user", "assistant", "system", "developer")
_TEXTS: Final = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}


def item_id(kind: str, token: str, number: int) -> str:
    """The id of an item; `token` is its response's, so that a reference to it finds the response."""
    return f"{PREFIXES.get(kind, 'item')}_{token}{number:04x}"


def response_id(token: str) -> str:
    """The id of a response."""
    return f"resp_{token}"


def response_of(id_: str) -> str:
    """The id of the response that an item belongs to; empty for an id that is none of ours."""
    found = _ITEM_ID.fullmatch(id_)
    return response_id(found[1]) if found else ""


def items_of(value: Any) -> list[dict[str, Any]]:
    """The `input` of a request as items, each of which says what it is (A27)."""
    if value is None:
        raise Malformed(teaching.field_missing("input"), "input")
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if not isinstance(value, list):
        raise Malformed(teaching.field_must("input", "items"), "input")
    items = []
    for at, given in enumerate(value):
        item = want_object(given, f"input[{at}]")
        if item.get("type") is None:
            if item.get("role") is None:
                kind = "item_reference" if isinstance(item.get("id"), str) else ""
                if not kind:
                    raise Malformed(teaching.item_untyped(f"input[{at}]"), f"input[{at}]")
                item = {**item, "type": kind}
            else:
                item = {**item, "type": "message"}
        items.append(item)
    return items


def references(items: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Ids of items that a request only refers to."""
    return tuple(str(item.get("id")) for item in items if item.get("type") == "item_reference")


def kept_items(items: Sequence[Mapping[str, Any]], token: str) -> list[dict[str, Any]]:
    """Input items as listings show them: each with an id, a status and its content in parts."""
    return [_kept(item, item_id(str(item.get("type")), token, FIRST_INPUT + at)) for at, item in enumerate(items)]


def _kept(item: Mapping[str, Any], made: str) -> dict[str, Any]:
    kept = {"status": "completed", **item, "id": item.get("id") or made}
    if item.get("type") == "message" and isinstance(item.get("content"), str):
        said = item.get("role") == "assistant"
        part = {"type": "output_text" if said else "input_text", "text": item["content"]}
        kept["content"] = [{**part, "annotations": []} if said else part]
    return kept


class Attached(NamedTuple):
    """A file that was sent before, and is only named."""

    name: str
    data: bytes


def file_ids(items: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Ids of files that items name, each once."""
    parts = [
        part
        for item in items
        for held in (item.get("content"), item.get("output"))
        for part in (held if isinstance(held, list) else ())
        if isinstance(part, dict) and part.get("type") in ("input_image", "input_file")
    ]
    return tuple(dict.fromkeys(part["file_id"] for part in parts if isinstance(part.get("file_id"), str)))


class Recalled(NamedTuple):
    """What a request goes on from: the items of the conversation so far, items and files that it only names.

    `files` None: nothing was looked up yet.
    """

    history: Sequence[Mapping[str, Any]] = ()
    found: Mapping[str, Any] = {}
    files: Mapping[str, Attached] | None = None


class Talk:
    """Items in, messages out. `files` are those that items name; None: they are not here yet, and stand for nothing."""

    def __init__(self, warnings: list[str], files: Mapping[str, Attached] | None = None) -> None:
        self._warnings, self._files = warnings, files
        self._messages: list[dict[str, Any]] = []
        self._thought = ""
        self._shown: list[dict[str, Any]] = []

    def add(self, item: Mapping[str, Any], where: str) -> None:
        """One item; `where` is its place, for errors and warnings."""
        kind = item.get("type")
        if kind == "message":
            self._message(item, where)
        elif kind == "reasoning":
            self._thought = thought_of(item) or self._thought
        elif kind in ("function_call", "custom_tool_call"):
            self._call(item, where, custom=kind == "custom_tool_call")
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(item, where)
        else:
            self._warnings.append(ignored(where))

    def messages(self) -> list[dict[str, Any]]:
        """All of them, in order."""
        self._show()
        return self._messages

    def _message(self, item: Mapping[str, Any], where: str) -> None:
        role = item.get("role")
        if role not in _ROLES:
            raise Malformed(teaching.field_must(f"{where}.role", "responses_role"), f"{where}.role")
        content = item.get("content")
        parts = self._parts(content, f"{where}.content") if not isinstance(content, str) else None
        self._show()
        if role == "assistant":
            self._say(content if isinstance(content, str) else _text(parts or (), ""))
        else:
            self._thought = ""  # it was followed by nothing of the model's
            self._messages.append({"role": role, "content": content if parts is None else _joined(parts)})

    def _say(self, text: str) -> None:
        self._messages.append(self._thinking({"role": "assistant", "content": text}))

    def _thinking(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._thought:
            message["reasoning_content"], self._thought = self._thought, ""
        return message

    def _call(self, item: Mapping[str, Any], where: str, *, custom: bool) -> None:
        name, call_id = item.get("name"), item.get("call_id")
        if not isinstance(name, str) or not name:
            raise Malformed(teaching.field_missing(f"{where}.name"), f"{where}.name")
        given = item.get("input") if custom else item.get("arguments")
        if custom:
            given = {CUSTOM_INPUT: given if isinstance(given, str) else ""}
        space = item.get("namespace")
        function = {"name": qualified(name, space if isinstance(space, str) else "")}
        function["arguments"] = self._arguments(given, f"{where}.arguments")
        call = {"id": call_id, "type": "function", "function": function}
        self._show()
        if self._thought or not self._messages or self._messages[-1]["role"] != "assistant":
            self._messages.append(self._thinking({"role": "assistant", "content": None}))
        self._messages[-1].setdefault("tool_calls", []).append(call)

    def _arguments(self, given: Any, where: str) -> str:
        """As `repair_history` has them, with the place that they have here."""
        if given is None or isinstance(given, dict):
            return dump(given or {}).decode()
        text = given if isinstance(given, str) else dump(given).decode()
        if strict_object(text):
            return text
        if text.strip():
            self._warnings.append(teaching.warn_rewritten(where, teaching.arguments_no_object()))
        return dump(arguments_object(text)).decode()

    def _output(self, item: Mapping[str, Any], where: str) -> None:
        """A tool's answer is text; pictures in it follow as something that the user shows."""
        output = item.get("output")
        parts: Sequence[dict[str, Any]] = ()
        if output is not None and not isinstance(output, str):
            parts = self._parts(output, f"{where}.output")
        text = output if isinstance(output, str) else _text(parts, "\n")
        self._messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": text})
        self._shown.extend(part for part in parts if part["type"] != "text")

    def _show(self) -> None:
        if self._shown:
            shown, self._shown = self._shown, []
            self._messages.append({"role": "user", "content": shown})

    def _parts(self, content: Any, where: str) -> list[dict[str, Any]]:
        return [
            self._part(want_object(part, f"{where}[{at}]"), f"{where}[{at}]")
            for at, part in enumerate(want_list({where: content}, where))
        ]

    def _part(self, part: Mapping[str, Any], where: str) -> dict[str, Any]:
        kind = part.get("type")
        if isinstance(kind, str) and kind in _TEXTS:
            text = part.get(_TEXTS[kind])
            if not isinstance(text, str):
                raise Malformed(teaching.field_must(f"{where}.text", "string"), f"{where}.text")
            return {"type": "text", "text": text}
        if kind in ("input_image", "input_file"):
            file = self._file_of(part)
            if kind == "input_image":
                return {"type": "image_url", "image_url": {"url": _image(part, file, where)}}
            return {"type": "text", "text": _file(part, file, where)}
        raise Malformed(teaching.field_unsupported(where, teaching.part_unsupported()), where)

    def _file_of(self, part: Mapping[str, Any]) -> Attached | None:
        """The file that a part names."""
        id_ = part.get("file_id")
        if not isinstance(id_, str):
            return None
        return Attached("", b"") if self._files is None else self._files.get(id_)


def _image(part: Mapping[str, Any], file: Attached | None, where: str) -> str:
    if file is not None:
        mime = mime_of(file.data) if file.data else "image/png"
        if not mime:
            raise Malformed(teaching.file_no_picture(), where)
        return f"data:{mime};base64,{base64_of(file.data)}"
    url = part.get("image_url")
    if isinstance(url, dict):
        url = url.get("url")
    if not isinstance(url, str) or not url[:5].lower() == "data:":
        raise Malformed(teaching.media_not_fetched(), f"{where}.image_url")
    if not is_picture(url):
        raise Malformed(teaching.field_must(f"{where}.image_url", "picture"), f"{where}.image_url")
    return url


def _file(part: Mapping[str, Any], file: Attached | None, where: str) -> str:
    """A text file's text behind its name. The data may come as a data: URL or as bare base64, or have been sent before."""
    name, data = part.get("filename"), part.get("file_data")
    try:
        if file is not None:
            name, text = file.name, text_in(file.data)
        elif not isinstance(data, str) or not data:
            raise Malformed(teaching.field_unsupported(where, teaching.file_by_data_only()), where)
        else:
            text = text_of_base64(data)
    except ValueError:
        raise Malformed(teaching.field_unsupported(where, teaching.document_unsupported()), where) from None
    return f"{name}\n{text}" if isinstance(name, str) and name else text


def _text(parts: Iterable[Mapping[str, Any]], between: str) -> str:
    return between.join(part["text"] for part in parts if part["type"] == "text")


def _joined(parts: Sequence[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if all(part["type"] == "text" for part in parts):
        return _text(parts, "\n")
    return list(parts)


def thought_of(item: Mapping[str, Any]) -> str:
    """What a reasoning item says: its text, else its summary, else what was sealed for a caller that keeps nothing here."""
    for field in ("content", "summary"):
        parts = item.get(field)
        texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        if said := "\n".join(text for text in texts if isinstance(text, str) and text):
            return said
    sealed = item.get("encrypted_content")
    return opened(sealed) if isinstance(sealed, str) else ""


def sealed(thought: str) -> str:
    """ODD: `encrypted_content` is the thought in base64. It is the caller's own, and comes back only from where it went."""
    return base64.b64encode(thought.encode("utf-8", "replace")).decode()


def opened(text: str) -> str:
    """The thought in it; nothing where another server made it."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
