"""ollama's `/api/chat`, `/api/generate`, `/api/embed`: requests into the child's words, whole answers back.

A field that has no effect is named in a warning, never dropped in silence; one that is malformed is refused by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.go_template import conversation, parse
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.context import packed, unpacked
from blazar.domain.wire.delta import Finish, Usage
from blazar.domain.wire.normalise import check_messages, check_tools, drop_nulls, merge_system, repair_history
from blazar.domain.wire.odds import UNASKED, Odds, ask_for_odds, rows_of, want_odds
from blazar.domain.wire.reasoning import ask_to_think, read_think
from blazar.domain.wire.remote_pictures import is_picture
from blazar.domain.wire.request import (
    CHAT,
    COMPLETIONS,
    ENDLESS,
    INFILL,
    ChildRequest,
    ignored,
    opt_object,
    want_bool,
    want_list,
    want_object,
    want_text,
    with_stream,
)
from blazar.domain.wire.stamps import nanoseconds, rfc3339
from blazar.domain.wire.structured import apply_format
from blazar.domain.wire.tools import Call, arguments_object
from blazar.domain.wire.turn import LOAD_WORTH_TELLING_NS, Shape, Turn


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return whole(value) is not None


def _stops(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


class _Option(NamedTuple):
    child: str
    want: str
    fits: Callable[[Any], bool]


# ollama option → what llama-server calls it. Anything else is about loading, which configuration decides: a warning.
OPTIONS: Final[dict[str, _Option]] = {
    "num_predict": _Option("max_tokens", "integer", _whole),
    "num_keep": _Option("n_keep", "integer", _whole),
    "seed": _Option("seed", "integer", _whole),
    "stop": _Option("stop", "stops", _stops),
    "temperature": _Option("temperature", "number", _number),
    "top_k": _Option("top_k", "integer", _whole),
    "top_p": _Option("top_p", "number", _number),
    "min_p": _Option("min_p", "number", _number),
    "typical_p": _Option("typical_p", "number", _number),
    "repeat_last_n": _Option("repeat_last_n", "integer", _whole),
    "repeat_penalty": _Option("repeat_penalty", "number", _number),
    "presence_penalty": _Option("presence_penalty", "number", _number),
    "frequency_penalty": _Option("frequency_penalty", "number", _number),
    "mirostat": _Option("mirostat", "integer", _whole),
    "mirostat_tau": _Option("mirostat_tau", "number", _number),
    "mirostat_eta": _Option("mirostat_eta", "number", _number),
}
_READ = frozenset({"model", "stream", "format", "options", "keep_alive", "think", "logprobs", "top_logprobs"})
_READ_CHAT = _READ | {"messages", "tools", "truncate"}
_READ_GENERATE = _READ | {"prompt", "system", "images", "raw", "suffix", "context", "template", "truncate"}
_EMBED_READ = frozenset(
    {"model", "input", "prompt", "options", "keep_alive", "truncate", "dimensions", "late_chunking"}
)
# How base64 of each image format begins. Ollama sends bare base64, an engine wants to know what it is.
_IMAGE_HEADS = {
    "iVBOR": "image/png",
    "/9j/": "image/jpeg",
    "R0lG": "image/gif",
    "UklG": "image/webp",
    "Qk": "image/bmp",
}


def chat_request(body: Mapping[str, Any], child_model: str) -> ChildRequest:
    """Read `/api/chat`. No messages: only load the model."""
    given = check_messages(want_list(body, "messages"))
    warnings: list[str] = []
    history = repair_history([_message(message, at) for at, message in enumerate(given)], warnings)
    out: dict[str, Any] = {"model": child_model, "messages": merge_system(history)}
    tools = [_tool(want_object(tool, f"tools[{at}]")) for at, tool in enumerate(want_list(body, "tools"))]
    if tools:
        out["tools"] = tools
    check_tools(out)
    drop_nulls(out)
    request = _finished(body, out, Shape.CHAT, load_only=not given)
    return request._replace(warnings=(*warnings, *request.warnings)) if warnings else request


def generate_request(body: Mapping[str, Any], child_model: str) -> ChildRequest:
    """Read `/api/generate`: a turn through the model's own template, with `raw` the prompt as it is, with `suffix` the gap filled.

    With a `template` of its own the prompt is written here, and sent raw. An empty prompt only loads the model.
    """
    prompt, suffix = want_text(body, "prompt"), want_text(body, "suffix")
    images = want_list(body, "images")
    raw = want_bool(body, "raw", default=False)
    unused = {
        "system": want_text(body, "system"),
        "template": want_text(body, "template"),
        "context": want_list(body, "context"),
    }
    if suffix and images:
        raise Malformed(teaching.field_unsupported("images", teaching.not_with_suffix()), "images")
    if (raw or unused["template"]) and images:
        raise Malformed(teaching.field_unsupported("images", teaching.images_not_raw()), "images")
    out: dict[str, Any] = {"model": child_model}
    if suffix:
        out |= {"input_prefix": prompt, "input_suffix": suffix}
    elif raw:
        out["prompt"] = prompt
    else:
        out |= _turn(body, {"role": "user", "content": _with_images(prompt, images, "images")})
        unused = {}
    request = _finished(body, out, Shape.GENERATE, load_only=not (prompt or suffix or images))
    dropped = [ignored(name) for name, given in unused.items() if given]
    return request._replace(warnings=(*request.warnings, *dropped)) if dropped else request


def _turn(body: Mapping[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    """The conversation so far and this turn, as messages, or as the prompt that the request's own template makes of them.

    An answer to such a prompt has no `context`: its turns stand in no template of the model's.
    """
    context, system, template = want_list(body, "context"), want_text(body, "system"), want_text(body, "template")
    before = unpacked(context) if context else []
    if system:
        before = [{"role": "system", "content": system}, *(said for said in before if said["role"] != "system")]
    messages = [*before, user]
    return {"prompt": conversation(parse(template), messages)} if template else {"messages": messages}


def _finished(body: Mapping[str, Any], out: dict[str, Any], shape: Shape, *, load_only: bool) -> ChildRequest:
    """What both routes share: options, format, thinking, streaming."""
    read = _READ_CHAT if shape is Shape.CHAT else _READ_GENERATE
    warnings = [ignored(field) for field, value in body.items() if field not in read and value not in (None, "", [])]
    num_ctx = _apply_options(body, out, warnings)
    held = apply_format(body.get("format"), out, warnings)
    think, effort = read_think(body.get("think"))
    if "messages" in out:
        ask_to_think(out, think, effort)
    elif want_bool(body, "truncate", default=False):
        warnings.append(ignored("truncate"))  # a text has no beginning that could go by itself
    odds = want_odds(body)
    if "input_prefix" in out and odds.wanted:
        warnings.append(ignored("logprobs"))
    else:
        ask_for_odds(out, odds)
    # Prompt caching is the engine's and has nothing to do with context shifting (B15).
    out["cache_prompt"] = True
    stream = want_bool(body, "stream", default=True)
    return ChildRequest(
        path=CHAT if "messages" in out else COMPLETIONS if "prompt" in out else INFILL,
        body=with_stream(out, stream=stream),
        stream=stream,
        warnings=tuple(warnings),
        thinking=think is not False,
        keep_alive=body.get("keep_alive"),
        num_ctx=num_ctx,
        load_only=load_only,
        shape=shape,
        schema=held.schema,
        constraint=held.constraint,
    )


def wants_thoughts(body: Mapping[str, Any]) -> bool:
    """Whether they are asked for in so many words."""
    return bool(read_think(body.get("think"))[0])


def _apply_options(body: Mapping[str, Any], out: dict[str, Any], warnings: list[str]) -> int | None:
    """Write the options into the child's body; the window that was asked for, if any."""
    options = opt_object(body, "options")
    num_ctx: int | None = None
    for name, value in options.items():
        if value is None:
            continue
        field = f"options.{name}"
        if name == "num_ctx":
            num_ctx = whole(value)
            if num_ctx is None or num_ctx < 1:
                raise Malformed(teaching.field_must(field, "positive"), field)
            continue
        option = OPTIONS.get(name)
        if option is None:
            warnings.append(ignored(field))
            continue
        if not option.fits(value):
            raise Malformed(teaching.field_must(field, option.want), field)
        number = whole(value) if option.want == "integer" else value
        # num_predict 0, -1 and -2 mean "no limit". It is said, as a created model may have been started with a limit of its own.
        out[option.child] = ENDLESS if name == "num_predict" and value <= 0 else number
    return num_ctx


