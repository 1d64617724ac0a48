"""Keys of the child that draws pictures (sd-server): components, kernels, memory, extra words."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, Strict

from blazar.application.config.knob import PATH, PORT, ExtraWords, Keys, Knob, Whole, shaped, workers

_PAIRS = r"[^=,\s]+=[^=,\s]+(,[^=,\s]+=[^=,\s]+)*"
Pairs = Annotated[str, shaped(_PAIRS, "pairs")]
WORKER = rf"[^,:\s]+:{PORT}"
# One word for everything, or one a module.
Modules = Annotated[str, shaped(rf"[^=,\s]+|{_PAIRS}", "modules")]
Budget = Annotated[str, shaped(r"\d+(\.\d+)?|[^=,\s]+=\d+(\.\d+)?(,[^=,\s]+=\d+(\.\d+)?)*", "budget")]
Split = Annotated[str, shaped(r"row|layer|[^=,\s]+=(row|layer)(,[^=,\s]+=(row|layer))*", "split")]
# A pattern may hold anything but the marks that divide the list.
TypeRules = Annotated[str, shaped(r"[^=,]+=[A-Za-z0-9_]+(,[^=,]+=[A-Za-z0-9_]+)*", "type_rules")]
NamedPath = Annotated[str | None, PATH]
CacheMode = Literal["easycache", "ucache", "dbcache", "taylorseer", "cache-dit", "spectrum"]


class DiffusionKeys(Keys):
    """Pictures and films. Files are never downloaded for these keys; what is unset is left to the engine or to the model's own parts."""

    title: ClassVar[str] = "Diffusion"
    group: ClassVar[str] = "diffusion"

    sdcpp_child_header_timeout_secs: Annotated[float, Field(ge=0), Knob(daemon=True)] = 900.0
    """Seconds that a picture may take, instead of child_header_timeout_secs: it is answered when it is complete. 0 waits forever."""
    sdcpp_flash_attention: bool = True
    """Compute attention the faster way, which also takes less GPU memory."""
    sdcpp_sage_attn: bool = False
    """Compute attention in 8 bits: faster still, and only where a CUDA build has it; elsewhere it is left out with a warning."""
    sdcpp_cache_mode: CacheMode | None = None
    """Reuse what neighbouring steps have computed, in one of the engine's ways: faster, with nearly the same picture."""
    sdcpp_cache_option: Pairs | None = None
    """Settings of sdcpp_cache_mode, without which it says nothing, such as `threshold=0.25,reset=0`."""
    sdcpp_vae_tiling: bool = False
    """Decode pictures in tiles: slower, and with less GPU memory."""
    sdcpp_tae: NamedPath = None
    """Small decoder for previews, a file: fast, and of lower quality."""
    sdcpp_control_net: NamedPath = None
    """Control net, a file."""
    sdcpp_ip_adapter: NamedPath = None
    """IP adapter, a file; needs sdcpp_clip_vision."""
    sdcpp_clip_vision: NamedPath = None
    """Vision encoder of the IP adapter, a file."""
    sdcpp_motion_module: NamedPath = None
    """Motion module that makes films, a file."""
    sdcpp_photo_maker: NamedPath = None
    """PhotoMaker model, a file."""
    sdcpp_pulid_weights: NamedPath = None
    """PuLID weights, a file."""
    sdcpp_upscale_model: NamedPath = None
    """Model that enlarges pictures, a file."""
    sdcpp_lora_model_dir: NamedPath = None
    """Folder with adapters that requests may name."""
    sdcpp_hires_upscalers_dir: NamedPath = None
    """Folder with models that enlarge pictures."""
    sdcpp_embd_dir: NamedPath = None
    """Folder with text embeddings that prompts may name."""
    sdcpp_audio_encoder: NamedPath = None
    """Encoder for films that follow a sound, a file."""
    sdcpp_high_noise_diffusion_model: NamedPath = None
    """Diffusion model of the first, noisy steps, a file."""
    sdcpp_uncond_diffusion_model: NamedPath = None
    """Diffusion model of the part without a prompt, a file."""
    sdcpp_backend: Modules | None = None
    """Devices of the modules, such as `clip=cpu,vae=cuda0`."""
    sdcpp_params_backend: Modules | None = None
    """Where weights stay: `disk`, `cpu`, or one a module, such as `diffusion=disk,clip=cpu`; ends the automatic choice."""
    sdcpp_max_vram: Budget | None = None
    """Most GiB of GPU memory: one number, or one a device, such as `cuda0=8,cuda1=6`."""
    sdcpp_split_mode: Split | None = None
    """How weights are split over several GPUs: `row`, `layer`, or one a module, such as `diffusion=row,te=layer`."""
    sdcpp_rpc_servers: Annotated[
        tuple[
            Annotated[str, Field(min_length=1), AfterValidator(workers), shaped(r"[^,:\s]+:\d{1,5}", "worker", WORKER)],
            ...,
        ],
        Strict(strict=False),
    ] = ()
    """Workers whose devices are used too, each `host:port`. They ask nobody who he is: trusted networks only."""
    sdcpp_conditioning_cache_size: Whole | None = None
    """Prompts whose encoding is kept for the next picture. 0: none."""
    sdcpp_model_args: Pairs | None = None
    """Settings of single model families, such as `qwen_image_2_1_prefix_cache=true`."""
    sdcpp_qwen_prefix_cache_type: Annotated[str, shaped(r"[A-Za-z0-9_-]+", "word")] | None = None
    """How Qwen-Image keeps the beginning of a prompt, `auto` or a number format; the same in sdcpp_model_args wins."""
    sdcpp_tensor_type_rules: TypeRules | None = None
    """Number formats of groups of weights by patterns, such as `model.=q6_k,vae.=f16`."""
    sdcpp_extra_args: Annotated[ExtraWords, Knob(env=("BLAZAR_SDCPP_EXTRA_ARGS",))] = ()
    """Words added to the engine's command line in this order, before a model's extra_args; the engine must know each flag."""
