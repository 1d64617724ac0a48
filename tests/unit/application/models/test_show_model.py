"""One model with its metadata."""

import pytest

from blazar.application.models.show_model import Beside, ShowModel, Shown
from blazar.domain.errors import ModelNotFound, NotFound
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.weights import MemoryWeightFiles, some_facts

FILE = "/models/tiny.gguf"
MODEL = a_model("tiny", files=(FILE,))


def test_row_and_header_together() -> None:
    """Under any spelling of the name."""
    show = ShowModel(MemoryModelCatalog([MODEL]), MemoryWeightFiles({FILE: some_facts(FILE)}))
    assert show("tiny:latest") == Shown(MODEL, {"general.architecture": "llama"})


def test_the_projector_is_shown_with_it() -> None:
    """The one that a child would be given; one that cannot be read is none."""
    weights = MemoryWeightFiles({FILE: some_facts(FILE)})
    weights.content["/models/mmproj.gguf"] = "encoder"
    catalog = MemoryModelCatalog([MODEL])
    facts = {"general.architecture": "llama", "general.parameter_count": 1}
    assert ShowModel(catalog, weights, lambda _: "/models/mmproj.gguf")("tiny").projector == Beside(
        "/models/mmproj.gguf", facts
    )
    assert ShowModel(catalog, weights, lambda _: "/models/gone.gguf")("tiny").projector == Beside()


def test_a_missing_model_and_a_missing_file_are_told_apart() -> None:
    """One suggests names, the other names the path."""
    show = ShowModel(MemoryModelCatalog([MODEL]), MemoryWeightFiles({}))
    with pytest.raises(ModelNotFound, match="did you mean tiny"):
        show("tinny")
    with pytest.raises(NotFound, match="points at /models/tiny"):
        show("tiny")
