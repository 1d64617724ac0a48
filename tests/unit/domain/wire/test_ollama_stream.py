"""ollama's NDJSON; recordings are under tests/contract/wire."""

import json
from collections.abc import Iterator

from blazar.domain.wire.context import unpacked
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.odds import Odds
from blazar.domain.wire.ollama import Extra
from blazar.domain.wire.ollama_stream import NdjsonWriter
from blazar.domain.wire.quoting import quote
from blazar.domain.wire.turn import Shape, Turn

TURN = Turn('m"x', wall=1_800_000_000.0, id="plm-1")


def lines(
    shape: Shape, *deltas: Delta, turn: Turn = TURN, at: Iterator[float] | None = None
) -> list[dict[str, object]]:
    clock = at or iter([0.25] * 9)
    writer = NdjsonWriter(shape, turn, lambda: next(clock))
    raw = b"".join([writer.write(delta) for delta in deltas] + [writer.flush()])
    return [json.loads(line) for line in raw.splitlines()]


def test_chat_lines() -> None:
    """Message pieces, then one last line with the counts."""
    told = lines(Shape.CHAT, Reasoning("b"), Text('é"\n'), Finish("stop"), Usage(3, 4, 0, 1.0, 2.0))
    head = {"model": 'm"x', "created_at": "2027-01-15T08:00:00.250000Z"}
    assert told[0] == {**head, "message": {"role": "assistant", "content": "", "thinking": "b"}, "done": False}
    assert told[1] == {**head, "message": {"role": "assistant", "content": 'é"\n'}, "done": False}
    assert told[2] == {
        **head,
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "total_duration": 250_000_000,
        "prompt_eval_count": 3,
        "prompt_eval_duration": 1_000_000,
        "eval_count": 4,
        "eval_duration": 2_000_000,
    }
    assert len(told) == 3


def test_generate_lines() -> None:
    """`response` and `thinking` beside it."""
    told = lines(Shape.GENERATE, Reasoning("b"), Text("a"), Finish("length"))
    assert [line.get("response") for line in told] == ["", "a", ""]
    assert told[0]["thinking"] == "b"
    assert told[-1]["done_reason"] == "length"


def test_a_call_is_one_whole_line() -> None:
    """Fragments wait; each call leaves with its arguments as an object (B16)."""
    writer = NdjsonWriter(Shape.CHAT, TURN, lambda: 0.0)
    fragments = [
        ToolFragment(0, "c1", "f", ""),
        ToolFragment(0, None, None, '{"a":'),
        ToolFragment(1, None, "g", "{}"),
        ToolFragment(0, None, None, "1}"),
    ]
    assert [writer.write(fragment) for fragment in fragments] == [b""] * 4
    assert writer.write(Finish("tool_calls")) == b""
    told = [json.loads(line) for line in writer.flush().splitlines()]
    assert told[0]["message"]["tool_calls"] == [
        {"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}
    ]
    assert told[1]["message"]["tool_calls"] == [
        {"id": "call_plm-1_1", "function": {"index": 1, "name": "g", "arguments": {}}}
    ]
    assert told[2]["done"] is True


def test_a_failure_is_one_line_and_the_last() -> None:
    """Calls that were half told never leave (D35)."""
    told = lines(
        Shape.CHAT, Text("a"), ToolFragment(0, "c", "f", "{"), Failed(502, "gone"), Text("ghost"), Finish("stop")
    )
    assert told[1:] == [{"error": "gone"}]


def test_without_a_finish_nothing_says_done() -> None:
    """A flush alone is no success."""
    assert lines(Shape.CHAT, Text("a"))[-1]["done"] is False
    assert lines(Shape.CHAT) == []


def test_the_injected_quoter_writes_every_text() -> None:
    """The lane brings a faster one (D24)."""
    asked: list[str] = []

    def counting(text: str) -> bytes:
        asked.append(text)
        return quote(text)

    writer = NdjsonWriter(Shape.CHAT, Turn("m"), lambda: 0.0, counting)
    writer.write(Text("a"))
    writer.write(Reasoning("b"))
    writer.write(Failed(502, "c"))
    assert asked == ["m", "a", "b", "c"]


def test_time_is_ours_where_the_engine_keeps_none() -> None:
    """First piece at 1 s, of which the load took 0.4; the end at 3 s."""
    at = iter([1.0, 1.0, 3.0, 3.0])
    (_, last) = lines(Shape.CHAT, Text("a"), Finish("stop"), turn=TURN._replace(load_ns=400_000_000), at=at)
    assert last["load_duration"] == 400_000_000
    assert last["prompt_eval_duration"] == 600_000_000
    assert last["eval_duration"] == 2_000_000_000
    assert last["total_duration"] == 3_000_000_000


def test_log_probabilities_stand_beside_their_piece() -> None:
    """Where they were asked for, with thoughts as with text."""
    row = {"token": "a", "logprob": -1.0}
    writer = NdjsonWriter(Shape.CHAT, TURN, lambda: 0.25, quote, Extra(Odds(True, 0)))
    said = [json.loads(writer.write(piece)) for piece in (Reasoning("b", [row]), Text("a", [row]), Text("c"))]
    assert [line.get("logprobs") for line in said] == [[row], [row], None]
    assert said[1]["message"]["content"] == "a"
    plain = NdjsonWriter(Shape.CHAT, TURN, lambda: 0.25)
    assert "logprobs" not in json.loads(plain.write(Text("a", [row])))


def test_the_last_line_has_the_context() -> None:
    """All pieces together; none for a chat."""
    extra = Extra(messages=[{"role": "user", "content": "q"}])
    writer = NdjsonWriter(Shape.GENERATE, TURN, lambda: 0.25, quote, extra)
    for delta in (Text("a"), Reasoning("hm"), Text("b"), Finish("stop")):
        writer.write(delta)
    last = json.loads(writer.flush())
    assert unpacked(last["context"]) == [{"role": "user", "content": "q"}, {"role": "assistant", "content": "ab"}]
