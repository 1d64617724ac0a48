"""What changed between two command lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.argv_diff import Change, Difference, difference, occurrences
from blazar.domain.manifest import Manifest, Option

MANIFEST = Manifest(
    [
        Option(("-c", "--ctx-size")),
        Option(("--mmap",), ("--no-mmap",)),
        Option(("-ot", "--override-tensor")),
    ]
)


def test_equal_lines_have_no_difference() -> None:
    """Nor has nothing from nothing."""
    assert difference(["--ctx-size", "4096", "--metrics"], ["--ctx-size", "4096", "--metrics"]).empty
    assert difference([], []).empty


def test_added_removed_and_changed_flags_are_told_apart() -> None:
    """Values belong to their flag; the order is that of the line that has it."""
    was = ["--ctx-size", "4096", "--swa-full", "--numa", "isolate"]
    now = ["--ctx-size", "8192", "--n-gpu-layers", "20", "--metrics"]
    assert difference(was, now) == Difference(
        ("--n-gpu-layers 20", "--metrics"), ("--swa-full", "--numa isolate"), (Change("--ctx-size", "4096", "8192"),)
    )


def test_a_negative_number_is_a_value() -> None:
    """Taken for flags they would be compared with one another (case I4)."""
    words = ["--cache-ram", "-1", "--reasoning-budget", "-1", "--temp", "-0.5"]
    assert occurrences(words) == [("--cache-ram", ("-1",)), ("--reasoning-budget", ("-1",)), ("--temp", ("-0.5",))]
    assert difference(words, [*words[:3], "0", *words[4:]]).changed == (Change("--reasoning-budget", "-1", "0"),)


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ("a b", "a b c", Difference(added=("--lora c",))),
        ("a b c", "a c", Difference(removed=("--lora b",))),
        ("a b", "b a", Difference(changed=(Change("--lora", "a, b", "b, a"),))),
        ("a a", "a", Difference(removed=("--lora a",))),
        ("a b", "a c", Difference(added=("--lora c",), removed=("--lora b",))),
        ("a", "", Difference(removed=("--lora a",))),
    ],
)
def test_a_flag_said_several_times_is_compared_in_order(was: str, now: str, found: Difference) -> None:
    """A map by flag would lose all but the last (case I5)."""
    lines = [[word for value in text.split() for word in ("--lora", value)] for text in (was, now)]
    assert difference(*lines) == found


def test_two_spellings_of_one_option_are_one() -> None:
    """Only where somebody says so; and a pair that was turned round is a change."""
    assert difference(["-c", "1"], ["--ctx-size", "1"], MANIFEST.same).empty
    assert difference(["-c", "1"], ["--ctx-size", "2"], MANIFEST.same).changed == (Change("--ctx-size", "1", "2"),)
    turned = difference(["--mmap"], ["--no-mmap"], MANIFEST.same)
    assert turned.changed == (Change("--no-mmap", "--mmap", "--no-mmap"),)
    assert difference(["-c", "1"], ["--ctx-size", "1"]) == Difference(("--ctx-size 1",), ("-c 1",))


def test_a_joined_value_is_a_value() -> None:
    """`--temp=1` says what `--temp 1` says."""
    assert difference(["--temp=1"], ["--temp", "1"]).empty


_FLAGS = st.sampled_from(["-c", "--ctx-size", "--mmap", "--no-mmap", "-ot", "--override-tensor", "--lora"])
_LINES = st.lists(st.tuples(_FLAGS, st.lists(st.sampled_from(["a", "b", "-1", "0"]), max_size=2)), max_size=6).map(
    lambda said: [word for flag, values in said for word in (flag, *values)]
)


@given(_LINES, _LINES)
def test_turning_the_lines_round_turns_the_answer_round(was: list[str], now: list[str]) -> None:
    """And nothing differs from itself."""
    assert difference(was, was, MANIFEST.same).empty
    there, back = difference(was, now), difference(now, was)
    assert (sorted(there.added), sorted(there.removed)) == (sorted(back.removed), sorted(back.added))
    assert {(one.was, one.now) for one in there.changed} == {(one.now, one.was) for one in back.changed}
    assert there.empty is back.empty
