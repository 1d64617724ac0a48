"""What holds for the samplers of a model where a request says nothing."""

from blazar.application.config.layers import load_config
from blazar.application.config.live import LiveConfig
from blazar.composition.samplers import SamplerDefaults
from tests.fakes.catalog import MemoryModelCatalog, a_model

SAID = "[model_overrides.tiny]\nsampler_defaults = { top_k = 40 }\n[model_overrides.other]\nctx = 512\n"


def test_by_any_spelling_of_the_models_name() -> None:
    """A model without any has none, nor has one that is not there."""
    of = SamplerDefaults(LiveConfig(load_config(SAID, "c")), MemoryModelCatalog([a_model("tiny"), a_model("other")]))
    assert [of(name) for name in ("tiny", "tiny:latest", "other", "nobody")] == [{"top_k": 40}, {"top_k": 40}, {}, {}]


def test_a_reload_is_heard_of() -> None:
    """The next request gets what the file says now."""
    live = LiveConfig(load_config("", "c"))
    of = SamplerDefaults(live, MemoryModelCatalog([a_model("tiny")]))
    assert of("tiny") == {}
    live.replace(load_config(SAID, "c"))
    assert of("tiny") == {"top_k": 40}
