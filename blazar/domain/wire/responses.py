"""Requests of the Responses dialect in the child's words, and the facts of a request that every answer to it repeats."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.normalise import check_media, drop_nulls, merge_system, repair_history
from blazar.domain.wire.odds import UNASKED, Odds, ask_for_odds, want_odds
from blazar.domain.wire.reasoning import EFFORTS, ask_to_think
from blazar.domain.wire.request import (
    CHAT,
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
from blazar.domain.wire.responses_items import Recalled, Talk, file_ids, items_of, references
from blazar.domain.wire.responses_tools import Tools, apply_tools, echoed, read_tools
from blazar.domain.wire.sampling import check_range
from blazar.domain.wire.structured import Asked, Held, constraint_of, json_schema_format, wanted_schema

MOST_METADATA: Final = 16
LONGEST_KEY: Final = 64
LONGEST_VALUE: Final = 512
"""The service's own bounds of what may be attached to an object."""
HOTTEST: Final = 2
"""The service's own bound of a temperature."""
ENCRYPTED: Final = "reasoning.encrypted_content"
LOGPROBS: Final = "message.output_text.logprobs"
INCLUDABLE: Final = frozenset(
    {ENCRYPTED, LOGPROBS, "message.input_image.image_url", "computer_call_output.output.image_url"}
    | {"file_search_call.results", "code_interpreter_call.outputs"}
    | {"web_search_call.results", "web_search_call.action.sources"}
)
"""Most of them are results of tools that are run elsewhere, of which there never are any."""

_SAMPLING: Final = ("temperature", "top_p")
# Read, or of no consequence to one local answer: billing, caching, tracing, padding against eavesdroppers.
_READ: Final = frozenset(
    {"model", "input", "instructions", "previous_response_id", "tools", "tool_choice", "parallel_tool_calls", "text"}
    | {
        "reasoning",
        "max_output_tokens",
        "metadata",
        "store",
        "truncation",
        "include",
        "top_logprobs",
        "stream",
        "background",
        "keep_alive",
    }
    | {
        "user",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
    }
    | {"stream_options", "client_metadata", "max_tool_calls", *_SAMPLING}
)
_ELSEWHERE: Final = ("conversation", "prompt")
"""Names of things that are kept on OpenAI's servers: without them the request says something else, so it is refused."""
_ECHOED: Final = ("max_tool_calls", "user", "safety_identifier", "prompt_cache_key")


class ResponseRequest(NamedTuple):
    """A request that is understood.

    `card` is what answers repeat of it, `items` are its own input, `references` the ids of items it only refers to,
    `files` those of files it only names. `summary` says
    that thoughts are told as summaries, `sealed` that they are handed out for keeping, `odds` what is told of each token. `trims`:
    a conversation that is too long loses its beginning.
    """

    child: ChildRequest
    card: Mapping[str, Any]
    items: Sequence[dict[str, Any]]
    tools: Tools
    references: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    previous: str = ""
    store: bool = True
    background: bool = False
    summary: bool = False
    sealed: bool = False
    odds: Odds = UNASKED
    trims: bool = False


def read_response(
    body: Mapping[str, Any],
    child_model: str,
    recalled: Recalled = Recalled(),  # noqa: B008 - immutable
) -> ResponseRequest:
    """Read `/v1/responses`: once by itself, and once more where it goes on from something."""
    warnings = _first_look(body)
    items = [_resolved(item, recalled.found) for item in items_of(body.get("input"))]
    tools = read_tools(body, warnings)
    out: dict[str, Any] = {"model": child_model, "messages": _messages(body, recalled, items, warnings)}
    out.update(numbers(body, _SAMPLING))
    _check_numbers(body)
    _apply_limit(body, out)
    apply_tools(body, tools, out, warnings)
    held = _apply_text(body, out, warnings)
    reasoning = opt_object(body, "reasoning")
    thinking = _apply_reasoning(reasoning, out)
    drop_nulls(out)
    check_media(out["messages"])
    stream, store, background = _manner(body)
    # Whoever asks later for its events finds them, so the child is always listened to as it speaks.
    sent = with_stream(out, stream=stream or background)
    include = _include(body)
    odds = _apply_odds(body, include, sent, warnings)
    keep_alive, said = body.get("keep_alive"), tuple(dict.fromkeys(warnings))
    return ResponseRequest(
        ChildRequest(CHAT, sent, stream, said, thinking, keep_alive, schema=held.schema, constraint=held.constraint),
        _card(body, reasoning, store=store, background=background) | {"top_logprobs": odds.top},
        items,
        tools,
        references(items),
        file_ids(items),
        want_text(body, "previous_response_id"),
        store,
        background,
        summary=want_text(reasoning, "summary", "reasoning.summary") not in ("", "none"),
        sealed=ENCRYPTED in include,
        odds=odds,
        trims=body.get("truncation") == "auto",
    )


def _first_look(body: Mapping[str, Any]) -> list[str]:
    """Refuse what would make another request of it; the warnings for what is passed over."""
    for field in _ELSEWHERE:
        if body.get(field) is not None:
            raise Malformed(teaching.field_unsupported(field, teaching.responses_elsewhere()), field)
    warnings = [ignored(field) for field, value in body.items() if field not in _READ and value is not None]
    if body.get("truncation") not in (None, "disabled", "auto"):
        raise Malformed(teaching.field_must("truncation", "truncation"), "truncation")
    return warnings


