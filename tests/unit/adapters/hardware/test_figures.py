"""Numbers out of words."""

import pytest

from blazar.adapters.hardware.figures import whole


@pytest.mark.parametrize(("word", "number"), [("0", 0), ("007", 7), ("-1", -1), (str(2**64 - 1), 2**64 - 1)])
def test_digits_are_a_number(word, number):
    """With a sign at most, up to 64 bits."""
    assert whole(word) == number


@pytest.mark.parametrize(
    "word",
    ["", "-", "--5", "+5", " 5", "5 ", "²", "٣", "1_0", "0x1", "1e3", "max", "[N/A]", "9" * 21, "9" * 5000, "\0"],
)
def test_anything_else_is_none(word):
    """Also what str.isdigit takes and int() does not, and what is too long for int()."""
    assert whole(word) is None
