"""Typed reading of metadata: what is wrong is a BadShape that names the key."""

from typing import Any

import pytest

from blazar.domain.errors import BadShape
from blazar.domain.fit.keys import MOST, Keys, whole


def keys(**values: Any) -> Keys:
    return Keys({**{f"arch.{key}": value for key, value in values.items()}, "other.n": 9, "general.name": "x"}, "arch")


def test_only_the_architectures_own_keys_are_seen() -> None:
    """Keys of another prefix do not count, and absent ones take the default."""
    assert keys(n=3).values == {"n": 3}
    assert keys().number("n", 7) == 7


@pytest.mark.parametrize("value", [True, -1, 2**31, 2**63, 1.0, float("nan"), "4", [4], (), None, b"4", {}, object()])
def test_a_number_is_a_whole_number_of_32_bits(value: Any) -> None:
    """Flags, signs, fractions, texts, arrays and giants are refused by name; None is an absent key."""
    if value is None:
        assert keys(n=value).number("n", 2) == 2
        return
    with pytest.raises(BadShape, match=r"arch\.n") as caught:
        keys(n=value).number("n")
    assert caught.value.key == "arch.n"


def test_the_largest_number_is_taken() -> None:
    """The bound itself is inside."""
    assert keys(n=MOST).number("n") == MOST


def test_what_no_model_can_be_without_is_missed_by_name() -> None:
    """Absent and 0 are told apart."""
    with pytest.raises(BadShape, match="missing"):
        keys().needed("n")
    with pytest.raises(BadShape, match="it is 0"):
        keys(n=0).needed("n")


@pytest.mark.parametrize(("value", "found"), [(4, (4, 4, 4)), ([1, 2, 3], (1, 2, 3)), ((True, False, True), (1, 0, 1))])
def test_a_number_a_block_is_one_for_all_or_one_for_each(value: Any, found: tuple[int, ...]) -> None:
    """Scalars are spread, arrays taken as they are."""
    assert keys(n=value).each("n", 3, ()) == found


@pytest.mark.parametrize("value", [[1], [1, 2, 3, 4], [], [1, 2, "3"], [1, 2, -3], [1, 2, 3.5], [[1], [2], [3]], "123"])
def test_an_array_of_the_wrong_length_or_kind_is_refused(value: Any) -> None:
    """The engine demands exactly one element a block."""
    with pytest.raises(BadShape):
        keys(n=value).each("n", 3, ())


def test_an_array_is_bounded() -> None:
    """A giant array is refused before its elements are looked at."""
    with pytest.raises(BadShape, match="elements"):
        keys(n=[object()] * 9).array("n", 8)
    assert keys(n=5).array("n", 8) is None
    assert keys(n=[True, 2]).array("n", 8) == (1, 2)


def test_a_key_that_says_nothing_is_told_from_one_that_does() -> None:
    """0, no elements and only zeros say nothing."""
    assert not any(keys(n=value).any("n") for value in (0, [], [0, 0], False))
    assert all(keys(n=value).any("n") for value in (1, [0, 2], True))
    assert not keys().any("n")


@pytest.mark.parametrize(
    ("value", "count"),
    [(7, 7), (0, 0), (-1, 0), (MOST, MOST), (2**31, MOST), (2**64, MOST), (10**400, MOST), (-(10**400), 0)]
    + [(value, 0) for value in (True, 1.5, float("nan"), "7", None, [7], {}, b"7")],
)
def test_a_raw_entry_is_a_bounded_count(value: Any, count: int) -> None:
    """Whoever reads what was not checked gets no wrong type, no sign and no more than a key may say."""
    assert whole(value) == count


def test_flags_may_be_numbers() -> None:
    """Converters write 0 and 1 for flags."""
    assert [keys(n=1).flag("n", False), keys(n=False).flag("n", True), keys().flag("n", True)] == [True, False, True]
