"""One request for several answers."""

import json
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.several import Numbering, joined, prompts_in, split, total, usage_told
from blazar.domain.wire.sse import DONE, data_event

USER = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "body",
    [
        {"messages": USER},
        {"messages": USER, "n": None},
        {"messages": USER, "n": 1},
        {"prompt": "a"},
        {"prompt": ["a"]},
        {"prompt": [1, 2, 3]},
        {"prompt": []},
        {"prompt": ["a", 5]},
        {"prompt": ["a"] * 129},
    ],
)
def test_a_request_for_one_stands_for_itself(body: dict[str, Any]) -> None:
    """A list of tokens is one prompt, texts and tokens mixed are; and more prompts than are asked apart."""
    assert split(body) is None


def test_answers_are_asked_for_prompt_by_prompt() -> None:
    """Each is a request of its own; the same seed would make the same answer every time."""
    asked = split(
        {"prompt": ["a", [1, 2]], "n": 2, "seed": 7, "stream": True, "stream_options": {"include_usage": True}}
    )
    assert asked is not None
    assert (asked.each, asked.told) == (2, True)
    assert asked.parts == [
        {"prompt": "a", "seed": 7, "stream": True},
        {"prompt": "a", "seed": 8, "stream": True},
        {"prompt": [1, 2], "seed": 7, "stream": True},
        {"prompt": [1, 2], "seed": 8, "stream": True},
    ]
    chat = split({"messages": USER, "n": 2, "store": True, "metadata": {}, "seed": None})
    assert chat is not None
    assert chat.parts == [{"messages": USER, "seed": None}] * 2
    assert prompts_in({"messages": USER}) == [None]


@pytest.mark.parametrize(
    ("n", "prompts"), [(0, 1), (-1, 1), (129, 1), (True, 1), ("2", 1), (1.5, 1), (65, 2), (2, 200)]
)
def test_a_number_that_cannot_be_is_named(n: Any, prompts: int) -> None:
    """All prompts' answers together have a bound."""
    with pytest.raises(Malformed) as caught:
        split({"prompt": ["a"] * prompts, "n": n})
    assert caught.value.field == "n"


def test_a_prompt_counts_once_however_many_answers_it_has() -> None:
    """What is unknown adds nothing."""
    told = [Usage(3, 1, 1), Usage(3, 2, 3), Usage(5, 4), None]
    assert total(2, told) == Usage(8, 7, 1)
    assert total(1, told) == Usage(11, 7, 4)
    assert total(1, [None]) is None


def test_buffered_answers_become_one() -> None:
    """Under the first one's id, choices numbered in their order."""
    answers = [
        {"id": str(at), "choices": [{"index": 0, "text": text}], "timings": {}, "usage": {"prompt_tokens": 3}}
        for at, text in enumerate("ab")
    ]
    whole = joined(answers, Usage(3, 2))
    assert whole["choices"] == [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]
    assert (whole["id"], whole["usage"]["total_tokens"], "timings" in whole) == ("0", 5, False)
    assert usage_told(answers[0]) == Usage(3, 0)
    assert usage_told({"usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}}) == Usage(3, 0, 2)
    assert usage_told({}) is None
    assert joined([{"choices": []}], None) == {"choices": []}


def test_events_of_several_streams_are_those_of_one() -> None:
    """One id, one end; what is no object passes, and an error as it is."""
    numbering = Numbering()

    def one(id_: str) -> bytes:
        said = {"id": id_, "created": 1, "choices": [{"index": 0, "delta": {}}]}
        return data_event(json.dumps(said).encode())

    first = numbering.renumber(one("a") + b": wait\n\n" + DONE)
    numbering.at += 1
    second = numbering.renumber(one("b") + DONE)
    assert first.endswith(b": wait\n\n")
    said = json.loads(second[6:])
    assert (said["id"], said["choices"][0]["index"]) == ("a", 1)
    error = b'data: {"error":{"message":"no"}}\n\n'
    assert json.loads(numbering.renumber(error)[6:]) == {"error": {"message": "no"}}
    assert numbering.end(None) == DONE
    told = numbering.end(Usage(3, 2)).removesuffix(DONE)
    assert json.loads(told[6:])["usage"]["total_tokens"] == 5
    assert json.loads(told[6:])["id"] == "a"


def test_events_in_any_dress_are_numbered() -> None:
    """Fields, a missing space and data over several lines do not hide an answer's number; a comment stays one."""
    said = b'data:{"choices":\ndata: [{"index": 0}]}'
    for dressed in (said, b"event: message\nid: 1\n" + said, b": ping\n" + said):
        numbering = Numbering()
        numbering.at = 3
        told = numbering.renumber(dressed + b"\n\n: wait\n\nid: 9\ndata:[DONE]\n\n")
        assert told == data_event(b'{"choices":[{"index":3}]}') + b": wait\n\n"
