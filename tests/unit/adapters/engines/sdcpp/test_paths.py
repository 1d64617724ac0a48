"""Words of sd-server's command line that name files which it reads."""

from blazar.adapters.engines.sdcpp.flags import SDCPP_FLAGS
from blazar.adapters.engines.sdcpp.paths import PATHS
from tests.support.manifests import golden


def test_every_word_is_known_to_the_build() -> None:
    """Of the recorded one, or a spelling of another one that we say ourselves."""
    assert set(PATHS) <= {*golden("sd-server-0.4.7"), *(flag.name for flag in SDCPP_FLAGS)}


def test_every_part_of_a_model_is_a_file() -> None:
    """The weights, and what a person provides."""
    assert {"--model", "--diffusion-model", "--vae", "--t5xxl", "--control-net", "--lora-model-dir", "--taesd"} <= set(
        PATHS
    )
    assert "--model-args" not in PATHS
