"""What a file's metadata says about a model's abilities."""

from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.http.ollama.capabilities import capabilities_of, facts_of
from blazar.application.models.show_model import Shown
from blazar.domain.kinds import Weights
from tests.unit.adapters.http.gateway import EMBEDDER, SMALL

KEY = "tokenizer.chat_template"


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        ({}, ("completion",)),
        ({KEY: "{{ messages }}"}, ("completion",)),
        ({KEY: "{% if tools %}"}, ("completion", "tools")),
        ({KEY: "{# mytoolsmith #}"}, ("completion",)),
        ({KEY: "{% if enable_thinking %}"}, ("completion", "thinking")),
        ({KEY: "<think>{% if tools is defined %}"}, ("completion", "tools", "thinking")),
        ({"qwen2vl.vision.block_count": 32}, ("completion", "vision")),
        ({"tokenizer.ggml.middle_token_id": 5}, ("completion", "insert")),
        ({KEY: ["not", "text"]}, ("completion",)),
    ],
)
def test_only_what_is_known_is_claimed(metadata: dict[str, Any], want: tuple[str, ...]) -> None:
    """By words of the template and keys of the header."""
    assert capabilities_of(SMALL, metadata) == want


def test_a_model_with_a_projector_takes_pictures() -> None:
    """Its own file tells nothing of that."""
    assert capabilities_of(SMALL, {}, seeing=True) == ("completion", "vision")
    assert facts_of(Shown(SMALL, {}), verbose=False, seeing=True).capabilities == ("completion", "vision")


def test_tools_in_words_are_tools() -> None:
    """A template without a place for them is no obstacle where they are written into the conversation."""
    assert capabilities_of(SMALL, {}, worded=True) == ("completion", "tools")
    assert facts_of(Shown(SMALL, {}), verbose=False, worded=True).capabilities == ("completion", "tools")


def test_an_embedder_does_nothing_else() -> None:
    """Whatever its template says."""
    assert capabilities_of(EMBEDDER, {KEY: "{% if tools %}"}) == ("embedding",)


def test_a_model_that_ranks_does_nothing_else() -> None:
    """Its vectors are scores; ollama has no word for it."""
    assert capabilities_of(replace(EMBEDDER, pooling=4), {}) == ("rerank",)


def test_short_lists_stay() -> None:
    """Only megabytes are left out."""
    metadata = {"general.languages": ["en", "de"], "x": [0] * 33}
    assert facts_of(Shown(SMALL, metadata), verbose=False).metadata == {
        "general.parameter_count": SMALL.parameters,  # ollama's clients read it here
        "general.languages": ["en", "de"],
        "x": None,
    }


def test_a_diffusion_model_draws() -> None:
    """And does nothing else, whatever its encoder's template says."""
    assert capabilities_of(replace(SMALL, weights=Weights.DIFFUSION), {KEY: "{% if tools %}"}) == ("image",)
