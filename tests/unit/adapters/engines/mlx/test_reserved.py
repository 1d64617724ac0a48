"""Words that nobody may add to mlx-lm's command line."""

import pytest

from blazar.adapters.engines.mlx.flags import MLX_FLAGS
from blazar.adapters.engines.mlx.reserved import RESERVED


@pytest.mark.parametrize(
    "word", ["--model", "--mod", "--host", "--hos", "--port", "--log-level", "--log", "-h", "--help"]
)
def test_reserved_words_are_reserved_in_every_beginning(word: str) -> None:
    """The engine's parser takes an abbreviation for the flag."""
    assert word in RESERVED


def test_no_other_flag_is_caught() -> None:
    """What tunes the model is free."""
    ours = {"--model", "--allowed-origins"}
    assert not ({flag.name for flag in MLX_FLAGS} - ours) & RESERVED
    assert not {"--temp", "--top-p", "--max-tokens", "--pipeline"} & RESERVED
