"""The reader of child streams; its slices and nasty forms are under tests/contract/wire."""

import json

import pytest

from blazar.domain.wire.answer import Answer, answer_of
from blazar.domain.wire.child import ChildReader, failed_of, finish_of, usage_of, with_thought
from blazar.domain.wire.delta import Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.reasoning import ThinkSplitter
from tests.contract.wire.chunks import DONE, USAGE, View, call, chunk, decode, event, reading, tools


def test_an_answer_in_order() -> None:
    """Deltas come as the child told them, finish and usage last."""
    stream = (
        chunk({"role": "assistant", "content": None}) + chunk({"reasoning_content": "hm"}) + chunk({"content": "a"})
    )
    stream += tools(call(0, "c", "f", "{}")) + chunk(finish="tool_calls") + USAGE + DONE
    assert [type(delta).__name__ for delta in reading(stream)] == [
        "Reasoning",
        "Text",
        "ToolFragment",
        "Finish",
        "Usage",
    ]


def test_deltas_leave_as_soon_as_their_event_is_whole() -> None:
    """Nothing waits for the end (A24)."""
    reader = ChildReader(decode, "m")
    assert reader.feed(chunk({"content": "a"})) == [Text("a")]
    assert reader.feed(chunk({"content": "b"})[:-1]) == []
    assert reader.feed(b"\n" + chunk({"content": "c"})) == [Text("b"), Text("c")]


def test_the_state_is_for_accounting() -> None:
    """`done`, `usage` and `failed` say how it went."""
    reader = ChildReader(decode, "m")
    reader.feed(chunk({"content": "a"}, "stop"))
    assert not reader.done
    reader.feed(USAGE + DONE)
    assert reader.done
    assert reader.usage == Usage(5, 2, 1)
    assert reader.failed is None
    assert reader.feed(chunk({"content": "ghost"})) == reader.flush() == []


def test_a_failure_keeps_the_counts_that_were_known() -> None:
    """What was generated before the failure is still accounted for."""
    reader = ChildReader(decode, "m")
    reader.feed(USAGE + event({"error": "x"}))
    assert reader.failed == Failed(502, "x")
    assert reader.usage == Usage(5, 2, 1)


def test_an_endless_event_is_refused() -> None:
    """A child that never ends its line cannot fill the memory."""
    reader = ChildReader(decode, "m")
    assert reader.feed(b"data: {" + b"x" * (8 * 2**20 - 100)) == []
    (failed,) = reader.feed(b"x" * 100)
    assert isinstance(failed, Failed)
    assert "8 MiB" in failed.message
    assert reader.done


def test_the_finish_reason_may_come_with_text() -> None:
    """Engines that put both in one chunk lose nothing."""
    assert reading(chunk({"content": "a"}, "length") + DONE) == [Text("a"), Finish("length")]


def test_the_first_finish_reason_holds() -> None:
    """A second one changes nothing."""
    assert reading(chunk(finish="length") + chunk(finish="stop") + DONE) == [Finish("length")]


def test_think_tags_in_text_are_split_when_asked_for() -> None:
    """The splitter works across chunks, and its rest comes before the finish."""
    stream = chunk({"content": "<thi"}) + chunk({"content": "nk>a</think>b"}) + DONE
    assert reading(stream, splitter=ThinkSplitter()) == [Reasoning("a"), Text("b"), Finish("stop")]
    held = chunk({"content": "Paris"}) + DONE
    assert reading(held, splitter=ThinkSplitter(prefilled=True)) == [Text("Paris"), Finish("stop")]


@pytest.mark.parametrize(
    ("reason", "calls", "expected"),
    [
        ("stop", 1, Finish("tool_calls")),
        (None, 1, Finish("tool_calls")),
        ("function_call", 1, Finish("tool_calls")),
        ("length", 1, Finish("length", "END")),
        (None, 0, Finish("stop", "END")),
        ("content_filter", 0, Finish("content_filter", "END")),
    ],
)
def test_why_it_ended(reason: str | None, calls: int, expected: Finish) -> None:
    """An answer of calls says so; a cut one stays cut (A6)."""
    assert finish_of(reason, "END", calls=calls) == expected