def _resolved(item: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What an item refers to, where that is here."""
    return found.get(str(item.get("id")), item) if item["type"] == "item_reference" else item


def _manner(body: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    """Whether the answer is streamed, kept, and not waited for."""
    stream = want_bool(body, "stream", default=False)
    background = want_bool(body, "background", default=False)
    store = want_bool(body, "store", default=True)
    if background and not store:
        raise Malformed(teaching.background_needs_store(), "background")
    return stream, store, background


def check_metadata(value: Any) -> dict[str, str]:
    """What a caller attaches to an object that is kept for it."""
    if value is None:
        return {}
    given = want_object(value, "metadata")
    sound = len(given) <= MOST_METADATA and all(
        isinstance(text, str) and len(text) <= LONGEST_VALUE and len(key) <= LONGEST_KEY for key, text in given.items()
    )
    if not sound:
        raise Malformed(teaching.metadata_wrong(MOST_METADATA, LONGEST_KEY, LONGEST_VALUE), "metadata")
    return given


def _messages(
    body: Mapping[str, Any],
    recalled: Recalled,
    items: Sequence[Mapping[str, Any]],
    warnings: list[str],
) -> list[dict[str, Any]]:
    """Instructions hold for one answer alone, so they stand before everything and are never part of the history."""
    talk = Talk(warnings, recalled.files)
    instructions = want_text(body, "instructions")
    if instructions:
        talk.add({"type": "message", "role": "system", "content": instructions}, "instructions")
    for item in recalled.history:
        talk.add(item, "previous_response_id")
    for at, item in enumerate(items):
        if item["type"] != "item_reference":  # what it refers to is not here yet
            talk.add(item, f"input[{at}]")
    return merge_system(repair_history(talk.messages(), warnings))


def _check_numbers(body: Mapping[str, Any]) -> None:
    check_range(body, "temperature", HOTTEST)
    check_range(body, "top_p", 1)
    calls = body.get(
        "max_tool_calls"
    )  # calls of tools that are run elsewhere: there are none, but a word is no number of them
    if calls is not None and (whole(calls) or 0) < 1:
        raise Malformed(teaching.field_must("max_tool_calls", "positive"), "max_tool_calls")


def _apply_limit(body: Mapping[str, Any], out: dict[str, Any]) -> None:
    if body.get("max_output_tokens") is None:
        return
    limit = whole(body["max_output_tokens"])
    if limit is None or limit < 1:
        raise Malformed(teaching.field_must("max_output_tokens", "positive"), "max_output_tokens")
    out["max_tokens"] = limit


def _apply_text(body: Mapping[str, Any], out: dict[str, Any], warnings: list[str]) -> Held:
    """The wanted form, by the way of the chat route; with tools the tools win, as in every dialect (E9)."""
    text = opt_object(body, "text")
    if text.get("verbosity") is not None:
        warnings.append(ignored("text.verbosity"))
    wanted = opt_object(text, "format", "text.format") or {"type": "text"}
    kind = wanted.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise Malformed(teaching.field_must("text.format.type", "text_format"), "text.format.type")
    if kind == "text":
        return Held()
    if out.get("tools") and out.get("tool_choice") != "none":
        warnings.append(ignored("text.format"))
        return Held()
    if kind == "json_object":
        out["response_format"] = {"type": "json_object"}
        return Held(None, constraint_of(out))
    schema = wanted.get("schema")
    if schema is None:
        raise Malformed(teaching.field_missing("text.format.schema"), "text.format.schema")
    name = wanted.get("name")
    out["response_format"] = json_schema_format(schema, name if isinstance(name, str) and name else "answer")
    asked = wanted_schema(out)
    assert asked is not None
    return Held(Asked("text.format.schema", asked.schema), constraint_of(out))


def _apply_reasoning(reasoning: Mapping[str, Any], out: dict[str, Any]) -> bool:
    """Whether the caller gets thoughts. Without an effort the model's own template decides."""
    effort = reasoning.get("effort")
    if effort is None:
        return True
    if effort != "none" and effort not in EFFORTS:
        raise Malformed(teaching.field_must("reasoning.effort", "effort"), "reasoning.effort")
    ask_to_think(out, effort != "none", None if effort == "none" else effort)
    return bool(effort != "none")


def _include(body: Mapping[str, Any]) -> frozenset[str]:
    """What the answer shall hold beyond its items; results of tools that are run elsewhere there are none of."""
    wanted = want_list(body, "include")
    if not all(isinstance(each, str) for each in wanted):
        raise Malformed(teaching.field_must("include", "strings"), "include")
    if not INCLUDABLE.issuperset(wanted):
        raise Malformed(teaching.include_unknown(sorted(INCLUDABLE)), "include")
    return frozenset(wanted)


def _apply_odds(body: Mapping[str, Any], include: frozenset[str], out: dict[str, Any], warnings: list[str]) -> Odds:
    """Probabilities of the text's tokens: asked for by the item to include, or by a number of alternatives."""
    top = want_odds({"top_logprobs": body.get("top_logprobs")}).top
    odds = Odds(LOGPROBS in include or top > 0, top)
    if odds.wanted and out.get("tools") and out["stream"]:
        # llama.cpp refuses a request that wants them of a stream in which calls may stand.
        warnings.append(ignored("include" if LOGPROBS in include else "top_logprobs"))
        return UNASKED
    ask_for_odds(out, odds)
    return odds


def _card(body: Mapping[str, Any], reasoning: Mapping[str, Any], *, store: bool, background: bool) -> dict[str, Any]:
    text = body.get("text") or {}
    return {
        "background": background,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": check_metadata(body.get("metadata")),
        "parallel_tool_calls": want_bool(body, "parallel_tool_calls", default=True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "service_tier": "default",
        "store": store,
        "temperature": body.get("temperature"),
        "text": {**text, "format": text.get("format") or {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": list(echoed(body.get("tools"))),
        "top_p": body.get("top_p"),
        "truncation": body.get("truncation") or "disabled",
        **{field: body.get(field) for field in _ECHOED},
    }
