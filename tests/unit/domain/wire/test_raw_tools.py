"""A conversation with its tools in words."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.wire.raw_tools import (
    RESULT_CLOSE,
    RESULT_OPEN,
    Offer,
    RawLane,
    completion_body,
    instructions,
    offer_of,
    template_body,
    warnings_of,
)
from blazar.domain.wire.request import ENDLESS


def tool(name: str = "look", **more: Any) -> dict[str, Any]:
    """As OpenAI's clients declare it."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}, **more}}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A normalised chat."""
    return {
        "model": "tiny",
        "messages": list(messages) or [{"role": "user", "content": "hi"}],
        "tools": [tool()],
        **more,
    }


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}}


@pytest.mark.parametrize(
    ("more", "offer"),
    [
        ({}, Offer(("look",))),
        ({"tool_choice": "auto"}, Offer(("look",))),
        ({"tool_choice": "required"}, Offer(("look",), required=True)),
        ({"tool_choice": {"type": "function", "function": {"name": "look"}}}, Offer(("look",), required=True)),
        ({"parallel_tool_calls": False}, Offer(("look",), several=False)),
        ({"tools": [tool("a"), {"type": "odd"}, tool("b")]}, Offer(("a", "b"))),
        ({"tools": None}, Offer(())),
    ],
)
def test_what_is_offered(more: dict[str, Any], offer: Offer) -> None:
    """Names, and what `tool_choice` and `parallel_tool_calls` make of them."""
    assert offer_of({**body(), **more}) == offer


def test_the_model_is_told_its_tools_and_how_to_call() -> None:
    """Each as JSON on a line; how it must answer depends on the choice."""
    told = instructions(body(tools=[tool("look", description="Looks.", strict=True)]))
    assert '{"name":"look","description":"Looks.","parameters":{"type":"object"}}' in told
    assert "<tool_call>" in told
    assert "strict" not in told
    assert "in plain words" in told
    forced = instructions(body(tool_choice="required"))
    assert "call of look now" in forced
    assert "in plain words" not in forced
    assert "Answer with a call now" in instructions(body(tool_choice="required", tools=[tool("a"), tool("b")]))
    assert "one call at most" in instructions(body(parallel_tool_calls=False))


def test_instructions_stand_in_the_system_message() -> None:
    """Behind what it says already, or in one of their own at the front."""
    about = instructions(body())
    (first, _) = template_body(body())["messages"]
    assert first == {"role": "system", "content": about}
    given = template_body(body({"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}))
    assert [message["content"] for message in given["messages"]] == [f"Be brief.\n\n{about}", "hi"]


def test_folded_they_begin_what_the_user_said() -> None:
    """For templates that refuse a system message."""
    about = instructions(body())
    talk = [{"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "hi"}]
    assert template_body(body(*talk), folded=True)["messages"] == [
        talk[0],
        {"role": "user", "content": f"{about}\n\nhi"},
    ]
    alone = template_body(body({"role": "assistant", "content": "Yes?"}), folded=True)["messages"]
    assert [message["role"] for message in alone] == ["user", "assistant"]


def test_calls_and_results_are_text() -> None:
    """Results of one turn, and what a person says behind them, are one message of the user's: roles still take turns."""
    talk = body(
        {"role": "user", "content": "where?"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [CALL, CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "up"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "there"}]},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "down"},
    )
    _, *told = template_body(talk)["messages"]
    said = '<tool_call>\n{"name": "look", "arguments": {"at": "sky"}}\n</tool_call>'
    assert [message["role"] for message in told] == ["user", "assistant", "user", "assistant", "user"]
    assert told[1] == {"role": "assistant", "content": f"Looking.\n{said}\n{said}"}
    up, there = (f"{RESULT_OPEN}\n{word}\n{RESULT_CLOSE}" for word in ("up", "there"))
    assert told[2]["content"] == f"{up}\n{there}\nand now?"
    assert told[3] == {"role": "assistant", "content": said}


def test_what_the_template_reads_goes_to_it() -> None:
    """And nothing else does."""
    asked = body(chat_template_kwargs={"enable_thinking": False}, reasoning_effort="low", seed=1)
    assert template_body(asked).keys() == {"messages", "chat_template_kwargs", "reasoning_effort"}


def test_the_completion_keeps_what_it_understands() -> None:
    """Sampling and stops stay, everything about the conversation goes."""
    asked = body(
        seed=1,
        temperature=0,
        stream=True,
        stop="END",
        tool_choice="auto",
        chat_template_kwargs={},
        logprobs=True,
        grammar="x",
    )
    assert completion_body(asked, "PROMPT", RawLane()) == {
        "model": "tiny",
        "seed": 1,
        "temperature": 0,
        "stream": True,
        "prompt": "PROMPT",
        "stop": ["END", RESULT_OPEN],
    }
    assert completion_body(body(stop=["a", "b"]), "", RawLane())["stop"] == ["a", "b", RESULT_OPEN]


@pytest.mark.parametrize(
    ("asked", "cap", "sent"),
    [
        ({}, 0, None),
        ({}, 2048, 2048),
        ({"max_tokens": 100}, 2048, 100),
        ({"max_tokens": 5000}, 2048, 2048),
        ({"max_tokens": 5000}, 0, 5000),
        ({"max_completion_tokens": 7, "max_tokens": 9}, 2048, 7),
        ({"max_tokens": -1}, 2048, 2048),
        ({"max_tokens": ENDLESS}, 2048, 2048),
        ({"n_predict": 3}, 2048, 3),
        ({"max_tokens": 0}, 2048, 0),
    ],
)
def test_the_cap(asked: dict[str, Any], cap: int, sent: int | None) -> None:
    """Where the caller names none or more; 0 is no cap. Only who named more hears of it."""
    assert completion_body(body(**asked), "", RawLane(cap=cap)).get("max_tokens") == sent
    told = warnings_of(body(**asked), RawLane(cap=cap))
    capped = teaching.warn_rewritten("max_tokens", teaching.raw_lane_capped(2048))
    assert told == ((capped,) if asked.get("max_tokens") == 5000 and cap else ())


def test_strict_attaches_the_grammar() -> None:
    """Of the request's own tools; free attaches none."""
    assert "grammar" not in completion_body(body(), "", RawLane())
    grammar = completion_body(body(parallel_tool_calls=False), "", RawLane(strict=True))["grammar"]
    assert grammar == Offer(("look",), several=False).grammar()


def test_what_has_no_effect_is_told() -> None:
    """Log probabilities and a grammar of the caller's own."""
    told = warnings_of(body(logprobs=True, top_logprobs=2, grammar="root ::= x"), RawLane())
    assert [warning.split(";")[0] for warning in told] == ["ignored"] * 3
    assert warnings_of(body(logprobs=False, top_logprobs=None), RawLane()) == ()
