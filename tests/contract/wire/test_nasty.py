"""Streams that engines have really sent and that broke somebody: through the reader, every writer and the filter."""

import json
from typing import Any

import pytest

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Failed, Finish, Reasoning, Text, Usage
from tests.contract.wire.chunks import (
    DONE,
    USAGE,
    WRITERS,
    bytewise,
    call,
    chunk,
    collect,
    event,
    events,
    filtered,
    ndjson,
    payloads,
    reading,
    tools,
    well_nested,
    written,
)
from tests.support.typed_events import check_grammar

HELLO = chunk({"role": "assistant", "content": None}) + chunk({"content": "Hé"}) + chunk({"content": "llo 🙂"})
END = chunk(finish="stop") + USAGE + DONE
ONE = call(0, "c1", "f", "")

BRACES = r'{"code":"if (x) { y } \"}}\" </tool_call>","n":{"a":"]}"}}'
"""Arguments that whoever counts braces believes to be over (D6)."""

NASTY: dict[str, bytes] = {
    "plain": HELLO + END,
    "crlf": (HELLO + END).replace(b"\n", b"\r\n"),
    "lone cr": (HELLO + END).replace(b"\n", b"\r"),
    "B13 comments": b":\n\n" + HELLO.replace(b"\n\n", b"\n\n:\n\n: ping\n\nevent: x\n\n") + END,
    "named events": HELLO.replace(b"data:", b"event: message\nid: 7\nretry: 5\ndata:") + END,
    "no space": (HELLO + END).replace(b"data: ", b"data:"),
    "spaced json": (HELLO + END).replace(b'":', b'": ').replace(b",", b", "),
    "several data lines": HELLO.replace(b'"choices":', b'"choices":\ndata: ') + END,
    "bom": b"\xef\xbb\xbf" + HELLO + END,
    "no blank line at the end": (HELLO + END)[:-2],
    "finish without done": HELLO + chunk(finish="stop") + USAGE,
    "done without finish": HELLO + DONE,
    "after done": HELLO + END + chunk({"content": "ghost"}) + b"data: {bad\n\n",
    "empty chunks": chunk({}) + HELLO + chunk({"content": ""}) + event({"choices": [], "model": "m"}) + END,
    "usage null": HELLO.replace(b'"model"', b'"usage":null,"model"') + END,
    "quoted keys in text": chunk({"content": '"usage" "tool_calls" "error" "model":"z" data: [DONE]'}) + END,
    "A1 no index": tools(call(None, "c1", "f", "")) + tools(call(None, args='{"a":')) + tools(call(None, args="1}")) + END,
    "A2 two calls, no index": tools(call(None, "c1", "f", '{"a":1}'), call(None, "c2", "g", "{}")) + END,
    "A2 two calls, one index": tools(call(0, "c1", "f", '{"a":1}')) + tools(call(0, "c2", "f", '{"a":2}')) + END,
    "A9 again in the last chunk": tools(ONE) + tools(call(args='{"a":1}')) + tools(call(1, "c9", "f", '{"a": 1}'), finish="tool_calls") + USAGE + DONE,
    "A9 again at another index": tools(ONE) + tools(call(args='{"a"')) + tools(call(args=":1}")) + tools(call(1, "c9", "f", '{"a":1}')) + END,
    "crosswise calls": tools(ONE, call(1, "c2", "g", "")) + tools(call(1, args="{}"), call(0, args='{"a"')) + tools(call(0, args=":1}")) + END,
    "no ids": tools(call(0, None, "f", '{"a":1}')) + END,
    "arguments as an object": tools(call(0, "c1", "f", {"a": 1})) + END,
    "D6 braces in strings": b"".join(
        tools(call(0, "c1" if at == 0 else None, "w" if at == 0 else None, sign)) for at, sign in enumerate(BRACES)
    ) + tools(call(1, "c2", "g", "{}")) + END,
    "D6 braces, crosswise": tools(call(0, "c1", "w", ""), call(1, "c2", "w", "")) + b"".join(
        tools(call(0, args=sign), call(1, args=sign)) for sign in BRACES
    ) + END,
    "length and a partial call": chunk({"content": "Hi"}) + tools(call(0, "c1", "f", '{"a')) + chunk(finish="length") + USAGE + DONE,
    "D9 cut": HELLO,
    "D9 cut inside an event": HELLO + chunk({"content": "x"})[:-9],
    "D9 bad line": HELLO + b"data: {bad\n\n" + chunk({"content": "never"}) + END,
    "not an object": HELLO + b"data: [1]\n\n" + END,
    "not json at all": HELLO + b"data: Internal Server Error\n\n" + END,
    "error object": HELLO + event({"error": {"code": 503, "message": "Loading model"}}) + END,
    "error text": HELLO + event({"error": "went wrong"}),
    "empty": b"",
    "only done": DONE,
}  # fmt: skip
FAILS = {name for name in NASTY if name.startswith(("D9", "not", "error"))} | {"empty"}
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "A1 no index": [("f", {"a": 1})],
    "A2 two calls, no index": [("f", {"a": 1}), ("g", {})],
    "A2 two calls, one index": [("f", {"a": 1}), ("f", {"a": 2})],
    "A9 again in the last chunk": [("f", {"a": 1})],
    "A9 again at another index": [("f", {"a": 1})],
    "crosswise calls": [("f", {"a": 1}), ("g", {})],
    "no ids": [("f", {"a": 1})],
    "arguments as an object": [("f", {"a": 1})],
    "D6 braces in strings": [("w", json.loads(BRACES)), ("g", {})],
    "D6 braces, crosswise": [("w", json.loads(BRACES)), ("w", json.loads(BRACES))],
}


