"""Which tensor names an `override_tensor` pattern is found in."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import Malformed
from blazar.domain.fit.expression import MAX_LENGTH
from blazar.domain.fit.patterns import MAX_STATES, finder


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
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
def test_it_finds_what_ecmascript_finds(pattern, name, found):
    """The engine's dialect, not Python's: classes by name, no look-behind, a match anywhere in the name."""
    assert finder(pattern)(name) is found


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
        finder(pattern)
    assert refused.value.field == "override_tensor"
    assert "override_tensor" in str(refused.value)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|a)*$", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)b", "(a|b|ab)*(?!.)c"]
)
def test_no_pattern_takes_longer_than_its_name_allows(pattern):
    """Backtracking would take 2^60 steps here: that this returns at all is the point."""
    assert finder(pattern)("a" * 63 + "!") is False


def test_many_sets_of_states_do_not_pile_up():
    """A pattern that remembers its last characters has 2^n sets of states; the memory of steps is emptied, the answer stays."""
    found = finder("(a|b)*a(a|b){18}c")
    names = [f"{number:040b}".translate({48: "a", 49: "b"}) for number in range(0, 2**40, 2**40 // 150)]
    assert [found(name + "c") for name in names] == [name[-19] == "a" for name in names]


def test_states_are_bounded():
    """Repetitions are written out, so they are what a pattern could grow by."""
    assert finder("a{200}")("a" * 200)
    with pytest.raises(Malformed):
        finder("(a{250}){5}")
    assert MAX_STATES == 1000


_ATOMS = st.sampled_from(["a", "b", ".", r"\.", "[ab]", "[^a]", r"\d", r"\w", "^", "$", r"\b", "0", "_"])


def _grown(inner):
    quantified = st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(
        lambda pair: f"(?:{pair[0]}){pair[1]}"
    )
    return st.one_of(
        quantified,
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        inner.map(lambda text: f"(?!{text})" if "(?!" not in text else text),
    )


@given(st.recursive(_ATOMS, _grown, max_leaves=6), st.text("ab.0_", max_size=8))
@settings(max_examples=300, deadline=None)
def test_it_agrees_with_python_where_both_speak_the_same(pattern, name):
    """Without names of classes and such, the two dialects say the same: Python's own matcher is the witness."""
    if pattern.count("(?!") > 8:
        return
    assert finder(pattern)(name) is (re.search(pattern, name) is not None)


@given(st.text(max_size=40), st.text(max_size=20))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(pattern, name):
    """Nothing that a person can write ends in another error."""
    try:
        found = finder(pattern)
    except Malformed:
        return
    assert found(name) in (True, False)
