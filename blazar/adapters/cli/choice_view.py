"""The ways to have one model as a table, where a reference leaves open which is meant. Decides nothing."""

from collections.abc import Sequence

from blazar.adapters.cli.render import Column, size, table
from blazar.domain.choices import Choice

_SIZED = (Column("VERSION"), Column("SIZE", right=True))
_JUDGED = (*_SIZED, Column("FITS (ABOUT)"))


def choice_table(choices: Sequence[Choice]) -> str:
    """The smallest first; what fits where that was judged."""
    by_size = sorted(choices, key=lambda choice: choice.size)
    judged = any(choice.verdict for choice in choices)
    rows = [
        [choice.quant, size(choice.size) if choice.size else "-", *([choice.verdict or "-"] if judged else [])]
        for choice in by_size
    ]
    return table(_JUDGED if judged else _SIZED, rows)
