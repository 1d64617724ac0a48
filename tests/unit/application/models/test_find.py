"""Which row a caller means."""

import pytest

from blazar.application.models.find import get_model
from blazar.domain.errors import BadName, ModelNotFound, NotFound
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.weights import MemoryWeightFiles, some_facts

CATALOG = MemoryModelCatalog([a_model("qwen3-0.6b"), a_model("Tiny"), a_model("tiny:q4")])


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("qwen3-0.6b", "qwen3-0.6b"),
        ("qwen3:0.6b", "qwen3-0.6b"),
        ("qwen3:0.6B", "qwen3-0.6b"),
        ("Tiny:latest", "Tiny"),
        ("tiny", "Tiny"),
        ("tiny:q4", "tiny:q4"),
    ],
)
def test_spellings_find_existing_rows(asked: str, meant: str) -> None:
    """`:latest`, `:` for `-`, and letter case, in this order."""
    assert get_model(CATALOG, asked).name == meant


def test_a_miss_names_what_is_near() -> None:
    """At most three suggestions, in the sentence and as facts."""
    with pytest.raises(ModelNotFound, match=r"'qwen3-0\.5b' not found; did you mean qwen3-0\.6b\?") as caught:
        get_model(CATALOG, "qwen3-0.5b")
    assert caught.value.near == ("qwen3-0.6b",)


@pytest.mark.parametrize("name", ["", "gpt 4", "../etc/passwd", "tiny#1"])
def test_what_cannot_be_a_name_is_simply_not_found(name: str) -> None:
    """No row can have it; clients expect 404."""
    with pytest.raises(ModelNotFound):
        get_model(CATALOG, name)


def test_an_endless_name_is_not_compared_with_anything() -> None:
    """Near matches of a megabyte would take minutes, and the sentence would carry it."""
    with pytest.raises(BadName) as caught:
        get_model(CATALOG, "x" * 1_000_000)
    assert len(str(caught.value)) < 300


def test_files_are_asked_for_where_they_matter() -> None:
    """A row whose file is gone is found, unless its files are wanted."""
    weights = MemoryWeightFiles({"/models/other.gguf": some_facts("/models/other.gguf")})
    assert get_model(CATALOG, "Tiny").name == "Tiny"
    with pytest.raises(NotFound, match=r"'Tiny' points at /models/Tiny\.gguf, which is gone"):
        get_model(CATALOG, "Tiny", weights)
