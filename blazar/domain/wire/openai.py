"""OpenAI requests and buffered replies: when bytes may pass as they are, and what is changed where they may not (D15).

A scan of the bytes decides; only a request that a rule suspects is parsed. A suspicion that proves empty costs a parse,
never a difference: `normalise` leaves what needs nothing.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.bounds import MOST_LEVELS, MOST_OPTIONAL, check_bounds
from blazar.domain.wire.documents import inline_files, refuse_custom_tools
from blazar.domain.wire.normalise import (
    check_audio,
    check_media,
    check_messages,
    check_pictures,
    check_tools,
    drop_nulls,
    merge_system,
    narrow_tool_choice,
    repair_history,
)
from blazar.domain.wire.quoting import quote
from blazar.domain.wire.reasoning import ask_to_think, read_think
from blazar.domain.wire.request import ignored
from blazar.domain.wire.structured import constraint_of
from blazar.domain.wire.tools import strict_object

_ARGUMENTS_OBJECT = re.compile(rb'"arguments"\s*:\s*[^\s"]')
_ARGUMENTS_TEXT = re.compile(r'"arguments"\s*:\s*(?=")')
_TYPED = re.compile(rb'"type"\s*:\s*"function"')
_FUNCTION = re.compile(rb'"function"\s*:\s*\{')
_STRING = json.JSONDecoder(strict=False)
_CALL_ID = re.compile(rb'"id"\s*:\s*"[^"]')
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")
_PARAMETERS_ODD = re.compile(rb'"parameters"\s*:\s*["\[0-9-]')
_CHOICE_OBJECT = re.compile(rb'"tool_choice"\s*:\s*\{')
_FILE_PART = re.compile(rb'"type"\s*:\s*"file"')
_NOTHING_SAID = re.compile(rb'"messages"\s*:\s*\[\s*\]')
MODEL: Final = re.compile(rb'"model"\s*:\s*"((?:[^"\\]|\\.)*)"')
"""The first `model` of a body or an event. Inside any string a quote stands escaped, so this never matches text."""


class Peek(Protocol):
    """What a partial decode of the request found."""

    @property
    def model(self) -> str: ...
    @property
    def stream(self) -> bool | None: ...
    @property
    def stream_options(self) -> Any: ...


class Trigger(NamedTuple):
    """One reason to touch a request: a scan that may suspect too much, and the change."""

    name: str
    why: str
    suspects: Callable[[bytes], bool]
    apply: Callable[[dict[str, Any]], Sequence[str] | None]
    """In place; warnings about what the caller will miss, if any."""


def _has_system_out_of_place(raw: bytes) -> bool:
    if b'"developer"' in raw:
        return True
    count = raw.count(b'"system"')
    if count == 0:
        return False
    others = [at for role in (b'"user"', b'"assistant"') if (at := raw.find(role)) >= 0]
    return count > 1 or (bool(others) and raw.find(b'"system"') > min(others))


def _has_broken_history(raw: bytes) -> bool:
    if b'"tool_calls"' not in raw and b'"tool"' not in raw:
        return False
    return (
        raw.count(b'"tool"') > raw.count(b'"tool_call_id"')
        or len(_CALL_ID.findall(raw)) < raw.count(b'"arguments"')
        or len(_TYPED.findall(raw)) < len(_FUNCTION.findall(raw))
        or _ARGUMENTS_OBJECT.search(raw) is not None
        or _has_arguments_of_none(raw)
    )


def _has_arguments_of_none(raw: bytes) -> bool:
    """Whether some call's arguments are not the text of an object. Only what stands in these strings is decoded."""
    text = raw.decode("utf-8", "replace")
    for found in _ARGUMENTS_TEXT.finditer(text):
        try:
            arguments = _STRING.raw_decode(text, found.end())[0]
        except ValueError:
            return True
        if not strict_object(arguments):
            return True
    return False


def _merge(body: dict[str, Any]) -> None:
    if "messages" in body:
        body["messages"] = merge_system(body["messages"])


