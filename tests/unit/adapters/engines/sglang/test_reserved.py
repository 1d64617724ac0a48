"""Words that nobody may add to SGLang's command line."""

import pytest

from blazar.adapters.engines.sglang.flags import SGLANG_FLAGS
from blazar.adapters.engines.sglang.reserved import RESERVED, WHOLE
from tests.support.manifests import golden

KNOWN = golden("sglang-0.5.23")


@pytest.mark.parametrize(
    "word", ["--model", "--model-path", "--host", "--port", "--api-key", "--served-model-name", "--config", "-h"]
)
def test_the_door_the_model_and_files_of_flags_are_reserved(word: str) -> None:
    """Routing, the identity check and who may talk to it depend on them."""
    assert word in RESERVED


@pytest.mark.parametrize("word", ["--mod", "--hos", "--api-k", "--admin-api", "--served", "--log-req"])
def test_reserved_words_are_reserved_in_every_beginning(word: str) -> None:
    """The engine's parser takes an abbreviation for the flag."""
    assert word in RESERVED


def test_all_of_them_exist() -> None:
    """A misspelt one would protect nothing."""
    assert set(KNOWN) >= WHOLE


def test_no_other_flag_is_caught() -> None:
    """No beginning of a reserved flag is a whole other one."""
    assert RESERVED & set(KNOWN) - {"-h"} == WHOLE
    assert {flag.name for flag in SGLANG_FLAGS} & RESERVED == {"--model-path", "--served-model-name"}


def test_every_spelling_of_a_reserved_flag_is_reserved() -> None:
    """Of a recorded build: aliases and negatives."""
    for option in KNOWN.options:
        spellings = {*option.names, *option.negative}
        assert not spellings & WHOLE or spellings <= RESERVED, spellings
