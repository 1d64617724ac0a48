"""A decoder for child chunks made of the standard library, and the streams and writers that the wire suites share."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.anthropic_stream import BlockWriter
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage, Writer
from blazar.domain.wire.ollama_stream import NdjsonWriter
from blazar.domain.wire.openai_stream import StreamFilter
from blazar.domain.wire.responses import read_response
from blazar.domain.wire.responses_stream import Moment, ResponseWriter
from blazar.domain.wire.tools import CallGatherer
from blazar.domain.wire.turn import Shape, Turn

RECORDED = Path(__file__).parent / "recorded"
_NUMBERS = {"prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "cache_n"}
TURN = Turn("caller/name", wall=1_800_000_000.0, id="plm-1f-7")


class View:
    """A JSON object whose keys are attributes; what is missing is None, or 0 where the protocol wants a number."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        value = self._value.get("__verbose" if name == "verbose" else name)
        if name in ("error", "arguments", "content"):  # what nobody looks into: `content` is a text, or rows of odds
            return value
        if isinstance(value, dict):
            return View(value)
        if isinstance(value, list):
            return [View(item) for item in value]
        return 0 if value is None and name in _NUMBERS else value


def decode(payload: bytes) -> Any:
    """`ValueError` on anything but a JSON object."""
    value = json.loads(payload)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004
    return View(value)


def event(value: Any) -> bytes:
    """One `data:` event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """A chat chunk as llama-server writes it, compact."""
    choice = {"finish_reason": finish, "index": 0, "delta": delta or {}}
    value = {
        "choices": [choice],
        "created": 1,
        "id": "chatcmpl-x",
        "model": "m",
        "object": "chat.completion.chunk",
        **more,
    }
    return b"data: " + json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def call(index: int | None = 0, id: str | None = None, name: str | None = None, args: Any = None) -> dict[str, Any]:  # noqa: A002
    """A tool-call fragment; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    piece: dict[str, Any] = {"function": function}
    if index is not None:
        piece["index"] = index
    if id is not None:
        piece |= {"id": id, "type": "function"}
    return piece


def tools(*pieces: dict[str, Any], finish: str | None = None) -> bytes:
    """A chunk with tool-call fragments."""
    return chunk({"tool_calls": list(pieces)}, finish)


DONE = b"data: [DONE]\n\n"
USAGE = event(
    {
        "choices": [],
        "model": "m",
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
    }
)


def reading(stream: bytes | Iterable[bytes], **more: Any) -> list[Delta]:
    """Everything a stream says; given in slices, or whole."""
    reader = ChildReader(decode, "m", **more)
    out: list[Delta] = []
    for data in [stream] if isinstance(stream, bytes) else stream:
        out += reader.feed(data)
    return out + reader.flush()


def bytewise(stream: bytes) -> list[bytes]:
    """One byte at a time."""
    return [stream[at : at + 1] for at in range(len(stream))]


def written(stream: Iterable[bytes], writer: Writer) -> bytes:
    """A whole stream through reader and writer, as the lane does it."""
    reader = ChildReader(decode, "m")
    out = [writer.write(delta) for data in stream for delta in reader.feed(data)]
    out += [writer.write(delta) for delta in reader.flush()]
    return b"".join((*out, writer.flush()))


def filtered(stream: Iterable[bytes], caller: str = "m", *, drop: bool = True, child: str = "") -> bytes:
    """A whole stream through the OpenAI filter."""
    passing = StreamFilter(decode, caller, drop, "plm-1f-7", child)
    return b"".join([passing.feed(data) for data in stream] + [passing.flush()])


def responding(**body: Any) -> ResponseWriter:
    """The writer of a response to such a request."""
    made = ResponseWriter(read_response({"model": "m", "input": "hi", **body}, "m"), TURN.model, "ab" * 16)
    made.moment = Moment(TURN.wall, lambda: 0.25)
    return made


WRITERS: dict[str, Callable[[], Writer]] = {
    "chat": lambda: NdjsonWriter(Shape.CHAT, TURN, lambda: 0.25),
    "generate": lambda: NdjsonWriter(Shape.GENERATE, TURN, lambda: 0.25),
    "anthropic": lambda: BlockWriter(TURN),
    "chat, no thinking": lambda: NdjsonWriter(Shape.CHAT, TURN._replace(thinking=False), lambda: 0.25),
    "anthropic, no thinking": lambda: BlockWriter(TURN._replace(thinking=False)),
    "responses": responding,
    "responses, summaries": lambda: responding(reasoning={"summary": "auto"}),
    "responses, no thinking": lambda: responding(reasoning={"effort": "none"}),
}


def ndjson(raw: bytes) -> list[dict[str, Any]]:
    """The lines of an ollama stream."""
    assert raw.endswith(b"\n")
    return [json.loads(line) for line in raw.splitlines()]


def events(raw: bytes) -> list[dict[str, Any]]:
    """The data of an Anthropic stream, each checked against its event's name."""
    out = []
    for block in raw.decode().removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        out.append(value)
    return out


def payloads(raw: bytes) -> list[Any]:
    """The data of an OpenAI stream; `[DONE]` as the string."""
    assert raw == b"" or raw.endswith(b"\n\n")
    data = []
    for block in raw.decode().removeprefix("\ufeff").split("\n\n"):
        lines = [line.removeprefix("data:") for line in block.split("\n") if line.startswith("data:")]
        data.append("\n".join(lines).strip())
    return ["[DONE]" if item == "[DONE]" else json.loads(item) for item in data if item]


PIECES = {
    "text": ("text_delta",),
    "thinking": ("thinking_delta", "signature_delta"),
    "tool_use": ("input_json_delta",),
}
"""What each kind of Anthropic's blocks may hold."""


def well_nested(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of an Anthropic stream: one open at a time, numbered from 0, started and stopped once each."""
    assert [item["type"] for item in told[:1]] == ["message_start"]
    assert [item["type"] for item in told[-2:]] == ["message_delta", "message_stop"]
    blocks: list[dict[str, Any]] = []
    is_open = False
    for item in told[1:-2]:
        if item["type"] == "content_block_start":
            assert not is_open
            assert item["index"] == len(blocks)
            blocks.append({**item["content_block"], "pieces": []})
            is_open = True
        else:
            assert is_open
            assert item["index"] == len(blocks) - 1
            if item["type"] == "content_block_stop":
                is_open = False
            else:
                assert item["type"] == "content_block_delta"
                assert item["delta"]["type"] in PIECES[blocks[-1]["type"]]
                blocks[-1]["pieces"].append(item["delta"])
    assert not is_open
    return blocks


def collect(deltas: list[Delta]) -> Answer | Failed:
    """What a whole stream said, as the record that a buffered answer is."""
    gatherer = CallGatherer()
    text = "".join(delta.text for delta in deltas if isinstance(delta, Text))
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, Reasoning))
    finish, usage = Finish("stop"), Usage(0, 0)
    for delta in deltas:
        match delta:
            case Failed():
                return delta
            case ToolFragment():
                gatherer.add(delta)
            case Finish():
                finish = delta
            case Usage():
                usage = delta
    return Answer(text, reasoning, gatherer.calls(), finish, usage)
