"""The grammar that confines answers to calls."""

import re

from blazar.domain.wire.grammar import MOST_CALLS, calls_only, literal


def rules(grammar: str) -> dict[str, str]:
    """By name."""
    return dict(line.split(" ::= ", 1) for line in grammar.splitlines())


def test_it_begins_with_calls_and_nothing_else() -> None:
    """Its root is one envelope, or several up to a bound."""
    several, one = calls_only(["f"]), calls_only(["f"], several=False)
    assert rules(several)["root"] == f'call ("\\n" call){{0,{MOST_CALLS - 1}}}'
    assert rules(one)["root"] == "call"
    assert rules(one)["call"].startswith('"<tool_call>\\n{\\"name\\": " name ')
    assert rules(one)["call"].endswith('"}\\n</tool_call>"')


def test_names_are_the_requests_and_told_once() -> None:
    """As JSON strings, whatever they hold."""
    grammar = calls_only(["get_weather", "get_weather", 'odd"name\\', "größe"])
    assert rules(grammar)["name"] == r'"\"get_weather\"" | "\"odd\\\"name\\\\\"" | "\"größe\""'


def test_every_rule_that_is_used_is_there() -> None:
    """A grammar with a hole is refused by the engine, and with it the request."""
    held = rules(calls_only(["f"]))
    for body in held.values():
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]', " ", body)
        assert set(re.findall(r"[a-z]+", bare)) <= held.keys(), body


def test_nothing_is_endless_but_texts_and_lists() -> None:
    """Blanks and digits have a bound: small models never leave a rule that takes any number of them."""
    held = rules(calls_only(["f"]))
    assert "*" not in held["blank"] + held["number"]
    assert "+" not in held["blank"].replace("[-+]", "")


def test_a_literal_is_escaped() -> None:
    """Quotes, backslashes, breaks of lines."""
    assert literal('a"b\\c\nd\re') == r'"a\"b\\c\nd\re"'
