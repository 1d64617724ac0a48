"""Members that engines pass over where their type is wrong."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.sampling import check_sampling


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
