"""Recorded streams of a real engine through the reader, every writer and the OpenAI filter: whole and byte by byte."""

import json
from typing import Any

import pytest

from blazar.domain.wire.answer import Answer, answer_of
from blazar.domain.wire.delta import Failed, Finish, Reasoning, Text, Usage
from blazar.domain.wire.responses_items import thought_of
from tests.contract.wire.chunks import (
    RECORDED,
    WRITERS,
    bytewise,
    collect,
    decode,
    events,
    filtered,
    ndjson,
    payloads,
    reading,
    well_nested,
    written,
)
from tests.support.scripted_gguf import PONDERED, TWICE
from tests.support.typed_events import check_grammar

STREAMS = sorted(path.stem for path in RECORDED.glob("*.sse"))
REFUSED = sorted(path.stem for path in RECORDED.glob("refused/*.json"))
REPLIES = sorted(path.stem for path in RECORDED.glob("*.json"))
FAILING = {"error", "error_grammar"}
SEVERAL = {"two", "two_calls_each"}
"""Streams of several answers at once. The filter takes them; readers read one, and the lane asks for one at a time."""


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.sse").read_bytes()


def said(name: str) -> Answer:
    answer = collect(reading(recorded(name)))
    assert isinstance(answer, Answer)
    return answer


def test_the_recordings_are_here() -> None:
    """Every kind of stream that a translation may meet was recorded from a real engine."""
    wanted = {"text", "think", "tool", "tool_cut", "long", "schema", "stop_word", "completion", "unicode", "error"}
    wanted |= {"tool_parallel", "think_tool", "tool_forced", "two", "logprobs", "nothing", "think_cut"}
    assert wanted <= set(STREAMS)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_the_reader_does_not_care_where_slices_end(name: str, ends: bytes) -> None:
    """One byte at a time gives the deltas that one piece gives, whatever ends the lines."""
    stream = recorded(name).replace(b"\n", ends)
    whole = reading(stream)
    assert whole == reading(bytewise(stream))
    assert whole == reading(recorded(name))
    assert isinstance(whole[-1], Failed if name in FAILING else Usage | Finish)


def test_the_size_of_the_prompt_comes_before_the_answer() -> None:
    """Anthropic's `message_start` has it, as cost meters read it there; to the others such a stream is like any other."""
    told, plain = [events(written([recorded(name)], WRITERS["anthropic"]())) for name in ("progress", "text")]
    first, last = told[0]["message"]["usage"], told[-2]["usage"]
    assert told[0]["type"] == "message_start"
    assert first["input_tokens"] == last["input_tokens"] > 0
    assert (first["output_tokens"], plain[0]["message"]["usage"]["input_tokens"]) == (0, 0)
    assert told[1:-2] == plain[1:-2]
    assert said("progress")._replace(usage=None) == said("text")._replace(usage=None)
    for dialect in WRITERS.keys() - {"anthropic", "anthropic, no thinking"}:
        pieces = [written([recorded(name)], WRITERS[dialect]()) for name in ("progress", "text")]
        assert len(pieces[0].splitlines()) == len(pieces[1].splitlines()), dialect


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("dialect", WRITERS)
def test_writers_say_the_same_however_the_stream_was_sliced(name: str, dialect: str) -> None:
    """Client bytes of each dialect are identical for one piece, single bytes and awkward slices."""
    stream = recorded(name)
    whole = written([stream], WRITERS[dialect]())
    assert whole
    assert whole == written(bytewise(stream), WRITERS[dialect]())
    for size in (7, 64, 251, 1000):
        slices = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert whole == written(slices, WRITERS[dialect]())


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("caller", ["scripted", "scripted:latest", 'ü"x'])
@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_the_filter_does_not_care_where_slices_end(name: str, caller: str, drop: bool, ends: bytes) -> None:
    """The OpenAI stream is the same for one piece and single bytes, with and without each rewrite."""
    stream = recorded(name).replace(b"\n", ends)
    whole = filtered([stream], caller, drop=drop, child="scripted")
    assert whole == filtered(bytewise(stream), caller, drop=drop, child="scripted")
    assert whole == filtered([recorded(name)], caller, drop=drop, child="scripted")
    told = payloads(whole)
    assert (told[-1] == "[DONE]") == (name not in FAILING)
    assert {item["model"] for item in told if "model" in item and item != "[DONE]"} == {caller}


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in FAILING])
def test_a_stream_that_needs_nothing_passes_untouched(name: str) -> None:
    """Same name, usage wanted: the child's bytes leave as they came (D15)."""
    assert filtered([recorded(name)], "scripted", drop=False) == recorded(name)
    assert filtered(bytewise(recorded(name)), "scripted", drop=False) == recorded(name)


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in FAILING])
def test_exactly_the_trailing_usage_chunk_is_dropped(name: str) -> None:
    """Usage that the gateway asked for itself never reaches the caller, and nothing else is missing (A7)."""
    blocks = recorded(name).split(b"\n\n")
    kept = b"\n\n".join(block for block in blocks if b'"choices":[]' not in block)
    assert filtered([recorded(name)], "scripted", drop=True) == kept


