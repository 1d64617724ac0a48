"""sd-server's flag table."""

from typing import Any

import pytest

from blazar.adapters.engines.sdcpp.flags import AUTO_FIT, EXTRA_KEYS, PART, SDCPP_FLAGS
from blazar.domain.argv import Missing, compile_argv
from tests.support.lane_briefs import settings

FILES = """
sdcpp_control_net --control-net
sdcpp_ip_adapter --ip-adapter
sdcpp_clip_vision --clip_vision
sdcpp_motion_module --motion-module
sdcpp_photo_maker --photo-maker
sdcpp_pulid_weights --pulid-weights
sdcpp_upscale_model --upscale-model
sdcpp_lora_model_dir --lora-model-dir
sdcpp_hires_upscalers_dir --hires-upscalers-dir
sdcpp_embd_dir --embd-dir
sdcpp_audio_encoder --audio-encoder
sdcpp_high_noise_diffusion_model --high-noise-diffusion-model
sdcpp_uncond_diffusion_model --uncond-diffusion-model
sdcpp_tae --tae
"""
TUNING: list[tuple[str, Any, tuple[str, ...]]] = [
    ("sdcpp_cache_mode", "easycache", ("--cache-mode", "easycache")),
    ("sdcpp_cache_option", "threshold=0.25,reset=0", ("--cache-option", "threshold=0.25,reset=0")),
    ("sdcpp_flash_attention", True, ("--fa",)),
    ("sdcpp_sage_attn", True, ("--sage-attn",)),
    ("sdcpp_vae_tiling", True, ("--vae-tiling",)),
    ("sdcpp_rpc_servers", ("a:1", "b:2"), ("--rpc-servers", "a:1,b:2")),
    ("sdcpp_max_vram", "cuda0=8,cuda1=6", ("--max-vram", "cuda0=8,cuda1=6")),
    ("sdcpp_max_vram", "0", ("--max-vram", "0")),
    ("sdcpp_params_backend", "disk", ("--params-backend", "disk")),
    ("sdcpp_backend", "clip=cpu,vae=cuda0", ("--backend", "clip=cpu,vae=cuda0")),
    ("sdcpp_split_mode", "diffusion=row,te=layer", ("--split-mode", "diffusion=row,te=layer")),
    ("sdcpp_conditioning_cache_size", 0, ("--conditioning-cache-size", "0")),
    ("sdcpp_model_args", "a=b", ("--model-args", "a=b")),
    ("sdcpp_tensor_type_rules", "model.=q6_k,vae.=f16", ("--tensor-type-rules", "model.=q6_k,vae.=f16")),
    ("threads", 3, ("--threads", "3")),
]
PAIRS = [(key, "/f", (flag, "/f")) for key, flag in (line.split() for line in FILES.strip().splitlines())]


@pytest.mark.parametrize(("key", "setting", "said"), [*PAIRS, *TUNING])
def test_settings_that_are_said(key: str, setting: Any, said: tuple[str, ...]) -> None:
    """Each key by its flag; the first of several spellings."""
    table = tuple(flag for flag in SDCPP_FLAGS if flag.key == key)[:1]
    assert compile_argv(table, {key: setting}, ()).words == said


def test_what_is_unset_is_left_to_the_engine() -> None:
    """But for flash attention, which is on unless somebody says otherwise."""
    words = compile_argv(SDCPP_FLAGS, settings(), ()).words
    assert set(words) == {"--fa", "--diffusion-fa"}
    assert not compile_argv(SDCPP_FLAGS, settings(sdcpp_flash_attention=False), ()).words


def test_every_key_has_a_row_or_a_named_reader() -> None:
    """And no row names a key that nobody supplies."""
    elsewhere = {
        "sdcpp_child_header_timeout_secs",  # the gateway's own
        "sdcpp_qwen_prefix_cache_type",  # joins the model's arguments in `resolve`
        EXTRA_KEYS[0],
    }
    rows = {flag.key for flag in SDCPP_FLAGS}
    declared = {key for key in settings() if key.startswith("sdcpp_")}
    assert declared | {"threads"} == {key for key in rows if not key.startswith((PART, AUTO_FIT))} | (
        elsewhere & declared
    )


def test_what_decides_the_picture_is_refused_where_a_build_lacks_it() -> None:
    """The rest is left out with a warning: speed, memory and place draw the same picture."""
    skipped = {flag.key for flag in SDCPP_FLAGS if flag.missing is Missing.SKIP}
    assert skipped == {key for key, *_ in TUNING} - {"sdcpp_model_args"} | {AUTO_FIT}


def test_odd_the_engine_adds_the_lists_up() -> None:
    """Only model arguments are said beside a person's own; of the others, the person's word stands alone."""
    assert [flag.name for flag in SDCPP_FLAGS if flag.adds] == ["--model-args"]
