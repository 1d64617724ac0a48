"""Anthropic messages: requests into the child's words, whole answers back."""

from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.anthropic_blocks import messages_of, system_messages
from blazar.domain.wire.delta import Finish, Usage
from blazar.domain.wire.normalise import (
    check_media,
    check_messages,
    check_names,
    drop_nulls,
    merge_system,
    narrow_tool_choice,
    repair_history,
)
from blazar.domain.wire.reasoning import EFFORTS, ask_to_think
from blazar.domain.wire.request import (
    CHAT,
    PROGRESS,
    ChildRequest,
    ignored,
    numbers,
    opt_object,
    want_bool,
    want_list,
    want_object,
    want_text,
    with_stream,
)
from blazar.domain.wire.sampling import check_range
from blazar.domain.wire.schema import without_nulls
from blazar.domain.wire.structured import Asked, Held, constraint_of, forced_tool, json_schema_format
from blazar.domain.wire.tools import arguments_object, cut_object
from blazar.domain.wire.turn import Turn

SIGNATURE: Final = b"YmxhemFy"
"""Clients return a thinking block with its signature and some drop one without; nothing here checks it."""

NO_COUNTS: Final = Usage(0, 0)
UNSAID: Final = Finish("length")
"""Of an answer that was to have no token."""
_EDGE: Final = 2
"""llama.cpp ends an answer one token before its window is full, others at it."""
_STOP_REASONS = {"length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_SAMPLING = ("temperature", "top_p", "top_k")
_SHARES: Final = ("temperature", "top_p")
# Read, or of no consequence to one local answer: billing, tracing, caching (`cache_control` lies inside blocks).
_READ = frozenset(
    {"model", "messages", "system", "max_tokens", "stream", "tools", "tool_choice", "thinking", "stop_sequences"}
    | {"metadata", "service_tier", "output_config", "output_format", "inference_geo", "keep_alive", "cache_control"}
    | {*_SAMPLING}
)
_TOOL_READ = frozenset({"type", "name", "description", "input_schema", "strict", "cache_control"}) | {
    "eager_input_streaming"  # fragments come as they are made anyway
}
_TOOL_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def messages_request(body: Mapping[str, Any], child_model: str) -> ChildRequest:
    """Read `/v1/messages`."""
    if body.get("max_tokens") is None:
        raise Malformed(teaching.field_missing("max_tokens"), "max_tokens")
    limit = whole(body["max_tokens"])
    if limit is None or limit < 0:
        raise Malformed(teaching.field_must("max_tokens", "count"), "max_tokens")
    request = _request(body, child_model, {"max_tokens": max(1, limit)})
    if request.stream:
        request.body[PROGRESS] = True  # `message_start` tells how long the prompt is
    return request


def only_warms(body: Mapping[str, Any]) -> bool:
    """Whether the prompt is to be read into the cache, and nothing to be said. An engine says one token all the same."""
    return whole(body.get("max_tokens")) == 0


def warmed(answer: Answer) -> Answer:
    """What is told of such an answer."""
    return Answer("", "", (), UNSAID, Usage(answer.usage.prompt, 0, answer.usage.cached))


def counting_request(body: Mapping[str, Any], child_model: str) -> ChildRequest:
    """Read `/v1/messages/count_tokens`: the same prompt to the letter, so that the counts agree (C3)."""
    return _request(body, child_model, {})


def _request(body: Mapping[str, Any], child_model: str, limits: dict[str, Any]) -> ChildRequest:
    warnings = [ignored(field) for field, value in body.items() if field not in _READ and value is not None]
    if body.get("messages") is None:
        raise Malformed(teaching.field_missing("messages"), "messages")
    given = check_messages(body["messages"])
    if not given:  # the engine would go on from nothing, and its answer be taken for one
        raise Malformed(teaching.field_must("messages", "conversation"), "messages")
    messages = system_messages(body.get("system"))
    for at, message in enumerate(given):
        messages.extend(messages_of(message, f"messages[{at}]", warnings))
    out: dict[str, Any] = {"model": child_model, "messages": merge_system(repair_history(messages, warnings)), **limits}
    out.update(numbers(body, _SAMPLING))
    for field in _SHARES:
        check_range(body, field, 1)
    opt_object(body, "metadata")
    _apply_stops(body, out)
    _apply_tools(body, out, warnings)
    held = _apply_output(body, out, warnings)
    thinking = _apply_thinking(body, out, warnings)
    drop_nulls(out)
    check_media(out["messages"])
    stream = want_bool(body, "stream", default=False)
    return ChildRequest(
        path=CHAT,
        body=with_stream(out, stream=stream),
        stream=stream,
        warnings=tuple(dict.fromkeys(warnings)),
        thinking=thinking,
        keep_alive=body.get("keep_alive"),
        schema=held.schema,
        constraint=held.constraint,
    )


def _apply_stops(body: Mapping[str, Any], out: dict[str, Any]) -> None:
    stops = want_list(body, "stop_sequences")
    if not all(isinstance(stop, str) and stop for stop in stops):
        raise Malformed(teaching.field_must("stop_sequences", "filled_strings"), "stop_sequences")
    if stops:
        out["stop"] = stops
        # Which sequence ended the answer stands only in the engine's verbose block, on its last event.
        out["verbose"] = True


def _apply_tools(body: Mapping[str, Any], out: dict[str, Any], warnings: list[str]) -> None:
    tools: list[dict[str, Any]] = []
    for at, tool in enumerate(want_list(body, "tools")):
        where = f"tools[{at}]"
        if want_object(tool, where).get("type") not in (None, "custom"):
            warnings.append(ignored(where))  # tools that Anthropic's own servers run
        else:
            tools.append(_tool(tool, where))
            unread = [key for key, value in tool.items() if key not in _TOOL_READ and value is not None]
            warnings.extend(ignored(f"{where}.{key}") for key in unread)
    if tools:
        out["tools"] = tools
        check_names(tools)
    if body.get("tool_choice") is not None:
        _apply_tool_choice(body, want_object(body["tool_choice"], "tool_choice"), out, warnings)


def _tool(tool: dict[str, Any], where: str) -> dict[str, Any]:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise Malformed(teaching.field_missing(f"{where}.name"), f"{where}.name")
    if tool.get("input_schema") is None:
        raise Malformed(teaching.field_missing(f"{where}.input_schema"), f"{where}.input_schema")
    function: dict[str, Any] = {"name": name, "parameters": want_object(tool["input_schema"], f"{where}.input_schema")}
    if tool.get("strict") is not None:
        function["strict"] = want_bool(tool, "strict", f"{where}.strict", default=False)
    if described := want_text(tool, "description", f"{where}.description"):
        function["description"] = described
    return {"type": "function", "function": function}


def _apply_tool_choice(
    body: Mapping[str, Any], choice: dict[str, Any], out: dict[str, Any], warnings: list[str]
) -> None:
    kind = choice.get("type")
    if kind == "tool":
        if not isinstance(choice.get("name"), str) or not choice["name"]:
            raise Malformed(teaching.forced_tool_needs_name(), "tool_choice")
        out["tool_choice"] = forced_tool(choice["name"])
        narrow_tool_choice(out)
    elif not isinstance(kind, str) or kind not in _TOOL_CHOICES:
        raise Malformed(teaching.field_must("tool_choice.type", "tool_choice"), "tool_choice.type")
    elif out.get("tools"):
        out["tool_choice"] = _TOOL_CHOICES[kind]
    elif kind == "any" and not body.get("tools"):
        raise Malformed(teaching.choice_needs_tools(), "tool_choice")
    elif kind == "any":  # all of them are run elsewhere
        warnings.append(ignored("tool_choice"))
    alone = want_bool(choice, "disable_parallel_tool_use", "tool_choice.disable_parallel_tool_use", default=False)
    if alone and out.get("tools"):
        out["parallel_tool_calls"] = False


def _apply_output(body: Mapping[str, Any], out: dict[str, Any], warnings: list[str]) -> Held:
    """Structured output as newer clients ask for it; with tools the tools win, as in every dialect (E9)."""
    config = opt_object(body, "output_config")
    wanted, field = config.get("format"), "output_config.format"
    if wanted is None:
        wanted, field = body.get("output_format"), "output_format"
    if wanted is None:
        return _forced(body, out)
    if out.get("tools"):
        warnings.append(ignored(field))
        return _forced(body, out)
    schema = wanted.get("schema") if isinstance(wanted, dict) else None
    if not isinstance(schema, dict):
        raise Malformed(teaching.field_must(field, "json_schema"), field.partition(".")[0])
    schema = without_nulls(schema)
    out["response_format"] = json_schema_format(schema, "output")
    return Held(Asked(f"{field}.schema", schema), constraint_of(out))


def _forced(body: Mapping[str, Any], out: Mapping[str, Any]) -> Held:
    """A tool that must be called is this dialect's own way to a form: the call's arguments are held to its schema (D19)."""
    choice = body.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") != "tool":
        return Held()
    (tool,) = out["tools"]
    return Held(Asked("tool_choice", tool["function"]["parameters"], of_call=True), "json_schema")


def _apply_thinking(body: Mapping[str, Any], out: dict[str, Any], warnings: list[str]) -> bool:
    """Absent means disabled (C7); whether the caller gets thinking blocks."""
    wanted = opt_object(body, "thinking") or {"type": "disabled"}
    kind, budget = wanted.get("type"), wanted.get("budget_tokens")
    if kind not in ("enabled", "disabled", "adaptive"):
        raise Malformed(teaching.field_must("thinking.type", "thinking"), "thinking.type")
    if wanted.get("display") not in (None, "summarized"):
        warnings.append(ignored("thinking.display"))
    effort = want_text(opt_object(body, "output_config"), "effort", "output_config.effort")
    if effort and effort not in EFFORTS:
        warnings.append(ignored("output_config.effort"))
    limit = whole(budget)
    if kind == "enabled" and budget is not None and (limit is None or limit < 1):
        raise Malformed(teaching.field_must("thinking.budget_tokens", "positive"), "thinking.budget_tokens")
    ask_to_think(out, kind != "disabled", effort if effort in EFFORTS else None, limit if kind == "enabled" else None)
    return bool(kind != "disabled")


def reply(turn: Turn, answer: Answer, window: int = 0) -> dict[str, Any]:
    """A buffered message; `window` is what its child may hold (0: unknown). Only tool_use blocks have an `input` (C6)."""
    content: list[dict[str, Any]] = []
    if answer.reasoning and turn.thinking:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": SIGNATURE.decode()})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    read = cut_object if answer.finish.reason == "length" else arguments_object
    content.extend(
        {
            "type": "tool_use",
            "id": call.id or turn.call_id(number),
            "name": call.name,
            "input": read(call.arguments),
        }
        for number, call in enumerate(answer.calls)
    )
    reason, stop = stop_of(answer.finish, answer.usage, window)
    return {
        "id": f"msg_{turn.id}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": stop,
        "usage": usage_counts(answer.usage),
    }


def stop_of(finish: Finish, usage: Usage = NO_COUNTS, window: int = 0) -> tuple[str, str | None]:
    """(stop_reason, stop_sequence). One that ended for its length where the window is full has not reached `max_tokens`."""
    if finish.reason == "stop" and finish.stop:
        return "stop_sequence", finish.stop
    if finish.reason == "length" and 0 < window <= usage.prompt + usage.completion + _EDGE:
        return "model_context_window_exceeded", None
    return _STOP_REASONS.get(finish.reason, "end_turn"), None


def usage_counts(usage: Usage) -> dict[str, Any]:
    """Token counts. The whole prompt is `input_tokens`, cached or not, so that it equals what count_tokens said (C3)."""
    counts: dict[str, Any] = {
        "input_tokens": usage.prompt,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": usage.completion,
    }
    return counts | {"output_tokens_details": {"thinking_tokens": usage.thought}} if usage.thought else counts


def count_reply(tokens: int) -> dict[str, int]:
    """The answer of count_tokens."""
    return {"input_tokens": tokens}