@pytest.mark.parametrize(
    ("name", "text", "reasoning", "finish"),
    [
        ("text", "Hello from the scripted model.", "", Finish("stop")),
        ("text_without_usage", "Hello from the scripted model.", "", Finish("stop")),
        ("think", "Thought through!", "The user wants thought.\n", Finish("stop")),
        ("long", "tick tock " * 20, "", Finish("length")),
        ("completion", "Hello from the scripted model.", "", Finish("stop")),
        ("stop_word", "Hello from the ", "", Finish("stop", "scripted")),
    ],
)
def test_what_the_engine_said(name: str, text: str, reasoning: str, finish: Finish) -> None:
    """Text, thinking and the reason of the end are read as the engine meant them."""
    answer = said(name)
    assert (answer.text, answer.reasoning, answer.finish) == (text, reasoning, finish)


def test_text_outside_ascii_survives() -> None:
    """The engine writes UTF-8 unescaped; no writer loses a character of it."""
    text = said("unicode").text
    assert not text.isascii()
    lines = ndjson(written(bytewise(recorded("unicode")), WRITERS["generate"]()))
    assert "".join(line["response"] for line in lines) == text
    blocks = well_nested(events(written(bytewise(recorded("unicode")), WRITERS["anthropic"]())))
    assert "".join(piece["text"] for block in blocks for piece in block["pieces"]) == text


def test_a_real_tool_call_reaches_ollama_clients_whole() -> None:
    """Argument fragments become one line with an object (B16)."""
    lines = ndjson(written([recorded("tool")], WRITERS["chat"]()))
    calls = [call for line in lines for call in line["message"].get("tool_calls", [])]
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in calls] == [("add", {"a": 1, "b": 1})]
    assert calls[0]["id"]
    assert (lines[-1]["done"], lines[-1]["done_reason"]) == (True, "stop")


def test_a_real_tool_call_streams_to_anthropic_clients() -> None:
    """The call is one tool_use block whose pieces join to its arguments."""
    told = events(written([recorded("tool")], WRITERS["anthropic"]()))
    (block,) = well_nested(told)
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "add", {})
    assert len(block["pieces"]) > 1
    assert json.loads("".join(piece["partial_json"] for piece in block["pieces"])) == {"a": 1, "b": 1}
    assert told[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_call_cut_by_the_limit_is_never_made_valid() -> None:
    """The token limit ends inside the arguments: `length` stays (A6), and no client gets a guessed call."""
    answer = said("tool_cut")
    assert answer.finish == Finish("length")
    lines = ndjson(written([recorded("tool_cut")], WRITERS["chat"]()))
    calls = [call for line in lines for call in line["message"].get("tool_calls", [])]
    assert [set(call["function"]["arguments"]) for call in calls] == [{"raw"}]
    assert lines[-1]["done_reason"] == "length"
    assert events(written([recorded("tool_cut")], WRITERS["anthropic"]()))[-2]["delta"]["stop_reason"] == "max_tokens"


def test_a_schema_answer_is_the_json_that_was_written() -> None:
    """Constrained output passes through every writer as parseable JSON."""
    value = json.loads(said("schema").text)
    assert set(value) == {"name", "age", "tags"}
    lines = ndjson(written([recorded("schema")], WRITERS["chat"]()))
    assert json.loads("".join(line["message"]["content"] for line in lines)) == value


def test_thinking_is_told_apart_in_every_dialect() -> None:
    """Ollama has a field for it, Anthropic a signed block before the text."""
    lines = ndjson(written([recorded("think")], WRITERS["chat"]()))
    assert "".join(line["message"].get("thinking", "") for line in lines) == "The user wants thought.\n"
    blocks = well_nested(events(written([recorded("think")], WRITERS["anthropic"]())))
    assert [block["type"] for block in blocks] == ["thinking", "text"]
    assert [piece["type"] for piece in blocks[0]["pieces"]][-1] == "signature_delta"
    assert blocks[0]["pieces"][-1]["signature"]


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in FAILING])
@pytest.mark.parametrize("dialect", ["responses", "responses, summaries"])
def test_real_streams_become_typed_events(name: str, dialect: str) -> None:
    """In their grammar, whose end holds what the engine said."""
    told = events(written([recorded(name)], WRITERS[dialect]()))
    check_grammar(told)
    answer, output = said(name), told[-1]["response"]["output"]
    texts = [part["text"] for item in output if item["type"] == "message" for part in item["content"]]
    assert "".join(texts) == answer.text
    assert [(item["name"], item["arguments"]) for item in output if item["type"] == "function_call"] == [
        (call.name, call.arguments) for call in answer.calls
    ]
    thoughts = [thought_of(item) for item in output if item["type"] == "reasoning"]
    assert "".join(thoughts) == answer.reasoning
    assert (told[-1]["type"] == "response.incomplete") == (answer.finish.reason == "length")


