"""Chat completions that are kept: the whole answer out of the bytes that its caller got, and how it is shown later."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain.wire.completions import counts_of
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.sse import DONE_PAYLOAD, EventSplitter

_ASKED: Final = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "tools",
    "tool_choice",
    "response_format",
)


class StoredChat(NamedTuple):
    """A completion and the messages that it answered."""

    completion: dict[str, Any]
    messages: Sequence[dict[str, Any]]


def packed_chat(stored: StoredChat) -> bytes:
    """As it is written down."""
    return dump({"completion": stored.completion, "messages": list(stored.messages)})


def unpacked_chat(body: bytes) -> StoredChat:
    """What was written down."""
    read = json.loads(body)
    return StoredChat(read["completion"], read["messages"])


def stored_chat(
    request: Mapping[str, Any], sent: bytes, *, stream: bool, usage: Usage | None = None
) -> StoredChat | None:
    """Out of a request and the answer that was sent to it; None where that was no whole answer.

    `usage`: what it cost, for a stream whose caller did not ask to be told.
    """
    try:
        answer = _assembled(sent) if stream else json.loads(sent)
    except (ValueError, RecursionError, TypeError, AttributeError):  # an engine may write anything
        return None
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str) or not answer.get("choices"):
        return None
    shown = {key: answer[key] for key in ("id", "created", "model", "choices", "usage") if key in answer}
    if usage is not None:
        shown.setdefault("usage", counts_of(usage))
    asked = {key: request[key] for key in _ASKED if request.get(key) is not None}
    metadata = request.get("metadata") or {}
    completion = {**shown, "object": "chat.completion", "metadata": metadata, "service_tier": "default", **asked}
    given = request.get("messages")
    messages = [message for message in given if isinstance(message, dict)] if isinstance(given, list) else []
    return StoredChat(completion, messages)


def listed_messages(stored: StoredChat) -> list[dict[str, Any]]:
    """The messages as a listing shows them: with ids, texts as text, parts beside it."""
    rows = []
    for at, message in enumerate(stored.messages):
        content = message.get("content")
        parts = content if isinstance(content, list) else None
        texts = [
            part.get("text") for part in parts or () if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        rows.append(
            {
                **message,
                "id": f"{stored.completion['id']}-{at}",
                "content": "\n".join(text for text in texts if text) if parts is not None else content,
                "content_parts": parts,
            }
        )
    return rows


def _assembled(sent: bytes) -> dict[str, Any] | None:
    """A stream's events as the one answer that they tell; None where an error ended it or its end is missing."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    done = False
    for payload in _payloads(sent):
        if payload == DONE_PAYLOAD:
            done = True
            break
        event = json.loads(payload)
        if "error" in event:
            return None
        for key in ("id", "created", "model", "usage", "system_fingerprint"):
            if event.get(key) is not None:
                whole[key] = event[key]
        for choice in event.get("choices") or ():
            _add(
                choices.setdefault(choice.get("index") or 0, {"message": {"role": "assistant", "content": None}}),
                choice,
            )
    if not done or not choices:
        return None
    whole["choices"] = [{"index": at, "finish_reason": None, "logprobs": None, **choices[at]} for at in sorted(choices)]
    return whole


def _payloads(sent: bytes) -> Iterator[bytes]:
    splitter = EventSplitter(len(sent) + 1)
    yield from splitter.feed(sent)
    yield from splitter.flush()


def _add(held: dict[str, Any], choice: Mapping[str, Any]) -> None:
    message, delta = held["message"], choice.get("delta") or {}
    for key, value in delta.items():
        if key == "tool_calls":
            for piece in value or ():
                _add_call(message.setdefault("tool_calls", []), piece)
        elif isinstance(value, str) and key != "role":
            message[key] = (message.get(key) or "") + value
    if choice.get("finish_reason") is not None:
        held["finish_reason"] = choice["finish_reason"]
    told = choice.get("logprobs")
    if isinstance(told, dict) and isinstance(told.get("content"), list):
        logprobs = held.setdefault("logprobs", {"content": []})
        logprobs["content"].extend(told["content"])


def _add_call(calls: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """The lane has numbered the pieces, and the first of each call names it (A1, A2)."""
    at, function = piece.get("index") or 0, piece.get("function") or {}
    while len(calls) <= at:
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call = calls[at]
    call["id"] = piece.get("id") or call["id"]
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += function.get("arguments") or ""
