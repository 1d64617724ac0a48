"""Whatever a child says, in whatever order, each dialect's events keep to its grammar and lose nothing of it."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.several import Numbering
from blazar.domain.wire.tools import arguments_object
from tests.contract.wire.chunks import (
    DONE,
    WRITERS,
    call,
    chunk,
    event,
    events,
    filtered,
    ndjson,
    payloads,
    tools,
    well_nested,
    written,
)
from tests.contract.wire.test_dressings import DRESSINGS
from tests.support.typed_events import check_grammar

FINISHES = ("stop", "length", "tool_calls", "content_filter")
ENOUGH = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Told(NamedTuple):
    """A stream's chunks, and what they add up to: text, thoughts, and name and arguments of each call."""

    chunks: list[bytes]
    text: str
    thought: str
    calls: list[tuple[str, str]]
    finish: str
    broken: bool


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6) | st.sampled_from(
    ["data: [DONE]", '"error"', "\n\n", "</think>", '{"a":1}', "🙂", '"finish_reason":"stop"']
)
values = st.dictionaries(
    st.text(max_size=3), st.integers(0, 9) | words | st.none() | st.lists(st.booleans(), max_size=2), max_size=3
)


@st.composite
def fragments(draw: Any, number: int) -> tuple[str, str, list[dict[str, Any]]]:
    """One call: its name, its arguments, and the pieces they come in."""
    name, arguments = f"f{number}", json.dumps(draw(values), ensure_ascii=False)
    cuts = sorted(set(draw(st.lists(st.integers(1, max(1, len(arguments) - 1)), max_size=4))))
    slices = [arguments[start:end] for start, end in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
    if draw(st.booleans()):
        slices = ["", *slices]  # the name comes before the arguments
    first = call(number, f"c{number}", name, slices[0])
    return name, arguments, [first, *(call(number, args=piece) for piece in slices[1:])]


def interleaved(draw: Any, threads: list[list[Any]]) -> list[Any]:
    """All pieces of all threads in some order; the first pieces of threads, and the pieces of each, stay in theirs."""
    out, begun = [], 0
    while any(threads):
        ready = [at for at, thread in enumerate(threads[: begun + 1]) if thread]
        at = draw(st.sampled_from(ready)) if ready else begun
        if at == begun and begun < len(threads):
            begun += 1
        if threads[at]:
            out.append(threads[at].pop(0))
    return out


@st.composite
def streams(draw: Any, *, whole: bool = True) -> Told:
    """Text, thoughts and up to three calls, crosswise; counts anywhere; a finish alone or with the last piece; or a failure."""
    texts, thoughts = draw(st.lists(words, max_size=4)), draw(st.lists(words, max_size=3))
    told = [draw(fragments(number)) for number in range(draw(st.integers(0, 3)))]
    threads: list[list[Any]] = [
        [{"content": text} for text in texts],
        [{"reasoning_content": text} for text in thoughts],
    ]
    pieces = interleaved(
        draw, threads[: draw(st.just(2))] + [[{"tool_calls": [piece]} for piece in parts] for *_, parts in told]
    )
    chunks = [chunk({"role": "assistant", "content": None}), *(chunk(piece) for piece in pieces)]
    finish = draw(st.sampled_from(FINISHES))
    ending = [chunk(finish=finish)]
    usage = event({"choices": [], "model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    chunks.insert(draw(st.integers(1, len(chunks))), usage) if draw(st.booleans()) else ending.append(usage)
    broken = not whole
    if whole:
        ending += draw(st.sampled_from([[DONE], []]))
        chunks += ending
    else:
        chunks = chunks[: draw(st.integers(1, len(chunks)))]
        chunks += draw(
            st.sampled_from(
                [[], [event({"error": {"code": 500, "message": "broke"}})], [b"data: {bad\n\n"], [b"data: {"]]
            )
        )
    return Told(chunks, "".join(texts), "".join(thoughts), [(name, args) for name, args, _ in told], finish, broken)


def anthropic(told: Told) -> list[dict[str, Any]]:
    return events(written(told.chunks, WRITERS["anthropic"]()))


@ENOUGH
@given(told=streams())
def test_anthropic_opens_one_block_at_a_time_and_loses_nothing(told: Told) -> None:
    """Indices ascend, every start has its stop, one message_delta, one message_stop; text, thoughts and calls are all there."""
    seen = anthropic(told)
    blocks = well_nested(seen)
    kinds = Counter(item["type"] for item in seen)
    assert (kinds["message_start"], kinds["message_delta"], kinds["message_stop"]) == (1, 1, 1)
    assert "".join(piece["text"] for one in blocks if one["type"] == "text" for piece in one["pieces"]) == told.text
    thoughts = [piece.get("thinking", "") for one in blocks if one["type"] == "thinking" for piece in one["pieces"]]
    assert "".join(thoughts) == told.thought
    asked = [
        (one["name"], "".join(piece["partial_json"] for piece in one["pieces"]))
        for one in blocks
        if one["type"] == "tool_use"
    ]
    assert asked == told.calls


@ENOUGH
@given(told=streams(), dialect=st.sampled_from(["responses", "responses, summaries"]))
def test_responses_number_their_events_and_lose_nothing(told: Told, dialect: str) -> None:
    """Numbers without gaps, items added and done in pairs, pieces that add up to their items, one last event."""
    seen = events(written(told.chunks, WRITERS[dialect]()))
    check_grammar(seen)
    output = seen[-1]["response"]["output"]
    assert "".join(part["text"] for one in output if one["type"] == "message" for part in one["content"]) == told.text
    assert [(one["name"], one["arguments"]) for one in output if one["type"] == "function_call"] == told.calls
    place = "summary" if "summaries" in dialect else "content"
    assert "".join(part["text"] for one in output if one["type"] == "reasoning" for part in one[place]) == told.thought


@ENOUGH
@given(told=streams(), dialect=st.sampled_from(["chat", "generate"]))
def test_ollama_is_done_once_and_last(told: Told, dialect: str) -> None:
    """Exactly one line says done, the last; calls come whole."""
    lines = ndjson(written(told.chunks, WRITERS[dialect]()))
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    said = [
        line.get("message", {"content": line.get("response"), "thinking": line.get("thinking", "")}) for line in lines
    ]
    assert "".join(one["content"] for one in said) == told.text
    assert "".join(one.get("thinking", "") for one in said) == told.thought
    heard = [one["function"] for line in lines for one in line.get("message", {}).get("tool_calls", [])]
    assert [(one["name"], one["arguments"]) for one in heard] == [
        (name, arguments_object(args)) for name, args in told.calls
    ]


@ENOUGH
@given(told=streams(), drop=st.booleans(), caller=st.sampled_from(["m", "other"]))
def test_openai_finishes_once_and_loses_nothing(told: Told, drop: bool, caller: str) -> None:
    """One finish for the choice, at most one `[DONE]`, last; fragments merge to the calls by their index."""
    seen = payloads(filtered(told.chunks, caller, drop=drop))
    ends = [item for item in seen if item == "[DONE]"]
    assert ends == (["[DONE]"] if DONE in told.chunks else [])
    assert not ends or seen[-1] == "[DONE]"
    choices = [choice for item in seen if item != "[DONE]" for choice in item["choices"]]
    assert [one["finish_reason"] for one in choices if one["finish_reason"]] == [told.finish]
    assert "".join(one["delta"].get("content") or "" for one in choices) == told.text
    assert "".join(one["delta"].get("reasoning_content") or "" for one in choices) == told.thought
    merged: dict[int, list[str]] = {}
    for one in choices:
        for piece in one["delta"].get("tool_calls", []):
            held = merged.setdefault(piece["index"], [piece["function"].get("name"), ""])
            held[1] += piece["function"].get("arguments", "")
    assert [tuple(held) for _, held in sorted(merged.items())] == told.calls
    assert len([item for item in seen if item != "[DONE]" and not item["choices"]]) <= (0 if drop else 1)


@ENOUGH
@given(parts=st.lists(streams(), min_size=2, max_size=3), dressing=st.sampled_from(sorted(DRESSINGS)))
def test_several_answers_are_one_stream(parts: list[Told], dressing: str) -> None:
    """Asked one after the other and dressed in any way: each choice has its own number, text and finish; one id, one end."""
    numbering, raw = Numbering(), b""
    for numbering.at, told in enumerate(parts):
        raw += numbering.renumber(filtered([DRESSINGS[dressing](b"".join(told.chunks))]))
    seen = payloads(raw + numbering.end(None))
    assert seen[-1] == "[DONE]"
    assert seen.count("[DONE]") == 1
    choices = [choice for item in seen[:-1] for choice in item["choices"]]
    for at, told in enumerate(parts):
        own = [one for one in choices if one["index"] == at]
        assert [one["finish_reason"] for one in own if one["finish_reason"]] == [told.finish]
        assert "".join(one["delta"].get("content") or "" for one in own) == told.text
    assert len({item["id"] for item in seen[:-1]}) == 1


@ENOUGH
@given(told=streams(whole=False))
def test_what_broke_ends_in_one_failure_everywhere(told: Told) -> None:
    """A failure in the middle: what was open stays open, the failure is told once and last, and nothing means success (D9, D35)."""
    seen = anthropic(told)
    assert [item["type"] for item in seen].count("error") == 1
    assert seen[-1]["type"] == "error"
    kinds = Counter(item["type"] for item in seen)
    assert kinds["message_delta"] == kinds["message_stop"] == 0
    assert 0 <= kinds["content_block_start"] - kinds["content_block_stop"] <= 1
    lines = ndjson(written(told.chunks, WRITERS["chat"]()))
    assert [set(line) == {"error"} for line in lines] == [False] * (len(lines) - 1) + [True]
    typed = events(written(told.chunks, WRITERS["responses"]()))
    assert [item["sequence_number"] for item in typed] == list(range(len(typed)))
    assert typed[-1]["type"] == ("response.failed" if len(typed) > 1 else "error")
    assert not [
        item for item in typed[:-1] if item["type"] in ("response.completed", "response.incomplete", "response.failed")
    ]
    passed = payloads(filtered(told.chunks))
    assert ["error" in item for item in passed] == [False] * (len(passed) - 1) + [True]


deltas = st.lists(
    words.map(Text)
    | words.map(Reasoning)
    | st.builds(
        ToolFragment,
        st.integers(0, 2),
        st.sampled_from([None, "id"]),
        st.sampled_from([None, "f", "g"]),
        st.sampled_from(["", "{}", '{"a"', ":1}", "[1]"]),
    )
    | st.just(Usage(1, 1))
    | st.builds(Finish, st.sampled_from(FINISHES)),
    max_size=12,
)


@ENOUGH
@given(
    said=deltas,
    last=st.sampled_from([Finish("stop"), Finish("length"), Failed(500, "broke")]),
    dialect=st.sampled_from(sorted(WRITERS)),
)
def test_no_order_of_deltas_breaks_a_grammar(said: list[Delta], last: Delta, dialect: str) -> None:
    """Also orders that no reader makes: an early finish, calls without a name or cut, fragments behind their call, counts in between."""
    writer = WRITERS[dialect]()
    raw = b"".join([*(writer.write(delta) for delta in said), writer.write(last), writer.flush()])
    assert writer.write(Text("late")) == writer.flush() == b""
    GRAMMARS[dialect.partition(",")[0]](raw, failed=isinstance(last, Failed))


def _anthropic(raw: bytes, *, failed: bool) -> None:
    if failed:
        assert events(raw)[-1]["type"] == "error"
    else:
        well_nested(events(raw))


def _responses(raw: bytes, *, failed: bool) -> None:
    if failed:
        assert events(raw)[-1]["type"] in ("error", "response.failed")
    else:
        check_grammar(events(raw))


def _ollama(raw: bytes, *, failed: bool) -> None:
    lines = ndjson(raw)
    assert [line.get("done") for line in lines] == [False] * (len(lines) - 1) + [None if failed else True]


GRAMMARS: dict[str, Callable[..., None]] = {
    "anthropic": _anthropic,
    "responses": _responses,
    "chat": _ollama,
    "generate": _ollama,
}


@pytest.mark.parametrize("dialect", ["anthropic", "responses"])
def test_text_inside_a_call_waits_for_its_end(dialect: str) -> None:
    """A call that is interrupted by text is told whole; the text comes behind it, and streams on from there."""
    inside = [
        tools(call(0, "c", "f", '{"a"')),
        chunk({"content": "x"}),
        tools(call(0, args=":1}")),
        chunk({"content": "y"}),
    ]
    raw = written([*inside, chunk(finish="stop"), DONE], WRITERS[dialect]())
    if dialect == "anthropic":
        blocks = well_nested(events(raw))
        assert [block["type"] for block in blocks] == ["tool_use", "text"]
        assert [piece["text"] for piece in blocks[1]["pieces"]] == ["x", "y"]
        assert "".join(piece["partial_json"] for piece in blocks[0]["pieces"]) == '{"a":1}'
    else:
        output = events(raw)[-1]["response"]["output"]
        assert [(one.get("arguments"), one["type"]) for one in output] == [
            ('{"a":1}', "function_call"),
            (None, "message"),
        ]
