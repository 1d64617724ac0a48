"""Tools of the Responses dialect, there and back."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.responses_tools import Tool, apply_tools, custom_input, echoed, qualified, read_tools

FUNCTION = {"type": "function", "name": "f", "description": None, "parameters": {"type": "object"}, "strict": True}
SPACE = {"type": "namespace", "name": "ns", "description": "d", "tools": [FUNCTION, {"type": "custom", "name": "c"}]}


def applied(**body: Any) -> tuple[dict[str, Any], list[str]]:
    warnings: list[str] = []
    out: dict[str, Any] = {}
    apply_tools(body, read_tools(body, warnings), out, warnings)
    return out, warnings


def names(out: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in out.get("tools", [])]


def test_a_function_is_a_childs_function() -> None:
    """A null description is absent (A16), and what only the service reads is left out."""
    out, warnings = applied(tools=[FUNCTION])
    assert out == {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}
    assert warnings == []


def test_tools_that_are_run_elsewhere_are_left_out_and_named() -> None:
    """The rest is served (A25)."""
    out, warnings = applied(tools=[{"type": "web_search"}, FUNCTION, {"type": "local_shell"}])
    assert names(out) == ["f"]
    assert [warning.split("'")[1] for warning in warnings] == ["tools[0]", "tools[2]"]


def test_a_namespace_keeps_its_members() -> None:
    """Under qualified names, which lead back to the member (A30)."""
    tools = read_tools({"tools": [SPACE]}, [])
    assert [tool["function"]["name"] for tool in tools.functions] == ["ns__f", "ns__c"]
    assert tools.called("ns__f") == Tool("f", "ns")
    assert tools.called("ns__c") == Tool("c", "ns", custom=True)
    assert tools.called("made_up") == Tool("made_up")


@pytest.mark.parametrize(("space", "called"), [("", "f"), ("ns", "ns__f"), ("mcp__x__", "mcp__x__f")])
def test_a_name_is_joined_once(space: str, called: str) -> None:
    """Namespaces of MCP servers end with the joint already."""
    assert qualified("f", space) == called


def test_odd_the_grammar_of_a_custom_tool_is_told_in_words() -> None:
    """The function has one text; what it must look like stands in the description."""
    form = {"type": "grammar", "syntax": "lark", "definition": "start: PATCH"}
    out, _ = applied(tools=[{"type": "custom", "name": "apply_patch", "description": "Edits.", "format": form}])
    function = out["tools"][0]["function"]
    assert function["parameters"]["required"] == ["input"]
    assert function["description"].startswith("Edits.")
    assert "in lark:\nstart: PATCH" in function["description"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [('{"input":"a\\nb"}', "a\nb"), ('{"input":', '{"input":'), ('{"other":1}', '{"other":1}'), ("", "")],
)
def test_the_text_of_a_custom_call(arguments: str, text: str) -> None:
    """Unpacked where it is whole, as it came where not: nothing is guessed."""
    assert custom_input(arguments) == text


@pytest.mark.parametrize(
    ("choice", "called", "mode"),
    [
        (None, ["f", "g"], None),
        ("none", ["f", "g"], "none"),
        ("auto", ["f", "g"], "auto"),
        ("required", ["f", "g"], "required"),
        ({"type": "function", "name": "g"}, ["g"], "required"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}, ["f"], "auto"),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "g"}, {"type": "mcp"}],
            },
            ["g"],
            "required",
        ),
    ],
)
def test_every_form_of_a_choice(choice: Any, called: list[str], mode: str | None) -> None:
    """Words pass; a choice that names tools leaves those alone (A19)."""
    out, warnings = applied(tools=[FUNCTION, {**FUNCTION, "name": "g"}], tool_choice=choice)
    assert names(out) == called
    assert out.get("tool_choice") == mode
    assert warnings == []


def test_members_of_a_namespace_can_be_chosen() -> None:
    """One by name and namespace, or all of it."""
    assert names(applied(tools=[SPACE], tool_choice={"type": "function", "name": "f", "namespace": "ns"})[0]) == [
        "ns__f"
    ]
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "ns"}]}
    assert names(applied(tools=[SPACE, FUNCTION], tool_choice=allowed)[0]) == ["ns__f", "ns__c"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tools": [FUNCTION], "tool_choice": "any"}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": 5}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "nope"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "allowed_tools", "mode": "none"}}, "tool_choice.mode"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "custom"}]}]}, "tools[0].tools[0].name"),
        ({"tools": [{"type": "function", "name": "f", "parameters": []}]}, "tools[0].parameters"),
        ({"tools": "f"}, "tools"),
        ({"tools": [5]}, "tools[0]"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_place(body: dict[str, Any], field: str) -> None:
    """A 400 that names the field."""
    with pytest.raises(Malformed) as caught:
        applied(**body)
    assert caught.value.field == field


def test_a_choice_without_tools_is_named() -> None:
    """`required` cannot be kept where every tool was left out."""
    out, warnings = applied(tools=[{"type": "web_search"}], tool_choice="required")
    assert "tool_choice" not in out
    assert len(warnings) == 2


def test_parallel_calls_are_as_the_caller_said() -> None:
    """Unsaid, the engine's own way holds."""
    assert applied(tools=[FUNCTION], parallel_tool_calls=False)[0]["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in applied(tools=[FUNCTION])[0]


def test_tools_are_repeated_as_they_came() -> None:
    """Functions get the members that clients read without looking."""
    assert echoed([{"type": "function", "name": "f"}, {"type": "web_search"}]) == [
        {"type": "function", "name": "f", "parameters": None, "strict": None},
        {"type": "web_search"},
    ]
    assert echoed(None) == []
