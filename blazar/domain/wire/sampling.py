"""Members of an OpenAI request that engines pass over without a word where their type is wrong: named here instead. Pure."""

from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Malformed


def check_sampling(stop: Any, logit_bias: Any, reasoning_effort: Any) -> None:
    """Raises `Malformed` for the first that would be lost. Of the rest the engine itself says what is wrong."""
    if not (
        stop is None or isinstance(stop, str) or (isinstance(stop, list) and all(isinstance(s, str) for s in stop))
    ):
        raise Malformed(teaching.field_must("stop", "stops"), "stop")
    if not (logit_bias is None or _biases(logit_bias)):
        raise Malformed(teaching.field_must("logit_bias", "biases"), "logit_bias")
    if not (reasoning_effort is None or isinstance(reasoning_effort, str)):
        raise Malformed(teaching.field_must("reasoning_effort", "string"), "reasoning_effort")


def _biases(value: Any) -> bool:
    """OpenAI's object, or llama-server's list of pairs, in which `false` forbids a token."""
    if isinstance(value, dict):
        return all(_number(bias) for bias in value.values())
    pairs = value if isinstance(value, list) else [value]
    return all(isinstance(pair, list) and len(pair) == 2 and (_number(pair[1]) or pair[1] is False) for pair in pairs)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
