"""Words that name a model of a registry."""

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.references import RemoteRef, implied_reference, parse_reference

QWEN = RemoteRef("hf", "ggml-org/Qwen3-8B-GGUF")
LIBRARY = RemoteRef("ollama", "library/qwen3", "latest")


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("hf:ggml-org/Qwen3-8B-GGUF", QWEN),
        ("HF:ggml-org/Qwen3-8B-GGUF", QWEN),
        ("hf.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M", QWEN._replace(tag="Q4_K_M")),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF", QWEN),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/tree/main", QWEN),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/", QWEN),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/tree/main/Q8_0", QWEN),
        (
            "https://huggingface.co/ggml-org/Qwen3-8B-GGUF/blob/main/Qwen3-8B-Q4_K_M.gguf",
            QWEN._replace(tag="Qwen3-8B-Q4_K_M"),
        ),
        (
            "https://huggingface.co/ggml-org/Qwen3-8B-GGUF/resolve/main/F16/Qwen3%2D8B-F16-00001-of-00002.gguf?download=true",
            QWEN._replace(tag="Qwen3-8B-F16"),
        ),
        (
            "huggingface.co/ggml-org/Qwen3-8B-GGUF?show_file_info=Qwen3-8B-Q8_0.gguf",
            QWEN._replace(tag="Qwen3-8B-Q8_0"),
        ),
        ("ollama:qwen3", LIBRARY),
        ("ollama:qwen3:8b-q4_K_M", LIBRARY._replace(tag="8b-q4_K_M")),
        ("ollama:me/mine:1", RemoteRef("ollama", "me/mine", "1")),
        ("https://ollama.com/library/qwen3", LIBRARY),
        ("registry.ollama.ai/library/qwen3:8b", LIBRARY._replace(tag="8b")),
        ("smollm2", None),
        ("./hf:a/b", None),
        ("https://huggingface.co@elsewhere.example/a/b", None),
        ("ggml-org/Qwen3-8B-GGUF", None),
    ],
)
def test_a_reference_says_its_registry(text: str, ref: RemoteRef | None) -> None:
    """Prefixes and pasted addresses; anything else is not asked for elsewhere."""
    assert parse_reference(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "hf:",
        "hf:alone",
        "hf:a/b/c",
        "hf:a/..",
        "hf:../b",
        "hf:a/b:",
        "hf:a/b?x=1",
        "hf:a b/c",
        "hf:a/b/blob/main/x.gguf",
        "https://huggingface.co/a/../blob/main/x.gguf",
        "https://huggingface.co/a/b/blob/main/config.json",
        "https://huggingface.co/a/b/blob/other/x.gguf",
        "https://huggingface.co/a/b/discussions/1",
        "https://huggingface.co/a/b/blob/main/x%1b[2J.gguf",
        "https://huggingface.co/a/b/blob/main/" + "x" * 300 + ".gguf",
        "ollama:",
        "ollama:a/b/c",
        "ollama:a:",
        "ollama:..",
        "hf:" + "a" * 5000 + "/b",
    ],
)
def test_what_follows_a_prefix_must_be_a_name_there(text: str) -> None:
    """Nothing that could lead elsewhere is put into an address."""
    with pytest.raises(Malformed) as refused:
        parse_reference(text)
    assert refused.value.field == "model"
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("ggml-org/Qwen3-8B-GGUF:Q4_K_M", QWEN._replace(tag="Q4_K_M")),
        ("ggml-org/Qwen3-8B-GGUF", QWEN),
        ("qwen3:8b", LIBRARY._replace(tag="8b")),
        ("qwen3", None),
        ("models/x.gguf", None),
        ("a/../b", None),
        ("a/b/c", None),
        ("a/b/c:d", None),
    ],
)
def test_a_name_that_the_catalog_lacks_may_imply_one(name: str, ref: RemoteRef | None) -> None:
    """As `pull` reads it; a bare word never leaves the machine."""
    assert implied_reference(name) == ref


def test_a_reference_is_said_as_it_is_typed() -> None:
    """With its tag where there is one."""
    assert str(QWEN) == "hf:ggml-org/Qwen3-8B-GGUF"
    assert str(LIBRARY) == "ollama:library/qwen3:latest"