@pytest.mark.parametrize("dialect", ["chat, no thinking", "anthropic, no thinking", "responses, no thinking"])
def test_thinking_is_not_told_to_those_who_want_none(dialect: str) -> None:
    """A model that thinks anyway does not leak it (C7)."""
    raw = written([recorded("think")], WRITERS[dialect]())
    assert b"thought" not in raw
    assert b"Thought" in raw


def test_an_error_inside_the_stream_ends_each_dialect_its_own_way() -> None:
    """The engine's words, its status, and nothing that looks like success (D9, D35, C11)."""
    words = "The model produced output that does not match the expected peg-native format"
    (failed,) = reading(recorded("error"))
    assert failed == Failed(500, words)
    assert ndjson(written([recorded("error")], WRITERS["chat"]()))[-1] == {"error": words}
    told = events(written([recorded("error")], WRITERS["anthropic"]()))
    assert told[-1]["error"] == {"type": "api_error", "message": words}
    last = payloads(filtered([recorded("error")], "scripted"))[-1]
    assert last == {"error": {"message": words, "type": "blazar_error", "param": None, "code": 500}}


def test_counts_come_from_the_engine() -> None:
    """Prompt and completion tokens, and the engine's own timings in nanoseconds."""
    usage = said("text").usage
    assert (usage.prompt, usage.completion) == (23, 7)
    last = ndjson(written([recorded("text")], WRITERS["chat"]()))[-1]
    assert (last["prompt_eval_count"], last["eval_count"]) == (23, 7)
    assert last["prompt_eval_duration"] == round(usage.prompt_ms * 1e6) > 0
    assert last["eval_duration"] == round(usage.predicted_ms * 1e6) > 0
    assert last["total_duration"] == 250_000_000
    assert "load_duration" not in last


@pytest.mark.parametrize("name", REPLIES)
def test_buffered_and_streamed_replies_agree(name: str) -> None:
    """The same request, not streamed, is read to the same answer (ids of calls are the engine's own each time)."""
    answer = answer_of((RECORDED / f"{name}.json").read_bytes(), decode, "m")
    assert isinstance(answer, Answer)
    streamed = said(name)
    assert _comparable(answer) == _comparable(streamed)


def _comparable(answer: Answer) -> tuple[Any, ...]:
    calls = tuple((call.name, call.arguments) for call in answer.calls)
    return answer.text, answer.reasoning, calls, answer.finish, answer.usage.completion


CALLED: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "tool_parallel": ("", list(TWICE)),
    "think_tool": (PONDERED, [("add", {"a": 1, "b": 1})]),
    "tool_required": ("", [("add", {"a": 1, "b": 1})]),
    "tool_forced": ("", [("get_weather", {"city": ""})]),
}
"""Recording: the thinking before the calls, and the calls."""


