"""How an ECMAScript regular expression is read."""

import pytest

from blazar.domain.fit.expression import MAX_LENGTH, Assertion, Node, Unreadable, parse


def one(char):
    return Node("set", chars=frozenset(char))


def only(pattern):
    """The one part of a pattern that has one."""
    (part,) = parse(pattern).parts
    return part


def test_a_sequence_is_read_in_order():
    """Characters, groups that capture or not, and what begins or ends."""
    assert parse("a(?:b)(c)") == Node(
        "sequence", (one("a"), Node("sequence", (one("b"),)), Node("sequence", (one("c"),)))
    )
    assert [part.assertion for part in parse(r"^\b\B$").parts] == [
        Assertion.START,
        Assertion.BOUNDARY,
        Assertion.NO_BOUNDARY,
        Assertion.END,
    ]


def test_alternatives_may_be_empty():
    """`a|` takes nothing as well."""
    assert parse("a|") == Node("any of", (Node("sequence", (one("a"),)), Node("sequence")))


@pytest.mark.parametrize(
    ("quantifier", "least", "most"),
    [("*", 0, None), ("+", 1, None), ("?", 0, 1), ("{3}", 3, 3), ("{3,}", 3, None), ("{0,7}", 0, 7), ("*?", 0, None)],
)
def test_quantifiers_have_bounds(quantifier, least, most):
    """Lazy ones are the same: only whether there is a match is asked."""
    assert only(f"a{quantifier}") == Node("repeat", (one("a"),), least=least, most=most)


@pytest.mark.parametrize(
    ("pattern", "chars", "others"),
    [
        ("[a-c]", "abc", False),
        ("[^a-c_]", "abc_", True),
        ("[]]", "", False),
        ("[-a]", "-a", False),
        ("[a-]", "a-", False),
        (r"[\d]", "0123456789", False),
        ("[[:digit:]x]", "0123456789x", False),
        (r"[\]\\]", "]\\", False),
        (r"\D", "0123456789", True),
        (".", "\n\r", True),
        (r"\.", ".", False),
        (r"\x41", "A", False),
        (r"\t", "\t", False),
    ],
)
def test_classes_and_escapes_are_sets(pattern, chars, others):
    """An empty class matches nothing, as ECMAScript has it."""
    first = parse(pattern).parts[0]
    assert (first.kind, first.chars, first.others) == ("set", frozenset(chars), others)


def test_looking_ahead_holds_an_expression():
    """Both kinds, one level deep."""
    assert only("(?!a)").assertion is Assertion.NOT_AHEAD
    assert only("(?=a)").parts == (Node("sequence", (one("a"),)),)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a" * (MAX_LENGTH + 1), "long"),
        ("(" * 30, "large"),
        ("a{256}", "large"),
        ("(?=(?=a))", "large"),
        ("[", "end"),
        ("a\\", "end"),
        ("(a", "bracket"),
        ("a)", "bracket"),
        ("+", "quantifier"),
        ("a{1", "quantifier"),
        ("(?<a)", "group"),
        (r"\1", "reference"),
        (r"\q", "escape"),
        ("[b-a]", "range"),
        ("[[:word:]]", "class"),
    ],
)
def test_what_cannot_be_read_says_why(pattern, why):
    """One word for each flaw, which `teaching` spells out."""
    with pytest.raises(Unreadable) as trouble:
        parse(pattern)
    assert trouble.value.why == why
