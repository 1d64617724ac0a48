"""Conversations without their beginning."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.wire.refusal import TooLong
from blazar.domain.wire.trimming import MOST_TRIES, trimmed

SYSTEM = {"role": "system", "content": "Be brief."}


def said(role: str, text: str = "x" * 100) -> dict[str, Any]:
    return {"role": role, "content": text}


def turns(count: int) -> list[dict[str, Any]]:
    return [said("user" if at % 2 == 0 else "assistant", f"{at}" + "x" * 100) for at in range(count)]


def after(messages: list[dict[str, Any]], sizes: TooLong, tries: int = 0, **more: Any) -> list[dict[str, Any]]:
    body: dict[str, Any] = {"messages": list(messages), **more}
    went = trimmed(body, sizes, tries)
    assert len(messages) - len(body["messages"]) == went
    return list(body["messages"])


def test_the_beginning_goes_and_the_system_message_stays() -> None:
    """As much as is needed, by the share that each has of the whole; what is left begins with the user."""
    messages = [SYSTEM, *turns(9)]
    left = after(messages, TooLong(1000, 900), max_tokens=10)
    assert left == [SYSTEM, *messages[3:]]


def test_room_is_left_for_the_answer() -> None:
    """As much as it may take: a quarter of the window where it has no bound, and half of it at most."""
    messages = turns(21)
    few, unbound, many = (
        len(after(messages, TooLong(1000, 900), **more)) for more in ({"max_tokens": 10}, {}, {"max_tokens": 10**6})
    )
    assert few > unbound > many > 1


def test_a_call_and_its_answers_go_together() -> None:
    """Templates refuse an answer whose call has gone."""
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "x" * 50}
    messages = [said("user"), called, answer, answer, said("user"), said("assistant"), said("user")]
    assert after(messages, TooLong(1000, 900), max_tokens=1) == messages[4:]


def test_what_the_user_asked_last_stays() -> None:
    """Also where a long loop of calls stands behind it."""
    called = {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "x" * 200}
    messages = [said("assistant"), said("user", "the task"), *(called, answer) * 5]
    left = after(messages, TooLong(1000, 500), max_tokens=1)
    assert left[0] == messages[1]
    assert left[-2:] == [called, answer]
    assert 2 < len(left) < len(messages)


@pytest.mark.parametrize("messages", [[], [said("user")], [SYSTEM, said("user")], [said("user"), said("assistant")]])
def test_there_is_an_end(messages: list[dict[str, Any]]) -> None:
    """Nothing may go any more."""
    assert after(messages, TooLong(1000, 10)) == messages


def test_after_many_tries_all_goes_that_may() -> None:
    """The engine is not asked for ever."""
    messages = turns(99)
    assert len(after(messages, TooLong(1001, 1000), tries=MOST_TRIES, max_tokens=1)) == 1


@given(
    st.lists(st.sampled_from(["user", "assistant", "tool", "system"]), max_size=30),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
)
def test_any_conversation_comes_to_an_end(roles: list[str], tokens: int, window: int) -> None:
    """Every try takes something, until the last thing that the user said and the last turn are left."""
    body: dict[str, Any] = {"messages": [{"role": role, "content": str(at)} for at, role in enumerate(roles)]}
    last = [message for message in body["messages"] if message["role"] == "user"][-1:]
    while trimmed(body, TooLong(max(tokens, window), window), 0):
        assert all(message in body["messages"] for message in last)
    assert bool(body["messages"]) == bool(roles)
