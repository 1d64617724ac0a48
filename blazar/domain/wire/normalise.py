"""What every dialect's request must look like before a child sees it. Plain dicts in and out, nothing invented.

Stock engines are stricter than the APIs they imitate: chat templates want one system message and want it first
(cases C1, C16), llama-server answers 500 to null where it wants a string (A13, A16, A17) and takes a named tool_choice
for "auto" without a word (A19).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.remote_pictures import is_picture
from blazar.domain.wire.schema import without_nulls
from blazar.domain.wire.tools import arguments_object, strict_object

Message = dict[str, Any]
SYSTEM_ROLES = frozenset({"system", "developer"})


def merge_system(messages: list[Message]) -> list[Message]:
    """One system message, at the front, with every system and developer text in the order they came.

    The same list when it is that way already.
    """
    system = [m for m in messages if m.get("role") in SYSTEM_ROLES]
    if not system or (len(system) == 1 and system[0] is messages[0] and system[0]["role"] == "system"):
        return messages
    texts = [text for m in system if (text := text_of(m.get("content")))]
    rest = [m for m in messages if m.get("role") not in SYSTEM_ROLES]
    return [{**system[0], "role": "system", "content": "\n\n".join(texts)}, *rest]


def text_of(content: Any) -> str:
    """The text of a message's content: a string is opaque (A18), of parts their texts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def repair_history(messages: list[Message], warnings: list[str] | None = None) -> list[Message]:
    """Tool calls with ids, their answers with the same ids, arguments as the JSON text of an object (A17, B16).

    Missing ids are made up pairwise: the n-th answer without one goes to the n-th call without an answer, a named one
    (ollama's `tool_name`) to the first open call of that name. Arguments that are no object, mostly a call that its token limit
    cut off, are handed on as `{"raw": …}`, which is what ollama's and Anthropic's clients were told of the same call:
    refused, such a turn would end its conversation for good, and templates that read them as an object fail the request.
    ODD: an answer to no call and a call without an answer stay: most templates show them, and none can say what was left out.
    """
    repaired: list[Message] = []
    open_calls: list[tuple[str, str]] = []
    said: list[str] = [] if warnings is None else warnings
    for at, message in enumerate(messages):
        calls = message.get("tool_calls")
        if message.get("role") == "assistant" and isinstance(calls, list) and calls:
            whole = [_whole_call(call, (at, number), said) for number, call in enumerate(calls)]
            open_calls = [(call["id"], call["function"]["name"]) for call in whole]
            same = all(new is old for new, old in zip(whole, calls, strict=True))
            repaired.append(message if same else {**message, "tool_calls": whole})
        elif message.get("role") == "tool":
            repaired.append(_answered(message, open_calls))
        else:
            repaired.append(message)
    return messages if all(new is old for new, old in zip(repaired, messages, strict=True)) else repaired


def _whole_call(call: Any, place: tuple[int, int], warnings: list[str]) -> dict[str, Any]:
    """The call, or the same object where nothing lacks; `place`: the message's number and the call's in it."""
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    where = "messages[{}].tool_calls[{}]".format(*place)
    if not isinstance(function, dict) or not isinstance(name, str) or not name:
        raise Malformed(teaching.field_must(where, "call"), where)
    given, call_id, kind = function.get("arguments"), call.get("id"), call.get("type")
    arguments = _arguments(given, where, warnings)
    if arguments is given and call_id and isinstance(call_id, str) and kind and "index" not in function:
        sound: dict[str, Any] = call
        return sound
    # Ollama numbers calls inside the function; an engine's template would print the number as an argument.
    kept = {key: value for key, value in function.items() if key != "index"}
    return {
        **call,
        "id": str(call_id) if call_id else "call_{}_{}".format(*place),
        "type": kind or "function",
        "function": {**kept, "arguments": arguments},
    }


def _arguments(given: Any, where: str, warnings: list[str]) -> str:
    if given is None or isinstance(given, dict):
        return dump(given or {}).decode()
    text = given if isinstance(given, str) else dump(given).decode()
    if strict_object(text):
        return text
    if text.strip():
        warnings.append(teaching.warn_rewritten(f"{where}.function.arguments", teaching.arguments_no_object()))
    return dump(arguments_object(text)).decode()


