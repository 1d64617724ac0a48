"""Which row a name means, also by the reference that it was pulled by."""

import pytest

from blazar.domain.parcels import Origin
from blazar.domain.row_names import meant, row_named
from tests.fakes.catalog import a_model

ROWS = [
    a_model("scripted", origin=Origin("127.0.0.1:5000/team/scripted:latest", "a1")),
    a_model("qwen3:0.6b", origin=Origin("ollama:library/qwen3:0.6b", "a2")),
    a_model("one-q8_0", origin=Origin("hf:org/One-GGUF:Q8_0", "a3")),
    a_model("two-q8_0", origin=Origin("hf:org/Two-GGUF:Q8_0", "a4")),
    a_model("two-q4_0", origin=Origin("hf:org/Two-GGUF:Q4_0", "a5")),
    a_model("file-q4_k_m", origin=Origin("hf:org/File-GGUF/sub/File-Q4_K_M.gguf", "a6")),
    a_model("there", origin=Origin("https://files.example/There.gguf?x=1", "a7")),
    a_model("older", origin=Origin("hf:org/Dated:F16", "a8", pulled_at=1.0)),
    a_model("newer", origin=Origin("hf:org/Dated:F16", "a9", pulled_at=2.0)),
    a_model("org/imported"),
]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("127.0.0.1:5000/team/scripted", "scripted"),
        ("127.0.0.1:5000/team/scripted:latest", "scripted"),
        ("127.0.0.1:5000/Team/Scripted", "scripted"),
        ("http://127.0.0.1:5000/team/scripted", "scripted"),
        ("ollama.com/library/qwen3:0.6b", "qwen3:0.6b"),
        ("registry.ollama.ai/library/qwen3:0.6b", "qwen3:0.6b"),
        ("qwen3-0.6b:latest", "qwen3:0.6b"),
        ("hf.co/org/One-GGUF:Q8_0", "one-q8_0"),
        ("https://huggingface.co/org/one-gguf", "one-q8_0"),
        ("org/One-GGUF:q8_0", "one-q8_0"),
        ("org/One-GGUF", "one-q8_0"),
        ("hf.co/org/One-GGUF:latest", "one-q8_0"),
        ("org/Two-GGUF:Q4_0", "two-q4_0"),
        ("hf:org/File-GGUF:q4_k_m", "file-q4_k_m"),
        ("org/File-GGUF/sub/File-Q4_K_M.gguf", "file-q4_k_m"),
        ("https://huggingface.co/org/File-GGUF/blob/main/sub/File-Q4_K_M.gguf", "file-q4_k_m"),
        ("https://files.example/There.gguf?x=1", "there"),
        ("org/Dated:F16", "newer"),
        ("org/imported:latest", "org/imported"),
    ],
)
def test_what_was_pulled_is_found_by_its_reference(asked: str, name: str) -> None:
    """In every spelling that `pull` takes; of a repository its only version."""
    found = row_named(asked, ROWS)
    assert found is not None
    assert found.name == name
    assert meant(asked, ROWS) == name


@pytest.mark.parametrize(
    "asked",
    [
        "org/Two-GGUF",
        "org/One-GGUF:Q4_0",
        "qwen3",
        "qwen3:8b",
        "127.0.0.1:5001/team/scripted",
        "team/scripted",
        "https://files.example/There.gguf?x=2",
        "/models/one.gguf",
        "",
        "x" * 3000,
    ],
)
def test_anything_else_means_no_row(asked: str) -> None:
    """Neither one of several versions, nor another one than was named, nor another registry's."""
    assert row_named(asked, ROWS) is None
    assert meant(asked, ROWS) == asked


def test_a_name_comes_before_a_reference() -> None:
    """Whoever calls a model as a repository is called means that model."""
    named = a_model("org/One-GGUF")
    assert row_named("org/One-GGUF", [*ROWS, named]) == named
    assert row_named("org/one-gguf", [*ROWS, named]) == named
