"""The ways to have one model as a table."""

from blazar.adapters.cli.choice_view import choice_table
from blazar.domain.choices import Choice

GIB = 2**30


def test_the_smallest_comes_first() -> None:
    """With its size, where that is known."""
    assert choice_table((Choice("Q8_0", 8 * GIB), Choice("Q4_K_M", 4 * GIB), Choice("odd", 0))) == (
        "VERSION      SIZE\nodd             -\nQ4_K_M   4.00 GiB\nQ8_0     8.00 GiB"
    )


def test_what_fits_is_said_where_it_was_judged() -> None:
    """As a guess."""
    said = choice_table((Choice("Q8_0", 8 * GIB, "too large"), Choice("odd", 0)))
    assert said.splitlines() == [
        "VERSION      SIZE  FITS (ABOUT)",
        "odd             -  -",
        "Q8_0     8.00 GiB  too large",
    ]