def _answered(message: Message, open_calls: list[tuple[str, str]]) -> Message:
    call_id, name = message.get("tool_call_id"), message.get("tool_name") or message.get("name")
    at = 0
    for number, (open_id, open_name) in enumerate(open_calls):
        if open_id == call_id if call_id else open_name == name:
            at = number
            break
    taken = open_calls.pop(at) if open_calls and (not call_id or open_calls[at][0] == call_id) else None
    if call_id and message.get("content") is not None and "tool_name" not in message:
        return message
    kept = {key: value for key, value in message.items() if key != "tool_name"}
    return {
        **kept,
        "tool_call_id": call_id or (taken[0] if taken else "call_0_0"),
        "content": "" if message.get("content") is None else message["content"],
    }


def drop_nulls(body: dict[str, Any]) -> None:
    """JSON null means absent for every optional field (A13), in the body, its tools (A16), schemas, messages and their parts.

    A message's `content` keeps its null: beside tool calls it is the documented value.
    """
    _prune(body)
    for tool in _dicts(body.get("tools")):
        _prune(tool)
        if isinstance(tool.get("function"), dict):
            _prune(tool["function"])
            _prune_schema(tool["function"], "parameters")
    for field in ("stream_options", "response_format", "tool_choice", "chat_template_kwargs"):
        if isinstance(body.get(field), dict):
            _prune(body[field])
    wanted = body.get("response_format")
    for holder, key in ((wanted, "schema"), (_member(wanted, "json_schema"), "schema"), (body, "json_schema")):
        if isinstance(holder, dict):
            _prune(holder)
            _prune_schema(holder, key)
    for message in _dicts(body.get("messages")):
        _prune(message, keep="content")
        if isinstance(message.get("content"), list):
            message["content"] = _whole_parts(message["content"])


def _whole_parts(parts: list[Any]) -> list[Any]:
    """Parts without nulls; one whose text was null says nothing and goes."""
    for part in _dicts(parts):
        _prune(part)
        for inner in part.values():
            if isinstance(inner, dict):
                _prune(inner)
    return [
        part for part in parts if not (isinstance(part, dict) and part.get("type") == "text" and "text" not in part)
    ]


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _prune_schema(holder: dict[str, Any], key: str) -> None:
    if isinstance(holder.get(key), dict):
        holder[key] = without_nulls(holder[key])


def narrow_tool_choice(body: dict[str, Any]) -> None:
    """A tool_choice that names tools as those tools and a word: `required` for the one that is forced (A19).

    llama-server reads only strings there and takes an object for "auto", so the wish would be lost in silence.
    """
    choice = body.get("tool_choice")
    if not isinstance(choice, dict):
        return
    if choice.get("type") == "allowed_tools":
        body["tools"], body["tool_choice"] = _allowed(choice, body.get("tools"))
        return
    body["tools"] = _named(choice, body.get("tools"))[:1]
    body["tool_choice"] = "required"


def _named(chosen: Mapping[str, Any], tools: Any) -> list[Any]:
    """Those of `tools` that are called as `chosen` says."""
    function = chosen.get("function")
    name = function.get("name") if isinstance(function, dict) else chosen.get("name")
    if not isinstance(name, str) or not name:
        raise Malformed(teaching.forced_tool_needs_name(), "tool_choice")
    named = [tool for tool in _dicts(tools) if _tool_name(tool) == name]
    if not named:
        raise Malformed(teaching.unknown_tool(name[:80]), "tool_choice")
    return named


def _allowed(choice: Mapping[str, Any], tools: Any) -> tuple[list[Any], str]:
    """The tools that may be called, in the order of the request, and whether one must be.

    Chats hold the list in a member of its own, the Responses API beside the type; both are read here.
    """
    allowed = choice.get("allowed_tools", choice)
    held = allowed if isinstance(allowed, dict) else {}
    mode = "auto" if held.get("mode") is None else held["mode"]
    if mode not in ("auto", "required"):
        raise Malformed(teaching.field_must("tool_choice.mode", "allowed_mode"), "tool_choice.mode")
    if not (wanted := _dicts(held.get("tools"))):
        raise Malformed(teaching.field_missing("tool_choice.tools"), "tool_choice.tools")
    kept = [id(tool) for each in wanted for tool in _named(each, tools)]
    return [tool for tool in _dicts(tools) if id(tool) in kept], mode


