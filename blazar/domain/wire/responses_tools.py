"""The tools of a Responses request in the child's words, and what its calls are called when they come back.

A child knows functions alone: members of a namespace become functions with qualified names (A30), a custom tool a function of one
text. Tools that OpenAI's own servers run are left out and named (A25).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.request import ignored, want_list, want_object, want_text
from blazar.domain.wire.sampling import check_choice
from blazar.domain.wire.tools import arguments_object

CUSTOM_INPUT: Final = "input"
"""The one parameter of the function that a custom tool becomes."""
_CUSTOM_PARAMETERS: Final = {
    "type": "object",
    "properties": {CUSTOM_INPUT: {"type": "string"}},
    "required": [CUSTOM_INPUT],
    "additionalProperties": False,
}
_JOINT: Final = "__"
"""Between a namespace and its member. Names of MCP servers end with it already, as their clients write them."""
_MODES: Final = ("none", "auto", "required")


class Tool(NamedTuple):
    """A tool as its caller calls it."""

    name: str
    namespace: str = ""
    custom: bool = False


class Tools(NamedTuple):
    """Functions for the child, and the caller's tool behind each of their names."""

    functions: tuple[dict[str, Any], ...] = ()
    known: Mapping[str, Tool] = {}

    def called(self, name: str) -> Tool:
        """The caller's tool of a call; a name that nobody declared is passed on as it is."""
        return self.known.get(name) or Tool(name)


def qualified(name: str, namespace: str) -> str:
    """The name under which a child knows a member of a namespace."""
    return name if not namespace else namespace + ("" if namespace.endswith(_JOINT) else _JOINT) + name


def read_tools(body: Mapping[str, Any], warnings: list[str]) -> Tools:
    """The `tools` of a request."""
    functions: list[dict[str, Any]] = []
    known: dict[str, Tool] = {}
    for at, tool in enumerate(want_list(body, "tools")):
        where = f"tools[{at}]"
        if want_object(tool, where).get("type") == "namespace":
            space = _name(tool, where)
            members = [(each, f"{where}.tools[{n}]") for n, each in enumerate(want_list(tool, "tools"))]
        else:
            space, members = "", [(tool, where)]
        for member, place in members:
            kind = want_object(member, place).get("type")
            if kind not in ("function", "custom"):
                warnings.append(ignored(place))
                continue
            made = Tool(_name(member, place), space, kind == "custom")
            called = qualified(made.name, space)
            known[called] = made
            functions.append(_custom(member, called, place) if made.custom else _function(member, called, place))
    return Tools(tuple(functions), known)


def _name(tool: Mapping[str, Any], where: str) -> str:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise Malformed(teaching.field_missing(f"{where}.name"), f"{where}.name")
    return name


def _function(tool: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    parameters = tool.get("parameters")
    schema = {"type": "object"} if parameters is None else want_object(parameters, f"{where}.parameters")
    return _child_function(name, want_text(tool, "description", f"{where}.description"), schema)


def _custom(tool: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """ODD: the grammar of a custom tool is told in words: an engine holds a function's arguments to a schema, and to nothing else."""
    text = want_text(tool, "description", f"{where}.description")
    form = tool.get("format")
    if isinstance(form, dict) and isinstance(form.get("definition"), str):
        text = f"{text}\n\n{teaching.custom_tool_form(CUSTOM_INPUT, str(form.get('syntax')))}\n{form['definition']}"
    return _child_function(name, text.strip(), _CUSTOM_PARAMETERS)


def _child_function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name, "parameters": parameters}
    if description:
        function["description"] = description
    return {"type": "function", "function": function}


def apply_tools(body: Mapping[str, Any], tools: Tools, out: dict[str, Any], warnings: list[str]) -> None:
    """Write the functions and the choice among them into a child's request."""
    functions = list(tools.functions)
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        functions, choice = _chosen(choice, tools)
    elif choice not in (None, *_MODES):
        raise Malformed(teaching.field_must("tool_choice", "responses_choice"), "tool_choice")
    if not functions:
        if choice == "required":
            check_choice(choice, offered=bool(body.get("tools")))
            warnings.append(ignored("tool_choice"))
        return
    out["tools"] = functions
    if choice is not None:
        out["tool_choice"] = choice
    if body.get("parallel_tool_calls") is not None:
        out["parallel_tool_calls"] = body["parallel_tool_calls"]


def _chosen(choice: Mapping[str, Any], tools: Tools) -> tuple[list[dict[str, Any]], str]:
    """A choice that names tools, as the functions that may be called. llama-server reads only words there (A19)."""
    if choice.get("type") == "allowed_tools":
        mode = "auto" if choice.get("mode") is None else choice["mode"]
        if mode not in ("auto", "required"):
            raise Malformed(teaching.field_must("tool_choice.mode", "responses_choice"), "tool_choice.mode")
        # Tools that are run elsewhere were left out of the request, so they are here.
        named = [
            each
            for each in want_list(choice, "tools")
            if want_object(each, "tool_choice.tools").get("type") in ("function", "custom", "namespace")
        ]
        return [function for each in named for function in _functions_of(each, tools)], mode
    return _functions_of(choice, tools)[:1], "required"


def _functions_of(chosen: Mapping[str, Any], tools: Tools) -> list[dict[str, Any]]:
    name, space = chosen.get("name"), chosen.get("namespace") or ""
    if not isinstance(name, str) or not name:
        raise Malformed(teaching.unknown_tool(str(chosen.get("type"))[:80]), "tool_choice")
    wanted = {qualified(name, str(space))}
    if chosen.get("type") == "namespace":
        wanted = {called for called, tool in tools.known.items() if tool.namespace == name}
    found = [function for function in tools.functions if function["function"]["name"] in wanted]
    if not found:
        raise Malformed(teaching.unknown_tool(name[:80]), "tool_choice")
    return found


def custom_input(arguments: str) -> str:
    """The text for a custom tool out of the arguments of its function; arguments that are cut stand as they came."""
    value = arguments_object(arguments).get(CUSTOM_INPUT)
    return value if isinstance(value, str) else arguments


def echoed(tools: Any) -> Sequence[Any]:
    """The caller's tools as an answer repeats them: functions with the `strict` that clients look for."""
    rows = tools if isinstance(tools, list) else []
    return [
        {"strict": None, "parameters": None, **each}
        if isinstance(each, dict) and each.get("type") == "function"
        else each
        for each in rows
    ]