def _may_hold_urls(raw: bytes) -> bool:
    # Escaped letters too: this one is about safety, and a key that is spelled with them is the same key to the child.
    return b'_url"' in raw or b'"input_audio"' in raw or _ESCAPED_LETTER.search(raw) is not None


def _check_media(body: dict[str, Any]) -> None:
    messages = body.get("messages") or ()
    check_media(messages)
    check_pictures(messages)
    check_audio(messages)


_FEW_OBJECTS: Final = min(MOST_OPTIONAL, MOST_LEVELS)
"""Without a reference, as many can neither nest nor branch too far."""


def _may_reach_far(raw: bytes) -> bool:
    # No reference leads deeper than there are objects, whatever they mean.
    objects = raw.count(b"{")
    most = objects * (raw.count(b'ref"') + 1)
    return objects > MOST_OPTIONAL or most > MOST_LEVELS or _ESCAPED_LETTER.search(raw) is not None


def _repair(body: dict[str, Any]) -> Sequence[str]:
    warnings: list[str] = []
    if "messages" in body:
        body["messages"] = repair_history(body["messages"], warnings)
    return warnings


def _may_hold_tools_and_format(raw: bytes) -> bool:
    return b'"tools"' in raw and (b'"response_format"' in raw or b'"json_schema"' in raw)


def _prefer_tools(body: dict[str, Any]) -> Sequence[str]:
    """An engine takes the schema for the whole answer, and no tool is ever called; here the tools win (E9)."""
    if not body.get("tools") or body.get("tool_choice") == "none":
        return ()
    given = [field for field in ("response_format", "json_schema") if constraint_of({field: body.get(field)})]
    for field in given:
        del body[field]
    return [ignored(field) for field in given]


def _spell_grammar(body: dict[str, Any]) -> None:
    """`{"type": "gbnf", "grammar": …}` of a chat in the engine's own words."""
    wanted = body.get("response_format")
    if "messages" not in body or not isinstance(wanted, dict) or wanted.get("type") != "gbnf":
        return
    field = "response_format.grammar"
    grammar = wanted.get("grammar")
    if grammar is None:
        raise Malformed(teaching.field_missing(field), field)
    if not isinstance(grammar, str):
        raise Malformed(teaching.field_must(field, "string"), field)
    del body["response_format"]
    body["grammar"] = grammar


def _spell_think(body: dict[str, Any]) -> Sequence[str]:
    """`think`, as ollama's clients say it here too, in the words of templates: engines pass over the field itself."""
    if "think" not in body:
        return ()
    think, effort = read_think(body.pop("think"))
    if "messages" not in body:
        return (ignored("think"),)
    if isinstance(body.get("chat_template_kwargs") or {}, dict):  # else the engine says what is wrong with them
        ask_to_think(body, think, effort)
    return ()


def _want_conversation(body: dict[str, Any]) -> None:
    """Asked for an answer to nothing, llama-server makes one up, as long as the window allows."""
    if body.get("messages") == []:
        raise Malformed(teaching.field_must("messages", "conversation"), "messages")