@pytest.mark.parametrize("name", NASTY)
def test_slicing_changes_nothing(name: str) -> None:
    """Deltas, every writer and the filter: one byte at a time says what one piece says."""
    stream = NASTY[name]
    assert reading(stream) == reading(bytewise(stream))
    for make in WRITERS.values():
        assert written([stream], make()) == written(bytewise(stream), make())
    for caller in ("m", "other"):
        for drop in (True, False):
            assert filtered([stream], caller, drop=drop) == filtered(bytewise(stream), caller, drop=drop)


@pytest.mark.parametrize("name", sorted(set(NASTY) - FAILS))
def test_what_was_whole_ends_whole(name: str) -> None:
    """A complete stream ends in a finish in every dialect, whatever its form."""
    deltas = reading(NASTY[name])
    assert not [delta for delta in deltas if isinstance(delta, Failed)]
    assert len([delta for delta in deltas if isinstance(delta, Finish)]) == 1
    assert len([delta for delta in deltas if isinstance(delta, Usage)]) <= 1
    assert ndjson(written([NASTY[name]], WRITERS["chat"]()))[-1]["done"] is True
    well_nested(events(written([NASTY[name]], WRITERS["anthropic"]())))
    check_grammar(events(written([NASTY[name]], WRITERS["responses"]())))
    assert "error" not in str([item for item in payloads(filtered([NASTY[name]])) if "error" in item])


@pytest.mark.parametrize("name", sorted(FAILS))
def test_what_broke_never_looks_complete(name: str) -> None:
    """A failure is the last thing said, exactly once, and nothing that means success is near it (D9, D35)."""
    deltas = reading(NASTY[name])
    assert [isinstance(delta, Failed) for delta in deltas] == [False] * (len(deltas) - 1) + [True]
    assert not [delta for delta in deltas if isinstance(delta, Finish)]
    lines = ndjson(written([NASTY[name]], WRITERS["chat"]()))
    assert set(lines[-1]) == {"error"}
    assert not [line for line in lines if line.get("done")]
    raw = written([NASTY[name]], WRITERS["anthropic"]())
    assert raw.count(b"event: error\n") == 1
    assert b"message_stop" not in raw
    assert raw.endswith(b"}\n\n")
    typed = events(written([NASTY[name]], WRITERS["responses"]()))
    assert typed[-1]["type"] == ("response.failed" if len(typed) > 1 else "error")
    assert not [item for item in typed if item["type"] in ("response.completed", "response.incomplete")]
    told = payloads(filtered([NASTY[name]]))
    assert set(told[-1]) == {"error"}
    assert "[DONE]" not in told


@pytest.mark.parametrize("name", CALLS)
def test_calls_reach_every_client_once_and_in_order(name: str) -> None:
    """However the engine numbers or repeats its calls, clients see each once (A1, A2, A9)."""
    answer = collect(reading(NASTY[name]))
    assert isinstance(answer, Answer)
    assert [(each.name, json.loads(each.arguments)) for each in answer.calls] == CALLS[name]
    assert answer.finish == Finish("tool_calls")
    lines = ndjson(written([NASTY[name]], WRITERS["chat"]()))
    heard = [one["function"] for line in lines for one in line["message"].get("tool_calls", [])]
    assert [(one["name"], one["arguments"]) for one in heard] == CALLS[name]
    output = events(written([NASTY[name]], WRITERS["responses"]()))[-1]["response"]["output"]
    found = [(item["name"], json.loads(item["arguments"])) for item in output if item["type"] == "function_call"]
    assert found == CALLS[name]
    blocks = well_nested(events(written([NASTY[name]], WRITERS["anthropic"]())))
    spelled = [(block["name"], "".join(piece["partial_json"] for piece in block["pieces"])) for block in blocks]
    assert [(who, json.loads(what)) for who, what in spelled] == CALLS[name]
    assert len({block["id"] for block in blocks}) == len(blocks)