@pytest.mark.parametrize("name", CALLED)
def test_calls_reach_every_dialect_with_the_thinking_before_them(name: str) -> None:
    """Parallel calls in order and apart, thinking in its own place, and the reason is the calls."""
    thought, calls = CALLED[name]
    answer = said(name)
    assert (answer.reasoning, answer.finish) == (thought, Finish("tool_calls"))
    lines = ndjson(written([recorded(name)], WRITERS["chat"]()))
    heard = [one["function"] for line in lines for one in line["message"].get("tool_calls", [])]
    assert [(one["name"], one["arguments"]) for one in heard] == calls
    assert "".join(line["message"].get("thinking", "") for line in lines) == thought
    told = events(written([recorded(name)], WRITERS["anthropic"]()))
    blocks = well_nested(told)
    assert [block["type"] for block in blocks] == ["thinking"] * bool(thought) + ["tool_use"] * len(calls)
    spelled = ["".join(piece["partial_json"] for piece in block["pieces"]) for block in blocks if "input" in block]
    assert [json.loads(one) for one in spelled] == [arguments for _, arguments in calls]
    assert told[-2]["delta"]["stop_reason"] == "tool_use"
    output = events(written([recorded(name)], WRITERS["responses"]()))[-1]["response"]["output"]
    found = [(item["name"], json.loads(item["arguments"])) for item in output if item["type"] == "function_call"]
    assert found == calls
    assert len({item["call_id"] for item in output if item["type"] == "function_call"}) == len(calls)


def test_a_second_call_that_is_cut_leaves_the_first_one_whole() -> None:
    """`length` inside the second of two calls: the first is complete, the second is told as incomplete, never mended (A6)."""
    output = events(written([recorded("tool_parallel_cut")], WRITERS["responses"]()))[-1]["response"]["output"]
    assert [(item["status"], item["arguments"]) for item in output] == [
        ("completed", '{"city": "Paris"}'),
        ("incomplete", "{"),
    ]
    lines = ndjson(written([recorded("tool_parallel_cut")], WRITERS["chat"]()))
    heard = [one["function"]["arguments"] for line in lines for one in line["message"].get("tool_calls", [])]
    assert heard == [{"city": "Paris"}, {"raw": "{"}]


@pytest.mark.parametrize(("name", "finish"), [("nothing", "stop"), ("nothing_cut", "length"), ("think_cut", "length")])
def test_an_answer_without_a_word_is_an_answer(name: str, finish: str) -> None:
    """No token of text: whole in every dialect, with the engine's reason."""
    answer = said(name)
    assert (answer.text, answer.calls, answer.finish.reason) == ("", (), finish)
    assert events(written([recorded(name)], WRITERS["anthropic"]()))[-1]["type"] == "message_stop"
    assert ndjson(written([recorded(name)], WRITERS["chat"]()))[-1]["done_reason"] == finish
    status = "completed" if finish == "stop" else "incomplete"
    assert events(written([recorded(name)], WRITERS["responses"]()))[-1]["type"] == f"response.{status}"


@pytest.mark.parametrize("name", ["logprobs", "think_logprobs"])
def test_a_chats_odds_come_with_their_words(name: str) -> None:
    """A row for each token that was told, in text and in thinking."""
    told = [delta for delta in reading(recorded(name)) if isinstance(delta, Text | Reasoning)]
    assert all(row["token"].strip() in delta.text for delta in told for row in delta.odds)
    assert len([delta for delta in told if delta.odds]) >= 3
    assert payloads(filtered([recorded(name)], "scripted", drop=False))[1]["choices"][0]["logprobs"]["content"]


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_several_answers_at_once_pass_the_filter_apart(name: str) -> None:
    """Both end once, in the engine's order; equal numbers of calls in two answers stay what they are."""
    told = payloads(filtered([recorded(name)], "mine", drop=True, child="scripted"))
    assert told[-1] == "[DONE]"
    assert told.count("[DONE]") == 1
    choices = [choice for item in told[:-1] for choice in item["choices"]]
    assert sorted(one["index"] for one in choices if one["finish_reason"]) == [0, 1]
    said_by = ["".join(one["delta"].get("content") or "" for one in choices if one["index"] == at) for at in (0, 1)]
    assert said_by == (["Hello from the scripted model."] * 2 if name == "two" else ["", ""])
    assert all(item["choices"] for item in told[:-1])


@pytest.mark.parametrize("name", REFUSED)
def test_the_engines_refusals_keep_status_and_words(name: str) -> None:
    """A body that is no answer is the engine's own failure."""
    raw = (RECORDED / "refused" / f"{name}.json").read_bytes()
    error = json.loads(raw)["error"]
    assert answer_of(raw, decode, "m") == Failed(error["code"], error["message"])


def test_no_recording_names_a_machine() -> None:
    """Recordings are committed: they hold no path of the machine they were made on."""
    for path in RECORDED.rglob("*.*"):
        raw = path.read_bytes()
        assert b"/home/" not in raw
        assert b".gguf" not in raw
