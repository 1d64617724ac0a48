"""Which tensor names an `override_tensor` pattern is found in."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import Malformed
from blazar.domain.fit.expression import MAX_LENGTH
from blazar.domain.fit.patterns import LONGEST, MAX_STATES, MAX_TOGETHER, found


def holds(pattern, name):
    """Whether the pattern is found in this one name."""
    return found((pattern,), (name,)) == ({name},)


@pytest.mark.parametrize(
    ("pattern", "name", "there"),
    [
        (r"blk\.(1[0-9]|2[0-3])\.ffn_.*_exps\.weight", "blk.19.ffn_up_exps.weight", True),
        (r"blk\.(1[0-9]|2[0-3])\.ffn_.*_exps\.weight", "blk.9.ffn_up_exps.weight", False),
        (r"blk\.(1[0-9]|2[0-3])\.ffn_.*_exps\.weight", "blk.24.ffn_up_exps.weight", False),
        (r"blk\.[0-5]\.", "enc.blk.3.attn_q.weight", True),
        (r"^blk\.[0-5]\.", "enc.blk.3.attn_q.weight", False),
        (r"weight$", "output.weight", True),
        (r"weight$", "output.weight.scale", False),
        (r"\.ffn_(?!gate_inp).*", "blk.1.ffn_gate_inp.weight", False),
        (r"\.ffn_(?!gate_inp).*", "blk.1.ffn_up.weight", True),
        (r"ffn_(?=up)", "blk.1.ffn_up.weight", True),
        (r"^blk\.[[:digit:]]{2}\.", "blk.12.attn_q.weight", True),
        (r"^blk\.[[:digit:]]{2}\.", "blk.1.attn_q.weight", False),
        (r"[^[:alnum:]._]", "blk.1-2", True),
        (r"\bffn", "blk.1.ffn_up", True),
        (r"\Bffn", "blk.1.ffn_up", False),
        (r"a{2,}b", "aaab", True),
        (r"a{2,}b", "ab", False),
        (r"^a{1,2}$", "aaa", False),
        (r"\x61\u0062\.", "ab.", True),
        ("", "output.weight", True),
        ("]", "a]", True),
        (r"[\w.]+\s", "a.b", False),
        (r"x*?y+?z??", "y", True),
        ("(?:)*a", "a", True),
    ],
)
def test_it_finds_what_ecmascript_finds(pattern, name, there):
    """The engine's dialect, not Python's: classes by name, no look-behind, a match anywhere in the name."""
    assert holds(pattern, name) is there


UNREADABLE = [
    "(",
    ")",
    "[a",
    "[z-a]",
    "[[:nothing:]]",
    "*a",
    "a**{",
    "a{",
    "a{x}",
    "a{3,2}",
    "{2}",
    "^*",
    "\\",
    "\\y",
    "\\x6",
    "(?",
]
UNREADABLE += ["\\u00g0", "(?<=a)b", "(?P<n>a)", "(a)\\1", "a{256}", "((a{99}){99}){99}", "(?=(?=a))"]
LARGE = ["a" * (MAX_LENGTH + 1), "(" * 21 + ")" * 21, "(?=a)" * 9]


@pytest.mark.parametrize("pattern", UNREADABLE + LARGE)
def test_what_cannot_be_read_is_refused_by_the_key(pattern):
    """A person gets a sentence that names the key and why, before anything is spawned."""
    with pytest.raises(Malformed) as refused:
        found((pattern,), ())
    assert refused.value.field == "override_tensor"
    assert "override_tensor" in str(refused.value)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|a)*$", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)b", "(a|b|ab)*(?!.)c"]
)
def test_no_pattern_takes_longer_than_its_name_allows(pattern):
    """Backtracking would take 2^60 steps here: that this returns at all is the point."""
    assert not holds(pattern, "a" * 63 + "!")


@pytest.mark.parametrize(
    "pattern",
    [
        "(?!(.?){255}z)(?!(.?){200}z)z",
        "(?=(.?){255}z)" * 3,
        "((?=.*z|.).?){240}z",
        r"(\b.?){255}z",
        "(?=(w|.?){120}Z)" * 4 + "Q",
        "(" * 19 + "(.?){40}" + "".join(["(.?){20})*"] * 19) + "z",
        "((((){255}){255}){255}){255}z",
    ],
)
def test_look_aheads_do_not_multiply_what_a_pattern_costs(pattern):
    """Each is one walk over all names, not one from every place: seconds and minutes otherwise, and nobody would see this end."""
    names = tuple(f"blk.{block}.ffn_{part}_exps.weight" for block in range(100) for part in ("up", "gate", "down"))
    assert found((pattern,), names) == (frozenset(),)


def test_many_names_are_told_apart():
    """More than are walked at once, some of them equal, some empty."""
    names = ("", *(f"blk.{number}.x" for number in range(9000)), "blk.7.x", "")
    assert found((r"k\.[0-9]*7\.", "^$", "y"), names) == (
        {name for name in names if name.endswith("7.x")},
        {""},
        set(),
    )


def test_many_sets_of_states_do_not_pile_up():
    """A pattern that remembers its last characters has 2^n sets of states, which are nowhere written out."""
    names = tuple(f"{number:040b}".translate({48: "a", 49: "b"}) + "c" for number in range(0, 2**40, 2**40 // 150))
    assert found(("(a|b)*a(a|b){18}c",), names) == ({name for name in names if name[-20] == "a"},)


def test_states_are_bounded():
    """Repetitions are written out, so they are what a pattern could grow by; those in look-aheads count as well."""
    assert holds("a{200}", "a" * 200)
    for pattern in ("(a{250}){5}", "(?=a{250})(?!b{250})(?!c{250})(?!d{250})", "(?=(a{250}){5})"):
        with pytest.raises(Malformed):
            found((pattern,), ())
    assert MAX_STATES == 1000


def test_states_of_all_patterns_together_are_bounded():
    """Many large patterns are as slow as one that would be too large; the first one too many is named."""
    many = [f"{number:03}a{{250}}" for number in range(MAX_TOGETHER // 250)]
    with pytest.raises(Malformed, match=r"'15\da\{250\}'.*together") as refused:
        found(many, ("a",))
    assert refused.value.field == "override_tensor"
    assert found(many[:100], ("a",)) == (frozenset(),) * 100


def test_a_name_is_read_up_to_a_length_that_no_engine_takes():
    """A file from a stranger may have names of any length: they cost no more."""
    assert not holds("b", "a" * LONGEST + "b")
    assert holds("b", "a" * (LONGEST - 1) + "b")


@pytest.mark.parametrize("pattern", ["a" + "*" * 511, "(" * 20 + "a" + ")***" * 20, "a?" + "{1}" * 100])
def test_quantifiers_of_quantifiers_end(pattern):
    """The engine takes `a**`, so a few are read; as many as a pattern has room for would nest too deep."""
    assert holds("^a**+?b$", "aaab")
    assert holds("(" * 20 + "a" + ")**" * 20, "aaab")
    with pytest.raises(Malformed):
        found((pattern,), ("a",))


_ATOMS = st.sampled_from(["a", "b", ".", r"\.", "[ab]", "[^a]", r"\d", r"\w", "^", "$", r"\b", "0", "_"])


def _grown(inner):
    quantified = st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(
        lambda pair: f"(?:{pair[0]}){pair[1]}"
    )
    return st.one_of(
        quantified,
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        inner.map(lambda text: f"(?!{text})" if "(?!" not in text and "(?=" not in text else text),
        inner.map(lambda text: f"(?={text})" if "(?!" not in text and "(?=" not in text else text),
    )


@given(st.recursive(_ATOMS, _grown, max_leaves=6), st.text("ab.0_", max_size=8))
@settings(max_examples=300, deadline=None)
def test_it_agrees_with_python_where_both_speak_the_same(pattern, name):
    """Without names of classes and such, the two dialects say the same: Python's own matcher is the witness."""
    if len(re.findall(r"\(\?[=!]", pattern)) > 8:
        return
    assert holds(pattern, name) is (re.search(pattern, name) is not None)


@given(st.text(max_size=40), st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(pattern, name):
    """Nothing that a person can write ends in another error."""
    try:
        sets = found((pattern,), (name,))
    except Malformed:
        return
    assert sets in (({name},), (set(),))