def check_media(messages: Sequence[Message]) -> None:
    """What is to be looked at comes in the request: an engine that is given an address fetches it, from any network (J10)."""
    for at, message in enumerate(messages):
        for number, part in enumerate(_dicts(message.get("content"))):
            for name in [name for name in part if name.endswith("_url")]:
                held = part[name]
                url = held.get("url") if isinstance(held, dict) else held
                if not isinstance(url, str) or not url[:5].lower() == "data:":
                    raise Malformed(teaching.media_not_fetched(), f"messages[{at}].content[{number}].{name}")


def check_pictures(messages: Sequence[Message]) -> None:
    """What stands where a picture is expected is one: an engine fails at anything else, and says nothing of where."""
    for at, message in enumerate(messages):
        for number, part in enumerate(_dicts(message.get("content"))):
            if part.get("type") != "image_url":
                continue
            field = f"messages[{at}].content[{number}].image_url"
            held = part.get("image_url")
            if not isinstance(held, dict) or not isinstance(held.get("url"), str):
                raise Malformed(teaching.field_must(field, "picture_url"), field)
            if not is_picture(held["url"]):
                raise Malformed(teaching.field_must(field, "picture"), field)


def check_audio(messages: Sequence[Message]) -> None:
    """Sound comes in the request, too: llama-server fetches what stands in either member where that is an address (J10)."""
    for at, message in enumerate(messages):
        for number, part in enumerate(_dicts(message.get("content"))):
            sound = part.get("input_audio")
            for held in sound.values() if isinstance(sound, dict) else ():
                if isinstance(held, str) and ":" in held and held[:5].lower() != "data:":
                    raise Malformed(teaching.media_not_fetched(), f"messages[{at}].content[{number}].input_audio")


def brings_media(messages: Any) -> bool:
    """Whether there is anything to be looked at, in the spelling that engines read (`image_url`, `video_url`)."""
    return any(
        name.endswith("_url")
        for message in _dicts(messages)
        for part in _dicts(message.get("content"))
        for name in part
    )


def offers_tools(body: Mapping[str, Any]) -> bool:
    """Whether the model may call something: tools that nobody may call need no place in its template."""
    return bool(body.get("tools")) and body.get("tool_choice") != "none"


def check_tools(body: dict[str, Any]) -> None:
    """A tool's parameters are a schema, so an object (or true or false). What it says is the engine's to take or refuse (C14)."""
    for at, tool in enumerate(_dicts(body.get("tools"))):
        function = tool.get("function")
        parameters = function.get("parameters") if isinstance(function, dict) else None
        if parameters is not None and not isinstance(parameters, dict | bool):
            field = f"tools[{at}].function.parameters"
            raise Malformed(teaching.schema_wrong(field, teaching.schema_flaw("object")), field)


def check_names(tools: Sequence[dict[str, Any]]) -> None:
    """Two functions of one name: nobody could say which of them was called."""
    seen: set[Any] = set()
    for tool in tools:
        if (name := _tool_name(tool)) in seen:
            raise Malformed(teaching.tools_share_name(str(name)), "tools")
        seen.add(name)


def check_messages(messages: Any) -> list[Message]:
    """Messages are a list of objects with a role each; the first that is not is named by its place."""
    if not isinstance(messages, list):
        raise Malformed(teaching.field_must("messages", "list"), "messages")
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Malformed(teaching.field_must(f"messages[{at}]", "message"), f"messages[{at}]")
    return messages


def _tool_name(tool: dict[str, Any]) -> Any:
    function = tool.get("function")
    return function.get("name") if isinstance(function, dict) else None


def _dicts(value: Any) -> Sequence[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()


def _prune(value: dict[str, Any], keep: str = "") -> None:
    for key in [key for key, item in value.items() if item is None and key != keep]:
        del value[key]