def _message(message: dict[str, Any], at: int) -> dict[str, Any]:
    """One message of ollama's as OpenAI's; ids and argument text come with the shared repair."""
    where = f"messages[{at}]"
    text = want_text(message, "content", f"{where}.content")
    images = message.get("images")
    if images is not None and not isinstance(images, list):
        raise Malformed(teaching.field_must(f"{where}.images", "list"), f"{where}.images")
    kept = {key: value for key, value in message.items() if key not in ("images", "thinking")}
    out = {**kept, "content": _with_images(text, images or [], f"{where}.images")}
    if thought := want_text(message, "thinking", f"{where}.thinking"):
        out["reasoning_content"] = thought
    return out


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A copy that may be pruned without touching the caller's body."""
    function = tool.get("function")
    return {**tool, "function": dict(function)} if isinstance(function, dict) else dict(tool)


def _with_images(text: str, images: list[Any], field: str) -> str | list[dict[str, Any]]:
    if not images:
        return text
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for image in images:
        if not isinstance(image, str) or not image:
            raise Malformed(teaching.field_must(field, "images"), field)
        if not is_picture(image):
            raise Malformed(teaching.field_must(field, "picture"), field)
        kind = next((mime for head, mime in _IMAGE_HEADS.items() if image.startswith(head)), "image/png")
        url = image if image.startswith("data:") else f"data:{kind};base64,{image}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def load_reply(shape: Shape, turn: Turn, reason: str) -> dict[str, Any]:
    """The answer to an empty request: `reason` is "load" or "unload"."""
    return {
        "model": turn.model,
        "created_at": rfc3339(turn.wall),
        **_said(shape, Answer("", "", (), Finish("stop"), Usage(0, 0)), turn),
        "done": True,
        "done_reason": reason,
    }


