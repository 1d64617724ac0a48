"""Models with verdict and lane."""

import time

from blazar.application.models.survey_models import Surveyed, SurveyModels
from blazar.domain.fit.machine import Machine
from blazar.domain.kinds import EngineKind, Weights
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine

GIB = 2**30
MACHINE = Machine(16 * GIB, 8 * GIB)


def _never(_: object) -> Machine:
    raise AssertionError("the machine was looked at")


def test_each_model_has_a_verdict_and_a_lane() -> None:
    """Of one that nothing installed serves, none; of one that is too large both."""
    catalog = MemoryModelCatalog(
        [
            a_model("small", sizes=(GIB,)),
            a_model("large", sizes=(30 * GIB,)),
            a_model("folder", sizes=(GIB,), weights=Weights.SAFETENSORS),
        ]
    )
    survey = SurveyModels(catalog, MemoryEngineCatalog([an_engine("b1")]), lambda _: MACHINE)
    found = [(one.model.name, one.fit, one.lane) for one in survey()]
    assert found == [("folder", "fits", ""), ("large", "too large", "llamacpp"), ("small", "fits", "llamacpp")]
    why = [survey.unserved(one) != "" for one in catalog.list_models()]
    assert why == [True, False, False]


def test_a_pin_is_heard() -> None:
    """A kind that is not there serves nothing."""
    engines = MemoryEngineCatalog([an_engine("b1")])
    catalog = MemoryModelCatalog([a_model("m")])
    pinned = SurveyModels(catalog, engines, lambda _: MACHINE, pin=lambda _: EngineKind.MISTRALRS.value)
    assert [one.lane for one in pinned()] == [""]


def test_without_models_nothing_is_looked_at() -> None:
    """Drivers may take their time."""
    assert SurveyModels(MemoryModelCatalog(), MemoryEngineCatalog([]), _never)() == []


def test_a_machine_of_which_nothing_is_known_gives_no_verdict() -> None:
    """Rather than a wrong one."""
    catalog = MemoryModelCatalog([a_model("m")])
    assert SurveyModels(catalog, MemoryEngineCatalog([]), lambda _: Machine(0, 0))() == [Surveyed(a_model("m"))]


def test_a_hundred_models_take_milliseconds() -> None:
    """Of 0.3 s that a list may take; a start of Python takes most of them."""
    catalog = MemoryModelCatalog([a_model(f"m{number}") for number in range(100)])
    engines = MemoryEngineCatalog([an_engine(f"b{number}") for number in range(5)])
    survey = SurveyModels(catalog, engines, lambda _: MACHINE)
    survey()
    begun = time.process_time()
    assert len(survey()) == 100
    assert time.process_time() - begun < 0.1
