"""Which small model guesses for which large one."""

import pytest

from blazar.domain.draft_pairs import at_odds, draft_for, family_of, link_name, told_by
from blazar.domain.names import file_stem
from blazar.domain.references import pull_reference

QWEN3 = "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"
QWEN25 = "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q8_0"
CODER = "hf:ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF"
LLAMA = "hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0"
GEMMA = "hf:ggml-org/gemma-3-1b-it-GGUF:Q8_0"


@pytest.mark.parametrize(
    ("repo", "draft"),
    [
        ("Qwen/Qwen3-8B-GGUF", QWEN3),
        ("unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF", QWEN3),
        ("bartowski/Qwen_Qwen3-14B-GGUF", QWEN3),
        ("library/qwen3", QWEN3),
        ("Qwen/Qwen3-VL-8B-Instruct-GGUF", ""),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct-GGUF", ""),
        ("Qwen/Qwen3-Next-80B-A3B", ""),
        ("Qwen/Qwen3-Embedding-4B-GGUF", ""),
        ("Qwen/Qwen3.5-9B-GGUF", ""),
        ("Qwen/Qwen2.5-14B-Instruct-GGUF", QWEN25),
        ("library/qwen2.5", QWEN25),
        ("Qwen/Qwen2.5-VL-7B-Instruct-GGUF", ""),
        ("Qwen/Qwen2.5-Coder-32B-Instruct-GGUF", CODER),
        ("library/qwen2.5-coder", CODER),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", LLAMA),
        ("library/llama3.3", LLAMA),
        ("bartowski/Llama-3.3-70B-Instruct-GGUF", LLAMA),
        ("library/llama3.2-vision", ""),
        ("library/llama3", ""),
        ("library/llama2", ""),
        ("ggml-org/gemma-3-27b-it-GGUF", GEMMA),
        ("library/gemma3", GEMMA),
        ("unsloth/gemma-3n-E4B-it-GGUF", ""),
        ("library/gemma2", ""),
        ("owner/SomethingElse-GGUF", ""),
    ],
)
def test_a_family_is_told_by_the_name_of_its_repository(repo: str, draft: str) -> None:
    """As publishers and ollama's library spell it; relatives with another vocabulary are none of it."""
    assert draft_for(repo) == draft


@pytest.mark.parametrize("reference", [QWEN3, QWEN25, CODER, LLAMA, GEMMA])
def test_every_draft_is_a_reference_that_pull_understands(reference: str) -> None:
    """Word by word."""
    assert str(pull_reference(reference)) == reference


def test_a_link_tells_what_its_draft_is_for() -> None:
    """Whatever the model is called; any other file is a plain draft."""
    name = link_name("a/b:c", "eagle3", "AB" * 32)
    assert told_by(f"/models/{file_stem(name)}.gguf") == ("eagle3", "ab" * 6)
    assert told_by("/models/other.gguf") == ("simple", "")
    assert told_by(f"/m/{file_stem(link_name('x', 'simple', 'size:7'))}.gguf") == ("simple", "e7")


def test_heads_are_told_from_models() -> None:
    """By their architecture."""
    assert [family_of(arch) for arch in ("eagle3", "dflash", "gemma4-assistant", "qwen3", "")] == [
        *("eagle3", "dflash", "mtp", "simple", "simple")
    ]


VOCABULARY = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 1}


@pytest.mark.parametrize(
    ("changes", "tokens", "word"),
    [
        ({}, (1000, 1000), ""),
        ({}, (1000, 1128), ""),
        ({}, (1000, 1129), "tokenizer.ggml.tokens"),
        ({}, (0, 5000), ""),
        ({"tokenizer.ggml.model": "llama"}, (0, 0), "tokenizer.ggml.model"),
        ({"tokenizer.ggml.add_bos_token": False}, (0, 0), "tokenizer.ggml.add_bos_token"),
        ({"tokenizer.ggml.bos_token_id": 2}, (0, 0), "tokenizer.ggml.bos_token_id"),
        ({"tokenizer.ggml.eos_token_id": 2}, (0, 0), ""),
    ],
)
def test_vocabularies_are_compared_as_the_engine_does_it(
    changes: dict[str, object], tokens: tuple[int, int], word: str
) -> None:
    """It ends itself where they differ; what a header does not say is believed."""
    assert at_odds(VOCABULARY, VOCABULARY | changes, tokens) == word
