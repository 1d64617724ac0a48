"""Which chats may share an answer, and what is remembered."""

import math
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.semcache import (
    LARGEST_ANSWER,
    LONGEST_QUESTION,
    Entry,
    Kept,
    Partition,
    SemanticCache,
    Settings,
    likeness,
    nearest,
    question_in,
    unit_vector,
)

HERE = Partition("a", None, "tiny", "/api/chat", b"", ("e", "b1", "d"))
KEPT = Kept(b"{}", (), "tiny", 7)


def chat(text: Any = "how are you", **more: Any) -> dict[str, Any]:
    return {"model": "tiny", "messages": [{"role": "user", "content": text}], **more}


def entry(*numbers: float, partition: Partition = HERE, at: float = 0.0, kept: Kept = KEPT) -> Entry:
    vector = unit_vector(list(numbers))
    assert vector is not None
    return Entry(partition, vector, kept, at)


def test_only_the_words_of_the_last_question_may_differ() -> None:
    """History, system prompt, sampling and everything else are the same or it is another chat; so are numbers in the question."""
    one = question_in(chat("how are you"))
    assert one is not None
    assert one.text == "how are you"
    other = question_in(chat("how do you do"))
    assert other is not None
    assert other.frame == one.frame
    system = {"role": "system", "content": "be short"}
    for body in (
        chat(temperature=0),
        chat(max_tokens=9),
        chat(user="somebody else"),
        chat(stream=False),
        {**chat(), "messages": [system, *chat()["messages"]]},
        {**chat(), "messages": [{**chat()["messages"][0], "name": "ada"}]},
        chat("how are you 2"),
    ):
        found = question_in(body)
        assert found is not None
        assert found.frame != one.frame
    marked = question_in(chat(), [b"x"])
    assert marked is not None
    assert marked.frame != one.frame
    turned = question_in(dict(reversed(chat().items())))
    assert turned == one


def test_numbers_are_no_nuance() -> None:
    """2 and 2 is not 2 and 3, however alike the vectors are."""
    frames = [question_in(chat(f"what is {sum_}?")) for sum_ in ("2 + 2", "2 + 3", "3 + 2")]
    assert len({found.frame for found in frames if found is not None}) == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": "hi"},
        {"messages": ["hi"]},
        chat(""),
        chat(" \n"),
        chat("x" * (LONGEST_QUESTION + 1)),
        chat(None),
        chat([]),
        chat([{"type": "image_url", "image_url": {}}]),
        chat([{"type": "text", "text": "a"}, {"type": "input_audio"}]),
        chat([{"type": "text", "text": 7}]),
        {"messages": [{"role": "assistant", "content": "hi"}]},
        {"messages": [{"role": "tool", "content": "hi"}]},
        {"messages": [{"role": "user", "content": "hi", "images": ["x"]}]},
        chat(response_format={"type": "json_object"}),
        chat(format="json"),
        chat(format={"type": "object"}),
        chat(grammar="root ::= x"),
        chat(json_schema={"type": "object"}),
        chat(output_config={"format": {}}),
        chat(tools=[{}]),
        chat(functions=[{}]),
        chat(mcp="all"),
        chat(seed=0),
        chat(seed=7),
        chat(options={"seed": 0}),
        chat(logprobs=True),
        chat(n=2),
        chat(store=True),
    ],
)
def test_what_is_never_shared(body: dict[str, Any]) -> None:
    """Structured answers both ways (contract), tools, pictures, what is measured, and conversations that end otherwise."""
    assert question_in(body) is None


def test_what_is_said_in_blocks_is_a_question_too() -> None:
    """As Anthropic's clients write it."""
    found = question_in(chat([{"type": "text", "text": "how are"}, {"type": "text", "text": "you"}]))
    assert found is not None
    assert found.text == "how are\nyou"
    assert question_in(chat(tools=[], response_format=None, n=1, logprobs=False)) is not None


@pytest.mark.parametrize(
    "numbers",
    [None, [], [0], [0.0, -0.0], [math.nan], [1.0, math.inf], ["1"], [True, False], [None], {"a": 1}, (1.0,)],
)
def test_a_vector_without_a_direction_is_none(numbers: Any) -> None:
    """Everything would be like it, or nothing."""
    assert unit_vector(numbers) is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_a_unit_vector_is_of_length_one(numbers: list[float]) -> None:
    """However large or small its numbers are."""
    vector = unit_vector(numbers)
    if not any(numbers):
        assert vector is None
    else:
        assert vector is not None
        assert math.isclose(likeness(vector, vector), 1.0, rel_tol=1e-9)


