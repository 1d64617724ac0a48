"""Words that nobody may add to sd-server's command line."""

import pytest

from blazar.adapters.engines.sdcpp.flags import PART, SDCPP_FLAGS
from blazar.adapters.engines.sdcpp.reserved import RESERVED


@pytest.mark.parametrize(
    "word",
    [
        "-m",
        "--model",
        "--vae",
        "-t",
        "--threads",
        "-l",
        "--listen-ip",
        "--listen-port",
        "-v",
        "--verbose",
        "--clip_l",
        "--clip-l",
        "--serve-html-path",
    ],
)
def test_pins_are_reserved_in_every_spelling(word: str) -> None:
    """What is served, where, with how many threads; a log that would hold prompts."""
    assert word in RESERVED


def test_parts_of_the_model_are_reserved_and_addons_are_free() -> None:
    """Extra words are for files that no key covers (setup document)."""
    parts = {flag.name for flag in SDCPP_FLAGS if flag.key.startswith(PART)}
    assert parts - RESERVED == {"--audio-vae", "--embeddings-connectors"}
    free = "--control-net --ip-adapter --clip_vision --photo-maker --motion-module --upscale-model --lora-model-dir"
    assert not set(f"{free} --hires-upscalers-dir --audio-vae --audio-encoder --backend --tae".split()) & RESERVED
