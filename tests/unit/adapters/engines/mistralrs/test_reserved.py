"""Words that nobody may add to `mistralrs serve`."""

import pytest

from blazar.adapters.engines.mistralrs.flags import MISTRALRS_FLAGS
from blazar.adapters.engines.mistralrs.reserved import RESERVED
from tests.support.manifests import golden

KNOWN = golden("mistralrs-0.9.2")
HIDDEN = {"--agentic", "--code-exec-permission"}
"""Spellings that the engine takes and does not list."""


@pytest.mark.parametrize(
    "word", ["-m", "-f", "-p", "--host", "--agent", "--agentic", "--enable-shell", "--mcp-config", "-l", "--log"]
)
def test_the_door_the_model_and_tools_are_reserved(word: str) -> None:
    """Nobody reaches files and programs of this machine by way of an engine."""
    assert word in RESERVED


def test_all_of_them_exist() -> None:
    """A misspelt one would protect nothing."""
    assert set(KNOWN) >= RESERVED - HIDDEN


def test_every_spelling_of_a_reserved_flag_is_reserved() -> None:
    """Of a recorded build: short and long."""
    for option in KNOWN.options:
        spellings = {*option.names, *option.negative}
        assert not spellings & RESERVED or spellings <= RESERVED, spellings


def test_what_tunes_the_model_is_free() -> None:
    """Only what Blazar says of model and door is not."""
    ours = {"--model-id", "--quantized-file", "--format", "--no-ui"}
    assert {flag.name for flag in MISTRALRS_FLAGS} & RESERVED == ours
    assert not {"--lora", "--topology", "--tokenizer", "--dtype", "-n", "--device-layers"} & RESERVED
