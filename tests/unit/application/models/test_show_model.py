"""One model with its metadata."""

import pytest

from blazar.application.models.show_model import ShowModel, Shown
from blazar.domain.errors import ModelNotFound, NotFound
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.weights import MemoryWeightFiles, some_facts

FILE = "/models/tiny.gguf"
MODEL = a_model("tiny", files=(FILE,))


def test_row_and_header_together() -> None:
    """Under any spelling of the name."""
    show = ShowModel(MemoryModelCatalog([MODEL]), MemoryWeightFiles({FILE: some_facts(FILE)}))
    assert show("tiny:latest") == Shown(MODEL, {"general.architecture": "llama"})


def test_a_missing_model_and_a_missing_file_are_told_apart() -> None:
    """One suggests names, the other names the path."""
    show = ShowModel(MemoryModelCatalog([MODEL]), MemoryWeightFiles({}))
    with pytest.raises(ModelNotFound, match="did you mean tiny"):
        show("tinny")
    with pytest.raises(NotFound, match="points at /models/tiny"):
        show("tiny")
