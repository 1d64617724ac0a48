"""Tools for a model whose template has no place for them (`ollama_compat`, D18): written into its conversation, asked as a raw completion.

Plain dicts in and out. The conversation is still rendered by the model's own template; only what it has no words for is said in text here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.wire.grammar import CLOSE, OPEN, calls_only
from blazar.domain.wire.normalise import text_of
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.request import ENDLESS, ignored
from blazar.domain.wire.tools import arguments_object

RESULT_OPEN: Final = "<tool_response>"
RESULT_CLOSE: Final = "</tool_response>"

_ASKS: Final = ("chat_template_kwargs", "reasoning_effort")
"""Members that a template reads; the completion must not see them, nor those below."""
_CHAT_ONLY: Final = frozenset(
    {
        *("messages", "tools", "tool_choice", "parallel_tool_calls", "parse_tool_calls", "reasoning_format"),
        *("response_format", "json_schema", "thinking_budget_tokens", "add_generation_prompt"),
        *("max_tokens", "max_completion_tokens", "n_predict", *_ASKS),
    }
)
_UNMADE: Final = ("logprobs", "top_logprobs", "grammar")
"""What such an answer cannot have: rows of tokens would be of the text that the calls were read from, and a grammar would forbid them."""
_BOUNDS: Final = ("max_completion_tokens", "max_tokens", "n_predict")


class RawLane(NamedTuple):
    """How a model's tools are to be handled: `decode_policy` is strict, and the most tokens of an answer (0: any)."""

    strict: bool = False
    cap: int = 0


class Offer(NamedTuple):
    """The tools of one request: their names, whether one must be called, whether several may be."""

    names: tuple[str, ...]
    required: bool = False
    several: bool = True

    def grammar(self) -> str:
        """What strict answers are held to."""
        return calls_only(self.names, several=self.several)


def offer_of(body: Mapping[str, Any]) -> Offer:
    """Of a normalised chat body, whose tools are those that may be called."""
    names = tuple(tool["function"]["name"] for tool in _functions(body))
    choice = body.get("tool_choice")
    required = choice == "required" or isinstance(choice, Mapping)
    return Offer(names, required, body.get("parallel_tool_calls") is not False)


def template_body(body: Mapping[str, Any], *, folded: bool = False) -> dict[str, Any]:
    """What the model's template is asked to render. `folded`: for templates that take no system message, it begins the first user's."""
    messages = told(list(body.get("messages") or ()), instructions(body))
    kept = {name: body[name] for name in _ASKS if body.get(name) is not None}
    return {"messages": _folded(messages) if folded else messages, **kept}


def completion_body(body: Mapping[str, Any], prompt: str, lane: RawLane) -> dict[str, Any]:
    """The raw completion. Sampling and stops stay as they came."""
    out = {name: value for name, value in body.items() if name not in _CHAT_ONLY and name not in _UNMADE}
    stops = body.get("stop")
    listed = [stops] if isinstance(stops, str) else list(stops) if isinstance(stops, list) else []
    # A small model goes on and makes the result up.
    out |= {"prompt": prompt, "stop": [*listed, RESULT_OPEN]}
    bound = _bound(body)
    if lane.cap and (bound is None or bound > lane.cap):
        bound = lane.cap
    if bound is not None:
        out["max_tokens"] = bound
    if lane.strict:
        out["grammar"] = offer_of(body).grammar()
    return out


def warnings_of(body: Mapping[str, Any], lane: RawLane) -> tuple[str, ...]:
    """What of the request will not have its effect."""
    found = [ignored(name) for name in _UNMADE if body.get(name) not in (None, False)]
    bound = _bound(body)
    if lane.cap and bound is not None and lane.cap < bound < ENDLESS:
        found.append(teaching.warn_rewritten("max_tokens", teaching.raw_lane_capped(lane.cap)))
    return tuple(found)


def instructions(body: Mapping[str, Any]) -> str:
    """What the model is told about its tools."""
    offer = offer_of(body)
    listed = "\n".join(dump(_signature(tool["function"])).decode() for tool in _functions(body))
    example = '{"name": "<function name>", "arguments": {<arguments as JSON>}}'
    parts = [
        f"You can call the functions below. Each line describes one of them as JSON:\n{listed}",
        f"A call is written exactly like this, and nothing else stands between the two tags:\n{OPEN}\n{example}\n{CLOSE}",
        f"What a function returned is given to you between {RESULT_OPEN} and {RESULT_CLOSE}. Never write that yourself.",
    ]
    if not offer.several:
        parts.append("Write one call at most.")
    if offer.required and len(offer.names) == 1:
        parts.append(f"Answer with a call of {offer.names[0]} now, and with nothing else.")
    elif offer.required:
        parts.append("Answer with a call now, and with nothing else.")
    else:
        parts.append("Where no function is of use, answer in plain words without any tag.")
    return "\n\n".join(parts)


def told(messages: Sequence[Mapping[str, Any]], about: str) -> list[dict[str, Any]]:
    """The conversation with its tools in words: what they are in the system message, calls and results as the model writes and reads them."""
    out: list[dict[str, Any]] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            _add_result(out, f"{RESULT_OPEN}\n{text_of(message.get('content'))}\n{RESULT_CLOSE}")
        elif role == "assistant" and message.get("tool_calls"):
            kept = {name: value for name, value in message.items() if name != "tool_calls"}
            calls = [_call_text(call) for call in message["tool_calls"]]
            out.append({**kept, "content": "\n".join([*filter(None, [text_of(message.get("content"))]), *calls])})
        elif role == "user" and out and _results(out[-1]):
            _add_result(out, text_of(message.get("content")))
        else:
            out.append(dict(message))
    if out and out[0].get("role") == "system":
        said = text_of(out[0].get("content"))
        return [{**out[0], "content": f"{said}\n\n{about}" if said else about}, *out[1:]]
    return [{"role": "system", "content": about}, *out]


def _add_result(out: list[dict[str, Any]], text: str) -> None:
    """Results of one turn, and what a person says behind them, are one message: many templates take no two of a role in a row."""
    if out and _results(out[-1]):
        out[-1] = {**out[-1], "content": f"{out[-1]['content']}\n{text}"}
    else:
        out.append({"role": "user", "content": text})


def _results(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.startswith(RESULT_OPEN)


def _folded(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    about, rest = str(messages[0]["content"]), list(messages[1:])
    for at, message in enumerate(rest):
        if message.get("role") == "user":
            rest[at] = {**message, "content": f"{about}\n\n{text_of(message.get('content'))}"}
            return rest
    return [{"role": "user", "content": about}, *rest]


def _call_text(call: Mapping[str, Any]) -> str:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    said = {
        "name": function["name"],
        "arguments": arguments_object(arguments) if isinstance(arguments, str) else arguments,
    }
    return f"{OPEN}\n{json.dumps(said, ensure_ascii=False)}\n{CLOSE}"


def _signature(function: Mapping[str, Any]) -> dict[str, Any]:
    return {name: function[name] for name in ("name", "description", "parameters") if function.get(name) is not None}


def _functions(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    tools = body.get("tools")
    return [
        tool
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict)
        and isinstance(tool.get("function"), dict)
        and isinstance(tool["function"].get("name"), str)
    ]


def _bound(body: Mapping[str, Any]) -> int | None:
    """The most tokens that the caller named; ENDLESS, and anything below zero, is no bound."""
    for name in _BOUNDS:
        value = body.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < ENDLESS:
            return value
    return None