@pytest.mark.parametrize("name", CALLS)
def test_openai_clients_can_merge_the_fragments(name: str) -> None:
    """Every fragment has an integer index; id and name come with the first one of each call only."""
    merged: dict[int, dict[str, str]] = {}
    for item in payloads(filtered([NASTY[name]])):
        for choice in item["choices"] if item != "[DONE]" else []:
            for piece in choice["delta"].get("tool_calls", []):
                assert isinstance(piece["index"], int)
                if piece["index"] not in merged:
                    assert piece["id"]
                    assert piece["type"] == "function"
                    merged[piece["index"]] = {"name": piece["function"]["name"], "arguments": ""}
                else:
                    assert "id" not in piece
                    assert "name" not in piece["function"]
                merged[piece["index"]]["arguments"] += piece["function"]["arguments"]
    assert [(one["name"], json.loads(one["arguments"])) for _, one in sorted(merged.items())] == CALLS[name]


def test_the_same_call_twice_on_purpose_is_two_calls() -> None:
    """Two equal calls told in pieces, or together in one chunk, are what the model wanted."""
    pieces = (
        tools(call(0, "c1", "roll", ""))
        + tools(call(0, args="{}"))
        + tools(call(1, "c2", "roll", ""))
        + tools(call(1, args="{}"))
    )
    for stream in (
        pieces + END,
        tools(call(0, "c1", "roll", "{}"), call(1, "c2", "roll", "{}"), finish="tool_calls") + DONE,
    ):
        answer = collect(reading(stream))
        assert isinstance(answer, Answer)
        assert len(answer.calls) == 2


def test_text_around_calls_keeps_the_order_of_blocks() -> None:
    """Thinking → tool_use → text: three blocks, each closed before the next opens (C4, C5)."""
    stream = chunk({"reasoning_content": "hm"}) + tools(call(0, "c1", "f", "{}")) + chunk({"content": "and"}) + END
    blocks = well_nested(events(written([stream], WRITERS["anthropic"]())))
    assert [block["type"] for block in blocks] == ["thinking", "tool_use", "text"]
    stream = chunk({"content": "a"}) + chunk({"reasoning_content": "b"}) + chunk({"content": "c"}) + END
    assert [block["type"] for block in well_nested(events(written([stream], WRITERS["anthropic"]())))] == [
        "text",
        "thinking",
        "text",
    ]


def test_cached_prompt_tokens_count_as_prompt() -> None:
    """`prompt_n` leaves out the cache: the prompt is the sum (B12)."""
    timings = {"prompt_n": 1, "cache_n": 236, "predicted_n": 35, "prompt_ms": 2.0, "predicted_ms": 9.5}
    deltas = reading(HELLO + chunk(finish="stop", timings=timings) + DONE)
    assert deltas[-1] == Usage(237, 35, 236, 2.0, 9.5)


def test_a_stream_of_all_choices_numbers_calls_for_each_choice() -> None:
    """With `n` above one, equal indices in different choices are different calls and stay as they are."""
    first = {"choices": [{"index": 0, "delta": {"tool_calls": [call(0, "a", "f", "{}")]}}], "model": "m"}
    second = {"choices": [{"index": 1, "delta": {"tool_calls": [call(0, "b", "f", "{}")]}}], "model": "m"}
    stream = event(first) + event(second) + END
    assert payloads(filtered([stream], drop=False))[:2] == [first, second]


def test_a_path_of_this_machine_is_never_echoed() -> None:
    """Whatever name the engine answers with, the caller reads the one it used (A22)."""
    stream = (HELLO + END).replace(b'"model":"m"', b'"model":"/srv/models/x.gguf"')
    assert b"gguf" not in filtered([stream], "mine")
    assert {item["model"] for item in payloads(filtered([stream], "mine")) if item != "[DONE]"} == {"mine"}


def test_reasoning_comes_before_text_of_the_same_chunk() -> None:
    """A chunk with both thinks first."""
    assert reading(chunk({"content": "b", "reasoning_content": "a"}) + DONE)[:2] == [Reasoning("a"), Text("b")]
