"""What the catalog holds."""

from blazar.application.models.list_models import ListModels
from tests.fakes.catalog import MemoryModelCatalog, a_model


def test_all_models_by_name() -> None:
    """Whether their files are there is not asked."""
    models = [a_model("b"), a_model("a")]
    assert ListModels(MemoryModelCatalog(models))() == [models[1], models[0]]
