"""Members that engines pass over where their type is wrong."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.sampling import (
    NUMBERS,
    check_chat,
    check_choice,
    check_effort,
    check_range,
    check_sampling,
    check_types,
)


@pytest.mark.parametrize("stop", [None, "x", [], ["a", "b", "c", "d", "e"]])
@pytest.mark.parametrize("bias", [None, {}, {"5": -100, "Paris": 1.5}, [], [[5, -1], ["x", False]]])
def test_what_engines_take_passes(stop: Any, bias: Any) -> None:
    """More stops than OpenAI takes, and llama-server's pairs."""
    check_sampling(stop, bias, "high")
    check_sampling(stop, bias, None)


@pytest.mark.parametrize(
    ("stop", "bias", "effort", "field"),
    [
        (5, None, None, "stop"),
        (["a", 5], None, None, "stop"),
        ({"a": 1}, None, None, "stop"),
        (None, {"5": "a"}, None, "logit_bias"),
        (None, {"5": True}, None, "logit_bias"),
        (None, [5], None, "logit_bias"),
        (None, [[5, True]], None, "logit_bias"),
        (None, [[5]], None, "logit_bias"),
        (None, "x", None, "logit_bias"),
        (None, None, 5, "reasoning_effort"),
        (None, None, {}, "reasoning_effort"),
    ],
)
def test_what_would_be_lost_is_named(stop: Any, bias: Any, effort: Any, field: str) -> None:
    """Silence would look like consent."""
    with pytest.raises(Malformed) as caught:
        check_sampling(stop, bias, effort)
    assert caught.value.field == field


def test_whether_calls_may_be_parallel_is_a_switch() -> None:
    """An engine takes a word for its default."""
    check_sampling(None, None, None, False)
    with pytest.raises(Malformed) as caught:
        check_sampling(None, None, None, "no")
    assert caught.value.field == "parallel_tool_calls"


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("switch", [True, False])
def test_a_switch_is_no_number(field: str, switch: bool) -> None:
    """An engine would take it for 1 or 0; of the other wrong types it says itself what is wrong."""
    check_types([0 if name == field else 1 for name in NUMBERS], None, None)
    with pytest.raises(Malformed) as caught:
        check_types([switch if name == field else None for name in NUMBERS], None, None)
    assert caught.value.field == field


def test_what_is_no_choice_and_no_options_is_named() -> None:
    """Engines pass over both."""
    check_types((), "auto", {"include_usage": True})
    check_types((), {"type": "function"}, None)
    for choice, options, field in ((False, None, "tool_choice"), (None, False, "stream_options")):
        with pytest.raises(Malformed) as caught:
            check_types((), choice, options)
        assert caught.value.field == field


@pytest.mark.parametrize("stop", ["", [""], ["a", ""]])
def test_an_empty_stop_is_refused(stop: Any) -> None:
    """An engine passes over it; it stands before every text."""
    with pytest.raises(Malformed) as caught:
        check_sampling(stop, None, None)
    assert caught.value.field == "stop"


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ((0, None, None, None), "max_tokens"),
        ((None, 0, None, None), "max_completion_tokens"),
        ((None, None, 21, None), "top_logprobs"),
        ((None, None, -1, None), "top_logprobs"),
        ((None, None, "x", None), "top_logprobs"),
        ((None, None, None, "x"), "metadata"),
        ((None, None, None, []), "metadata"),
    ],
)
def test_what_a_chat_cannot_be_asked_is_named(told: tuple[Any, ...], field: str) -> None:
    """As the service does: an engine says one token where none was wanted, and takes any number of alternatives."""
    check_chat(1, -1, 20, {})
    check_chat(None, None, 0.0, None)
    with pytest.raises(Malformed) as caught:
        check_chat(*told)
    assert caught.value.field == field


def test_an_effort_is_a_word_that_templates_know() -> None:
    """They pass over any other."""
    for effort in (None, "none", "minimal", "low", "medium", "high", "xhigh"):
        check_effort(effort)
    with pytest.raises(Malformed, match="reasoning_effort"):
        check_effort("bogus")


def test_a_call_needs_a_tool() -> None:
    """That one must be called, of none; that one may be says nothing."""
    check_choice("required", offered=True)
    check_choice("auto", offered=False)
    with pytest.raises(Malformed) as caught:
        check_choice("required", offered=False)
    assert caught.value.field == "tool_choice"


def test_a_range() -> None:
    """What is no number is another check's."""
    check_range({"t": 2}, "t", 2)
    check_range({"t": "x"}, "t", 2)
    check_range({}, "t", 2)
    for value in (-0.1, 2.1):
        with pytest.raises(Malformed, match="'t' must be a number from 0 to 2"):
            check_range({"t": value}, "t", 2)
