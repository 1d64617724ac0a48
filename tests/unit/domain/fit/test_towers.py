"""What is known about llama.cpp's encoders."""

import pytest

from blazar.domain.fit.projector import MAX_PATCHES
from blazar.domain.fit.towers import AUDIO, CONVOLUTIONS, VISION

UNMODELLED = {"gemma3na", "gemma4a", "gemma4ua", "lfm2a", "granite_speech", "mimo_audio", "parakeet"}
UNMODELLED |= {"qwen3tts_spkenc", "qwen3tts_gen", "pockettts_spkenc", "pockettts_gen"}
ENGINE = """mlp ldp ldpv2 resampler adapter qwen2vl_merger qwen2.5vl_merger qwen3vl_merger ling3vl step3vl gemma3 gemma3nv gemma3na
gemma4v gemma4a gemma4uv gemma4ua phi4 idefics3 pixtral ultravox internvl llama4 qwen2a qwen3a glma qwen2.5o voxtral meralion
musicflamingo lfm2 kimivl paddleocr lightonocr cogvlm janus_pro dots_ocr dots3note_v dots3note_a deepseekocr deepseekocr2 deepseek4v
lfm2a glm4v glm5v youtuvl yasa2 kimik25 nemotron_v2_vl exaone4_5 hunyuanvl minicpmv4_6 granite_speech mimovl minimax_m3
granite4_vision mimo_audio parakeet qwen3tts_spkenc qwen3tts_gen pockettts_spkenc pockettts_gen muse-glimmer"""
"""The names of `PROJECTOR_TYPE_NAMES` in tools/mtmd/clip-impl.h of b11434."""


@pytest.mark.parametrize("name", ENGINE.split())
def test_every_type_of_the_engine_has_its_row(name):
    """Or is one of the makers and listeners of sound that are bounded without one."""
    assert name in VISION or name in AUDIO or name in CONVOLUTIONS or name in UNMODELLED


@pytest.mark.parametrize("name", sorted(VISION))
def test_a_row_makes_sense(name):
    """Merging divides patches, a cap is at least one token, and a mask is one of the kinds that are read."""
    tower = VISION[name]
    assert 1 <= tower.merge <= 8
    assert tower.tokens >= 0
    assert tower.mask in ("", "some", "all")
    assert not (tower.edge and tower.tokens)
    assert tower.tokens or not tower.pixels
    assert max(1, tower.tokens) <= 4 * MAX_PATCHES