# The whole list for requests; the sampler defaults of a model come behind it (`sample_by` of the jobs). Two more are answered without
# a parse, in `plan`: usage not asked for on a stream (`include_usage` is added), and a model name that is not the child's. Replies: `StreamFilter`, `reply_bytes` and, only where
# `parallel_tool_calls` is false, `first_call_alone`.
TRIGGERS: Final[tuple[Trigger, ...]] = (
    Trigger("null", "null is absent, nested too (A13, A16)", lambda raw: b"null" in raw, drop_nulls),
    Trigger(
        "conversation",
        "somebody has to have said something",
        lambda raw: _NOTHING_SAID.search(raw) is not None,
        _want_conversation,
    ),
    Trigger(
        "history",
        "ids made up pairwise, types named, arguments as an object's text (A17)",
        _has_broken_history,
        _repair,
    ),
    Trigger("system", "one system message, at the front (C1, C16)", _has_system_out_of_place, _merge),
    Trigger(
        "tool_choice",
        "a named function is forced or unknown (A19)",
        lambda raw: _CHOICE_OBJECT.search(raw) is not None,
        narrow_tool_choice,
    ),
    Trigger("format", "beside tools the tools win (E9)", _may_hold_tools_and_format, _prefer_tools),
    Trigger("gbnf", "a grammar has a field of its own", lambda raw: b'"gbnf"' in raw, _spell_grammar),
    Trigger("think", "a wish for thinking is a template's variable", lambda raw: b'"think"' in raw, _spell_think),
    Trigger(
        "parameters",
        "what is no object is no schema",
        lambda raw: _PARAMETERS_ODD.search(raw) is not None,
        check_tools,
    ),
    Trigger(
        "references",
        "what an engine follows has an end (E5)",
        _may_reach_far,
        check_bounds,
    ),
    Trigger("files", "a text file is its text", lambda raw: _FILE_PART.search(raw) is not None, inline_files),
    Trigger("custom", "a chat's tools are functions", lambda raw: b'"custom"' in raw, refuse_custom_tools),
    Trigger("media", "the child never fetches (D14, J10)", _may_hold_urls, _check_media),
)


STRIPPED: Final = ("keep_alive", "suffix", "echo", "best_of")
"""Fields that no child sees: ours, or answered for here. Some builds refuse a request for the last three's names alone."""

# What stock engines pass over without a word, so that the caller must hear of it from us. Not here: what has no effect on one
# local answer anyway (user, metadata, service_tier, prompt_cache_key …). Raw completions: `response_format` alone.
IGNORED_CHAT: Final = (
    "audio",
    "function_call",
    "functions",
    "modalities",
    "prediction",
    "verbosity",
    "web_search_options",
)
_HARMLESS: Final[tuple[Any, ...]] = (None, False, ["text"], {"type": "text"})