def test_counts() -> None:
    """The larger prompt count wins, the engine's timings come along; without both there are none (B12)."""
    counts = View({"prompt_tokens": 1, "completion_tokens": None})
    timings = View({"prompt_n": 1, "cache_n": 236, "predicted_n": 35})
    assert usage_of(counts, timings) == Usage(237, 35, 236, 0, 0)
    assert usage_of(None, timings) == Usage(237, 35, 236, 0, 0)
    assert usage_of(View({"prompt_tokens": 300, "completion_tokens": 2}), timings) == Usage(300, 2, 236, 0, 0)
    assert usage_of(None, None) is None


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        ({"code": 400, "message": "too long"}, 400, "too long"),
        ({"code": "server_error", "message": "x"}, 502, "x"),
        ({"code": 200, "message": "x"}, 502, "x"),
        ("text", 502, "text"),
    ],
)
def test_child_errors_keep_status_and_text(error: object, status: int, message: str) -> None:
    """Where they have any (D10)."""
    assert failed_of(error, "m") == Failed(status, message)


@pytest.mark.parametrize("error", [{}, {"message": None}, "", [], 7])
def test_an_error_without_words_gets_some(error: object) -> None:
    """The client always reads a sentence."""
    assert failed_of(error, "m").message.startswith("the engine for 'm'")


def test_an_end_without_an_answer_is_a_failure() -> None:
    """`[DONE]` behind events without a choice is an engine's failed step (C11); behind nothing at all it is an empty answer."""
    hollow = ChildReader(decode, "m")
    hollow.feed(USAGE + DONE)
    assert hollow.failed is not None
    assert hollow.failed.status == 502
    empty = ChildReader(decode, "m")
    assert empty.feed(DONE) == [Finish("stop")]


def test_reasoning_has_two_names() -> None:
    """mlx-lm says `reasoning`."""
    assert reading(chunk({"reasoning": "hm"}) + chunk(finish="stop") + DONE)[0] == Reasoning("hm")


@pytest.mark.parametrize(
    ("counts", "thought"),
    [
        ({}, 5),
        ({"completion_tokens_details": {"reasoning_tokens": 3}}, 3),
        ({"reasoning_tokens": 4}, 4),
        ({"completion_tokens_details": {"reasoning_tokens": 99}}, 10),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, 5),
    ],
)
def test_thinking_is_counted_as_told_or_by_its_share(counts: dict[str, object], thought: int) -> None:
    """The same number streamed and whole; never more than there is. SGLang's 0 beside thoughts means that it does not count them."""
    usage = {"prompt_tokens": 1, "completion_tokens": 10, **counts}
    stream = chunk({"reasoning_content": "hmm"}) + chunk({"content": "abc"}) + chunk(finish="stop")
    told = reading(stream + event({"choices": [], "usage": usage}) + DONE)[-1]
    assert told == Usage(1, 10, thought=thought)
    message = {"reasoning_content": "hmm", "content": "abc"}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    answer = answer_of(json.dumps(whole).encode(), decode, "m")
    assert isinstance(answer, Answer)
    assert answer.usage == told


def test_tags_and_arguments_count_too() -> None:
    """Thoughts that a splitter finds are thoughts, what a tool is called with is none."""
    reader = ChildReader(decode, "m", ThinkSplitter())
    reader.feed(chunk({"content": "<think>hmm</think>"}) + tools(call(0, "c", "f", '{"a":1}')) + chunk(finish="stop"))
    reader.feed(event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 10}}) + DONE)
    assert reader.usage == Usage(1, 10, thought=3)


def test_no_counts_are_none() -> None:
    """Nothing is made up where a child counted nothing."""
    assert with_thought(None, None, 5, 5) is None


def test_alone_leaves_one_call() -> None:
    """As the whole answer does, and the finish is that of a call."""
    reader = ChildReader(decode, "m", alone=True)
    stream = tools(call(0, "c", "f", "{}")) + tools(call(1, "d", "g", "{}")) + chunk(finish="tool_calls") + DONE
    assert [delta for delta in reader.feed(stream) if not isinstance(delta, Usage)] == [
        ToolFragment(0, "c", "f", "{}"),
        Finish("tool_calls"),
    ]


def test_the_size_of_the_prompt_is_told_once_and_first() -> None:
    """llama-server repeats it with every part of the prompt that it has read."""
    progress = [
        chunk({"role": "assistant", "content": None}, prompt_progress={"total": 9, "processed": at}) for at in (0, 9)
    ]
    said = reading(b"".join(progress) + chunk({"content": "a"}) + chunk(finish="stop") + USAGE + DONE)
    assert said[:2] == [Usage(9, 0), Text("a")]
    assert [type(delta) for delta in said[2:]] == [Finish, Usage]