class Extra(NamedTuple):
    """What else an answer tells: log probabilities, and the messages of which `context` is made (none: no context)."""

    odds: Odds = UNASKED
    messages: Sequence[Mapping[str, Any]] = ()


NO_EXTRA: Final = Extra()


def extra_of(body: Mapping[str, Any], request: ChildRequest) -> Extra:
    """What a request, as it came and as it was read, wants told."""
    messages = request.body.get("messages", ()) if request.shape is Shape.GENERATE else ()
    return Extra(want_odds(body), messages)


def reply(shape: Shape, turn: Turn, answer: Answer, elapsed: float, extra: Extra = NO_EXTRA) -> dict[str, Any]:
    """A buffered answer, `elapsed` seconds after the request began."""
    odds = extra.odds
    return {
        "model": turn.model,
        "created_at": rfc3339(turn.wall + elapsed),
        **_said(shape, answer, turn),
        "done": True,
        **({"logprobs": rows_of(answer.odds, odds.top)} if odds.wanted and answer.odds else {}),
        **({"context": packed(extra.messages, answer.text)} if extra.messages else {}),
        **closing_facts(turn, answer.finish, answer.usage, (0.0, elapsed)),
    }


def _said(shape: Shape, answer: Answer, turn: Turn) -> dict[str, Any]:
    thinking = {"thinking": answer.reasoning} if answer.reasoning and turn.thinking else {}
    if shape is Shape.GENERATE:
        return {"response": answer.text, **thinking}
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, **thinking}
    if answer.calls:
        message["tool_calls"] = [tool_call(call, number, turn) for number, call in enumerate(answer.calls)]
    return {"message": message}


def tool_call(call: Call, number: int, turn: Turn) -> dict[str, Any]:
    """A whole call with its arguments as an object (B16)."""
    function = {"index": number, "name": call.name, "arguments": arguments_object(call.arguments)}
    return {"id": call.id or turn.call_id(number), "function": function}


def closing_facts(turn: Turn, finish: Finish, usage: Usage, clock: tuple[float, float]) -> dict[str, Any]:
    """What the last line says. `clock`: seconds until the first piece and until now, for engines that time nothing."""
    first, now = clock
    prompt_ns, predicted_ns = round(usage.prompt_ms * 1e6), round(usage.predicted_ms * 1e6)
    load = {"load_duration": turn.load_ns} if turn.load_ns > LOAD_WORTH_TELLING_NS else {}
    return {
        "done_reason": "length" if finish.reason == "length" else "stop",
        "total_duration": nanoseconds(now),
        **load,
        "prompt_eval_count": usage.prompt,
        "prompt_eval_duration": prompt_ns or max(0, nanoseconds(first) - turn.load_ns),
        "eval_count": usage.completion,
        "eval_duration": predicted_ns or nanoseconds(now - first),
    }


def embed_request(body: Mapping[str, Any], child_model: str) -> dict[str, Any]:
    """Read `/api/embed`; `input` is a string or a list of them. What becomes of `dimensions` is the answer's business.

    ODD: an empty text to embed is no input, nor is an empty list: clients preload a model so, as `/api/generate` has it.
    """
    given = body.get("input") if body.get("input") is not None else body.get("prompt")
    texts = ([given] if given else []) if isinstance(given, str) else given
    if texts is None:
        raise Malformed(teaching.field_missing("input"), "input")
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise Malformed(teaching.field_must("input", "texts"), "input")
    return {"model": child_model, "input": texts, "encoding_format": "float"}


def legacy_embed_request(body: Mapping[str, Any], child_model: str) -> dict[str, Any]:
    """Read `/api/embeddings`: `prompt`, or `input` as newer clients call it. Its answer is a vector, never an empty one (B4)."""
    text = want_text(body, "prompt") or want_text(body, "input")
    if not text:
        raise Malformed(teaching.field_missing("prompt"), "prompt")
    return {"model": child_model, "input": [text], "encoding_format": "float"}


def embed_warnings(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields of an embedding request that have no effect."""
    return tuple(ignored(field) for field, value in body.items() if field not in _EMBED_READ and value is not None)