def ignored_fields(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The warnings for those of `fields` that ask for something."""
    return tuple(ignored(field) for field, value in fields.items() if value not in _HARMLESS)


def refuse_unmade(echo: Any, best_of: Any) -> None:
    """`echo` and `best_of` change what an answer is; engines pass over both, so they are refused rather than lost."""
    if echo not in (None, False):
        if echo is not True:
            raise Malformed(teaching.field_must("echo", "boolean"), "echo")
        raise Malformed(teaching.field_unsupported("echo", teaching.echo_unsupported()), "echo")
    if best_of is not None and (isinstance(best_of, bool) or best_of != 1):
        raise Malformed(teaching.field_unsupported("best_of", teaching.best_of_unsupported()), "best_of")


# What each trigger but "conversation" and "references" needs to find, as few and as short as that can be told.
_SIGNS: Final = (
    *(b"null", b'"tool', b'"system"', b'"developer"', b'"gbnf"', b'"think"', b'"parameters"'),
    *(b'"file"', b'"custom"', b'_url"', b'"input_audio"', b"\\u00", b'ref"'),
)


_SIGN: Final = re.compile(b"|".join(map(re.escape, _SIGNS)))
_SHORT: Final = 1024
"""Bytes below which one pattern is faster than so many searches, of which each begins by fetching its code: 10 µs of a first token's way."""


def plain(raw: bytes) -> bool:
    """Whether no trigger can suspect a thing: most chats without tools. Costs a quarter of asking each of them."""
    if len(raw) < _SHORT:
        if _SIGN.search(raw) is not None:
            return False
    elif any(sign in raw for sign in _SIGNS):
        return False
    return raw.count(b"{") <= _FEW_OBJECTS and _NOTHING_SAID.search(raw) is None


class Plan(NamedTuple):
    """`body` goes to the child, unless `parse`: then the request must be decoded, normalised and encoded."""

    body: bytes | None
    parse: bool
    drop_usage: bool


class Outcome(NamedTuple):
    """A normalised request and the warnings that its answer carries (D11).

    `same`: no rule has written anything, nulls aside, which are taken out where they stand.
    """

    body: dict[str, Any]
    warnings: tuple[str, ...] = ()
    same: bool = False


def wants_usage(stream_options: Any) -> bool:
    """Whether the caller asked for the trailing usage chunk."""
    return isinstance(stream_options, dict) and stream_options.get("include_usage") is True


LARGEST_SCANNED: Final = 64 * 1024
"""Bytes above which one parse costs less than all the scans; it happens in a thread then."""


def plan(raw: bytes, peek: Peek, child_model: str) -> Plan:
    """How to forward a request. Scans only."""
    drop_usage = bool(peek.stream) and not wants_usage(peek.stream_options)
    if len(raw) > LARGEST_SCANNED or (not plain(raw) and any(trigger.suspects(raw) for trigger in TRIGGERS)):
        return Plan(None, parse=True, drop_usage=drop_usage)
    body = passed(raw, peek, child_model)
    return Plan(body, parse=body is None, drop_usage=drop_usage)


def passed(raw: bytes, peek: Peek, child_model: str) -> bytes | None:
    """The bytes of a request that no rule changes; None where what every request must say cannot be written into them."""
    body: bytes | None = raw
    if peek.stream and not wants_usage(peek.stream_options):
        body = _with_usage(raw)
    if body is not None and peek.model != child_model:
        body = _with_model(body, peek.model, child_model)
    return body


def _with_usage(raw: bytes) -> bytes | None:
    """Ask for usage without a parse; None where the field stands there already."""
    start = raw.find(b"{") + 1
    if start == 0 or b'"stream_options"' in raw:
        return None
    return b'%b"stream_options":{"include_usage":true},%b' % (raw[:start], raw[start:])


def _with_model(raw: bytes, model: str, child_model: str) -> bytes | None:
    """Swap the model's name without a parse; None unless exactly one thing can be meant."""
    if raw.count(b'"model"') != 1:
        return None
    found = MODEL.search(raw)
    if found is None or found.group(1) != quote(model)[1:-1]:
        return None
    return raw[: found.start(1)] + quote(child_model)[1:-1] + raw[found.end(1) :]


def check(body: Any, needs: str = "messages") -> dict[str, Any]:
    """A decoded request that can be worked with at all; `needs` is what to ask for where it holds nothing to answer."""
    if not isinstance(body, dict):
        raise Malformed(teaching.body_not_object())
    if body.get("messages") is None and body.get("prompt") is None:
        raise Malformed(teaching.field_missing(needs), needs)
    if body.get("messages") is not None:
        check_messages(body["messages"])
    return body


def normalise(body: Any, child_model: str, needs: str = "messages") -> Outcome:
    """Everything that may have to change in a decoded request; the caller's dict is changed in place."""
    body = check(body, needs)
    warnings: list[str] = []
    before = dict(body)
    for trigger in TRIGGERS:
        warnings += trigger.apply(body) or ()
    # Rules make new values and leave the old ones alone, so that looking at the top is enough.
    same = body.keys() == before.keys() and all(body[field] is before[field] for field in before)
    if body.get("stream") is True and not wants_usage(body.get("stream_options")):
        asked = body.get("stream_options")
        body["stream_options"] = {**(asked if isinstance(asked, dict) else {}), "include_usage": True}
    body["model"] = child_model
    return Outcome(body, tuple(warnings), same)


def reply_bytes(raw: bytes, caller_model: str) -> bytes:
    """A buffered reply with the name that the caller used (A22); the same object when it has it already."""
    found = MODEL.search(raw)
    named = quote(caller_model)[1:-1]
    if found is None or found.group(1) == named:
        return raw
    return raw[: found.start(1)] + named + raw[found.end(1) :]


def first_call_alone(answer: Any) -> bool:
    """Leave of a buffered reply's calls only the first, where no more than one was to come; whether anything had to go."""
    changed = False
    for choice in answer.get("choices") or () if isinstance(answer, dict) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if isinstance(calls, list) and len(calls) > 1:
            del calls[1:]
            changed = True
    return changed
