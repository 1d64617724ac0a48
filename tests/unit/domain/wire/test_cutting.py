"""Inputs cut in the model's own tokens (M2, B19)."""

from typing import Any

import pytest

from blazar.domain.wire.cutting import Cutting


def through(given: Any, window: int, marks: list[int], tokens: dict[str, list[int]]) -> Cutting:
    """Ask and answer until all is known."""
    cutting = Cutting(given, window)
    while (text := cutting.ask()) is not None:
        cutting.take(tokens[text] if text else marks)
    return cutting


LONG = "w " * 40


@pytest.mark.parametrize(
    ("marks", "tokens", "left"),
    [
        ([101, 102], [101, *range(40), 102], [101, *range(14), 102]),
        ([101], [101, *range(40)], [101, *range(15)]),
        ([2], [*range(40), 2], [*range(15), 2]),
        ([], list(range(40)), list(range(16))),
        ([101, 102], [101, 5, 102], None),
    ],
)
def test_a_text_is_cut_to_the_window_and_keeps_its_marks(marks: list[int], tokens: list[int], left: Any) -> None:
    """Beginning and end as the model was trained; a text that fits after all stays a text."""
    cutting = through(LONG, 16, marks, {LONG: tokens})
    assert cutting.inputs == [LONG if left is None else left]
    assert cutting.cut == (0 if left is None else 1)


def test_short_texts_are_not_even_asked_about() -> None:
    """A text has at most as many tokens as bytes."""
    cutting = through(["a", LONG, "bb"], 16, [], {LONG: list(range(17))})
    assert cutting.inputs == ["a", list(range(16)), "bb"]


@pytest.mark.parametrize("given", [list(range(40)), [list(range(40)), [1]]])
def test_token_lists_are_cut_without_asking(given: Any) -> None:
    """They are counted already."""
    cutting = Cutting(given, 16)
    assert cutting.ask() is None
    assert cutting.inputs[0] == list(range(16))


def test_of_a_huge_text_only_so_much_is_tokenised() -> None:
    """More than any window holds is not sent around."""
    cutting = Cutting("x" * 10**6, 16)
    assert cutting.ask() == ""
    cutting.take([])
    assert len(cutting.ask() or "") == 16 * 256