def test_the_nearest_above_the_threshold() -> None:
    """The best one; a threshold of 1 finds the very same; another width is like nothing."""
    entries = [entry(1, 0), entry(1, 0.1), entry(0, 1), entry(1, 0, 0)]
    asked = unit_vector([1, 0.09])
    assert asked is not None
    found = nearest(asked, entries, 0.9)
    assert found is not None
    assert found[0] is entries[1]
    assert nearest(asked, entries, 0.99999999) is None
    same = nearest(entries[0].vector, entries, 1.0)
    assert same is not None
    assert same == (entries[0], 1.0)
    assert likeness(array("d", [1.0]), array("d", [1.0, 0.0])) == -1.0


@pytest.mark.parametrize(
    "other",
    [
        HERE._replace(key="b"),
        HERE._replace(scope=frozenset({"tiny"})),
        HERE._replace(model="tiny:latest"),
        HERE._replace(lane="/v1/messages"),
        HERE._replace(frame=b"x"),
        HERE._replace(embedder=("e", "b2", "d")),
    ],
)
def test_nothing_is_shared_across_a_partition(other: Partition) -> None:
    """Keys, their scopes, models, ways in, what is around the question, and what made the vectors (J18)."""
    cache = SemanticCache()
    assert cache.put(entry(1, 0))
    assert cache.candidates(other, 0.0) == ()
    assert len(cache.candidates(HERE, 0.0)) == 1


def test_the_time_to_live_ends() -> None:
    """To the second."""
    cache = SemanticCache(Settings(ttl=10))
    cache.put(entry(1, 0, at=5.0))
    assert len(cache.candidates(HERE, 14.9)) == 1
    assert cache.candidates(HERE, 15.0) == ()
    assert len(cache) == 0


def test_the_oldest_goes_first() -> None:
    """At its bound; one for the same question takes the place of its elder."""
    cache = SemanticCache(Settings(capacity=2))
    cache.put(entry(1, 0))
    cache.put(entry(1, 0, at=1.0))
    assert [one.at for one in cache.candidates(HERE, 1.0)] == [1.0]
    cache.put(entry(0, 1, at=2.0))
    cache.put(entry(1, 1, at=3.0))
    assert [one.at for one in cache.candidates(HERE, 3.0)] == [2.0, 3.0]


def test_what_is_not_remembered() -> None:
    """Nothing, too much, and a vector of another width than its like (O13)."""
    cache = SemanticCache()
    assert not cache.put(entry(1, 0, kept=KEPT._replace(body=b"")))
    assert not cache.put(entry(1, 0, kept=KEPT._replace(body=b"x" * (LARGEST_ANSWER + 1))))
    assert cache.put(entry(1, 0))
    assert not cache.put(entry(1, 0, 0))
    assert len(cache) == 1


def test_what_is_dropped_and_exchanged() -> None:
    """One whose child is gone goes alone, with other settings all go."""
    cache = SemanticCache()
    one, other = entry(1, 0), entry(0, 1)
    cache.put(one)
    cache.put(other)
    cache.drop(one)
    cache.drop(one)
    assert cache.candidates(HERE, 0.0) == (other,)
    cache.exchange(Settings(capacity=1))
    assert len(cache) == 0
    assert cache.candidates(HERE, 0.0) == ()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(0.1, 3), st.floats(0, 5), st.booleans()),
        max_size=60,
    )
)
def test_it_is_bounded_and_agrees_with_itself(steps: list[tuple[int, float, float, bool]]) -> None:
    """Whatever comes, goes and grows old."""
    cache, now = SemanticCache(Settings(ttl=10, capacity=5)), 0.0
    for model, slope, passed, drops in steps:
        now += passed
        where = HERE._replace(model=str(model))
        held = cache.candidates(where, now)
        assert all(one.partition == where and now - one.at < 10 for one in held)
        if drops and held:
            cache.drop(held[0])
            assert held[0] not in cache.candidates(where, now)
        else:
            cache.put(entry(1, slope, partition=where, at=now))
        assert len(cache) == sum(len(cache.candidates(HERE._replace(model=str(one)), now)) for one in range(4)) <= 5
