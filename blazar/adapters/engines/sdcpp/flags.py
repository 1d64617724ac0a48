"""sd-server's flags as data: spelling, the setting behind it, how to say it, what happens where a build lacks it.

What decides the picture (parts of the model, files that a person provides, arguments of the model) is refused where the build
cannot be told of it: the child would render something else. What decides speed, memory or place is left out with a warning.
Order is the order on the command line.
"""

from blazar.domain.argv import Flag, Missing, always, joined, switch

PART = "component."
"""Prefix of the keys of a component set's parts; the role follows."""
FLASH = "sdcpp_flash_attention"
SAGE = "sdcpp_sage_attn"
MODEL_ARGS = "sdcpp_model_args"
MAX_VRAM = "sdcpp_max_vram"
BACKEND = "sdcpp_backend"
PARAMS_BACKEND = "sdcpp_params_backend"
AUTO_FIT = "auto_fit"
EXTRA_KEYS = ("sdcpp_extra_args", "extra_args")
"""A person's own words, the winning ones last."""


def _part(role: str, *names: str) -> tuple[Flag, ...]:
    return tuple(
        Flag(name, PART + role, always, "a part of the model's component set", Missing.REFUSE) for name in names
    )


def _asset(key: str, *names: str) -> tuple[Flag, ...]:
    return tuple(Flag(name, key, missing=Missing.REFUSE) for name in names)


SDCPP_FLAGS: tuple[Flag, ...] = (
    # What is served
    *_part("model", "--model"),
    *_part("diffusion_model", "--diffusion-model"),
    *_asset("sdcpp_high_noise_diffusion_model", "--high-noise-diffusion-model"),
    *_asset("sdcpp_uncond_diffusion_model", "--uncond-diffusion-model"),
    *_part("vae", "--vae"),
    *_asset("sdcpp_tae", "--tae", "--taesd"),
    *_part("audio_vae", "--audio-vae"),
    *_part("clip_l", "--clip_l", "--clip-l"),
    *_part("clip_g", "--clip_g", "--clip-g"),
    *_part("t5xxl", "--t5xxl"),
    *_part("llm", "--llm", "--qwen2vl"),
    *_part("llm_vision", "--llm_vision", "--llm-vision", "--qwen2vl_vision"),
    *_part("embeddings_connectors", "--embeddings-connectors"),
    *_asset("sdcpp_audio_encoder", "--audio-encoder"),
    # Files that a person provides
    *_asset("sdcpp_control_net", "--control-net"),
    *_asset("sdcpp_ip_adapter", "--ip-adapter"),
    *_asset("sdcpp_clip_vision", "--clip_vision", "--clip-vision"),
    *_asset("sdcpp_motion_module", "--motion-module"),
    *_asset("sdcpp_photo_maker", "--photo-maker"),
    *_asset("sdcpp_pulid_weights", "--pulid-weights"),
    *_asset("sdcpp_upscale_model", "--upscale-model"),
    *_asset("sdcpp_lora_model_dir", "--lora-model-dir"),
    *_asset("sdcpp_hires_upscalers_dir", "--hires-upscalers-dir"),
    *_asset("sdcpp_embd_dir", "--embd-dir"),
    # How the model is built. ODD: the engine adds the lists up, and reads them from left to right
    Flag("--model-args", MODEL_ARGS, missing=Missing.REFUSE, adds=True),
    Flag("--tensor-type-rules", "sdcpp_tensor_type_rules"),
    # Speed
    Flag("--threads", "threads"),
    Flag("--fa", FLASH, switch),
    Flag("--diffusion-fa", FLASH, switch),  # builds from before --fa
    Flag("--sage-attn", SAGE, switch),
    Flag("--cache-mode", "sdcpp_cache_mode"),
    Flag("--cache-option", "sdcpp_cache_option"),
    Flag("--conditioning-cache-size", "sdcpp_conditioning_cache_size", always),  # 0: none
    # Place and memory
    Flag("--rpc-servers", "sdcpp_rpc_servers", joined),  # before whatever names a device of theirs
    Flag("--backend", BACKEND),
    Flag("--params-backend", PARAMS_BACKEND),
    Flag("--auto-fit", AUTO_FIT, switch),
    Flag("--split-mode", "sdcpp_split_mode"),
    Flag("--max-vram", MAX_VRAM),
    Flag("--vae-tiling", "sdcpp_vae_tiling", switch),
)
