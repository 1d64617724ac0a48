"""Members of an OpenAI request that engines pass over without a word where their type is wrong: named here instead. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.odds import want_odds
from blazar.domain.wire.reasoning import EFFORTS

NUMBERS: Final = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed"),
    *("presence_penalty", "frequency_penalty"),
)


def check_sampling(stop: Any, logit_bias: Any, reasoning_effort: Any, parallel_tool_calls: Any = None) -> None:
    """Raises `Malformed` for the first that would be lost. Of the rest the engine itself says what is wrong."""
    words = stop if isinstance(stop, list) else [] if stop is None else [stop]
    if not all(isinstance(word, str) and word for word in words):
        raise Malformed(teaching.field_must("stop", "stops"), "stop")
    if not (logit_bias is None or _biases(logit_bias)):
        raise Malformed(teaching.field_must("logit_bias", "biases"), "logit_bias")
    if not (reasoning_effort is None or isinstance(reasoning_effort, str)):
        raise Malformed(teaching.field_must("reasoning_effort", "string"), "reasoning_effort")
    if not (parallel_tool_calls is None or isinstance(parallel_tool_calls, bool)):
        raise Malformed(teaching.field_must("parallel_tool_calls", "boolean"), "parallel_tool_calls")


def check_types(numbers: Sequence[Any], tool_choice: Any, stream_options: Any) -> None:
    """The same for `NUMBERS`, which engines take a switch for (`true` is 1 to them), and for two that they take nothing of."""
    for value in numbers:
        if value is True or value is False:
            field = next(name for name, held in zip(NUMBERS, numbers, strict=True) if held is value)
            raise Malformed(teaching.field_must(field, "number"), field)
    if not (tool_choice is None or isinstance(tool_choice, str | dict)):
        raise Malformed(teaching.field_must("tool_choice", "responses_choice"), "tool_choice")
    if not (stream_options is None or isinstance(stream_options, dict)):
        raise Malformed(teaching.field_must("stream_options", "object"), "stream_options")


def check_chat(max_tokens: Any, max_completion_tokens: Any, top_logprobs: Any, metadata: Any) -> None:
    """The same for what a chat alone has. Raw completions may have no token at all: their prompt is what is wanted then."""
    if max_tokens == 0 or max_completion_tokens == 0:
        field = "max_tokens" if max_tokens == 0 else "max_completion_tokens"
        raise Malformed(teaching.field_must(field, "positive"), field)
    if top_logprobs is not None:
        want_odds({"top_logprobs": top_logprobs})
    if metadata is not None and not isinstance(metadata, dict):
        raise Malformed(teaching.field_must("metadata", "object"), "metadata")


def check_effort(effort: Any, field: str = "reasoning_effort") -> None:
    """Templates pass over a word that they do not know."""
    if effort not in (None, "none", *EFFORTS):
        raise Malformed(teaching.field_must(field, "effort"), field)


def check_choice(choice: Any, *, offered: bool) -> None:
    """A call that must be made, of none."""
    if choice == "required" and not offered:
        raise Malformed(teaching.choice_needs_tools(), "tool_choice")


def check_range(body: Mapping[str, Any], field: str, most: float) -> None:
    """A number from 0 to `most`, where it is one."""
    value = body.get(field)
    if isinstance(value, int | float) and not 0 <= value <= most:
        raise Malformed(teaching.field_number_to(field, most), field)


def _biases(value: Any) -> bool:
    """OpenAI's object, or llama-server's list of pairs, in which `false` forbids a token."""
    if isinstance(value, dict):
        return all(_number(bias) for bias in value.values())
    pairs = value if isinstance(value, list) else [value]
    return all(isinstance(pair, list) and len(pair) == 2 and (_number(pair[1]) or pair[1] is False) for pair in pairs)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
