"""What raw completions have of their own."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.codec import decode_chunk
from blazar.domain.errors import Malformed
from blazar.domain.wire.completions import TextFilter, counts_of, reshaped, together, want_logprobs
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.sse import DONE, data_event

COUNTS = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}


def row(token: str, logprob: float) -> dict[str, Any]:
    """One token, as llama-server tells it."""
    top = [{"id": 1, "token": token, "bytes": [], "logprob": logprob}, {"id": 2, "token": "x", "logprob": -9.0}]
    return {"id": 1, "token": token, "bytes": [], "logprob": logprob, "top_logprobs": top}


def event(text: str, index: int = 0, finish: str | None = None, rows: Any = None, **more: Any) -> bytes:
    """One event of a child's stream."""
    told = None if rows is None else {"content": rows}
    choice = {"text": text, "index": index, "logprobs": told, "finish_reason": finish}
    return data_event(json.dumps({"choices": [choice], "created": 1, "model": "m", "id": "c", **more}).encode())


def through(*data: bytes, usage: bool = False, bare: bool = False) -> tuple[list[Any], TextFilter]:
    """What a client reads, and the filter."""
    filtered = TextFilter(decode_chunk, "m", not usage, "m", bare=bare)
    out = b"".join(map(filtered.feed, data)) + filtered.flush()
    assert out.endswith(DONE)
    assert out.count(DONE) == 1
    return [json.loads(line[6:]) for line in out.removesuffix(DONE).splitlines() if line], filtered


def test_log_probabilities_have_the_shape_of_a_completion() -> None:
    """Four lists of one length; the text goes on from event to event, for each choice on its own."""
    seen, _ = through(
        event(" a", rows=[row(" a", -1.0)]),
        event("b", 1, rows=[row("b", -2.0)]),
        event("cd", rows=[row("cd", -3.0)]),
        event("", finish="stop"),
        DONE,
    )
    told = [one["choices"][0]["logprobs"] for one in seen]
    assert told[0] == {
        "tokens": [" a"],
        "token_logprobs": [-1.0],
        "top_logprobs": [{" a": -1.0, "x": -9.0}],
        "text_offset": [0],
    }
    assert [one["text_offset"] for one in told[:3]] == [[0], [0], [2]]
    assert told[3] is None


def test_a_buffered_answer_has_it_too() -> None:
    """Without alternatives where none were asked for; what is in shape stays."""
    answer = {"choices": [{"index": 0, "text": "ab", "logprobs": {"content": [row("a", -1.0), row("b", -2.0)]}}]}
    told = reshaped(answer, bare=True)["choices"][0]["logprobs"]
    assert told == {"tokens": ["a", "b"], "token_logprobs": [-1.0, -2.0], "top_logprobs": None, "text_offset": [0, 1]}
    assert reshaped(answer, bare=False)["choices"][0]["logprobs"] == told
    assert reshaped({}, bare=False) == {}


def test_odd_counts_leave_the_event_that_they_came_with() -> None:
    """They stand behind the choices, and only where they are wanted: a choice beside counts is the end to some clients (A7). Those of several prompts are added up."""
    data = (event("a"), event("", finish="stop", usage=COUNTS), event("", 1, finish="stop", usage=COUNTS), DONE)
    seen, filtered = through(*data)
    assert not any("usage" in one for one in seen)
    assert filtered.usage == Usage(6, 4, 2)
    seen, _ = through(*data, usage=True)
    assert [one["choices"] == [] for one in seen] == [False, False, False, True]
    assert seen[-1] == {"created": 1, "model": "m", "id": "c", "choices": [], "usage": counts_of(Usage(6, 4, 2))}


def test_counts_that_stand_there_already_stay() -> None:
    """Other engines end a stream as OpenAI does."""
    last = data_event(json.dumps({"choices": [], "model": "m", "usage": COUNTS}).encode())
    seen, filtered = through(event("a", finish="stop"), last, DONE, usage=True)
    assert seen[-1]["usage"] == COUNTS
    assert [one["choices"] == [] for one in seen] == [False, True]
    assert filtered.usage == Usage(3, 2, 1)
    assert len(through(event("a", finish="stop"), last, DONE)[0]) == 1


def test_odd_an_event_that_is_none_is_left_out() -> None:
    """A stream of several prompts begins with one; taken for a broken event it would end the answer."""
    seen, _ = through(b"data: null\n\n" + event("a", finish="stop"), DONE)
    assert [one["choices"][0]["text"] for one in seen] == ["a"]


def test_an_error_ends_the_stream() -> None:
    """Without counts and without an end (D35)."""
    filtered = TextFilter(decode_chunk, "m", False, "m", bare=False)
    out = filtered.feed(event("a", finish="stop", usage=COUNTS)) + filtered.feed(
        b'data: {"error":{"message":"no"}}\n\n'
    )
    assert filtered.failed is not None
    assert DONE not in out
    assert filtered.flush() == b""


def test_how_many_alternatives() -> None:
    """None is not 0: with 0 the chosen tokens' own are wanted."""
    assert [want_logprobs(value) for value in (None, 0, 1, 5, True, False)] == [False, True, False, False, False, False]
    for wrong in (-1, "2", 1.5, []):
        with pytest.raises(Malformed, match="logprobs"):
            want_logprobs(wrong)


def test_answers_of_one_prompt_count_it_once() -> None:
    """It is read once."""
    assert together(None, Usage(3, 2, 1)) == Usage(3, 2, 1)
    assert together(Usage(3, 2, 1), Usage(3, 4, 3)) == Usage(6, 6, 4)
    assert together(Usage(3, 2, 1), Usage(3, 4, 3), same_prompt=True) == Usage(3, 6, 1)
