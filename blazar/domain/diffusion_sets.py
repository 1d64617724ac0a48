"""Which files draw together: the family of a diffusion model by its tensors' names, the parts it needs, a part's role. Opens nothing.

Names and needs are those of stable-diffusion.cpp (src/model.cpp and docs/, master-890); what it does not need is not asked for.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

MODEL: Final = "model"
DIFFUSION_MODEL: Final = "diffusion_model"
MAIN: Final = (MODEL, DIFFUSION_MODEL)

ROLES: Final = (
    *("vae", "tae", "clip_l", "clip_g", "t5xxl", "llm", "llm_vision", "clip_vision", "high_noise_diffusion_model"),
    *("uncond_diffusion_model", "audio_vae", "audio_encoder", "embeddings_connectors"),
)
"""What a part can be, as sd-server's flags name it; the order is that of a set's files."""

SYNONYMS: Final = {
    "high_noise": "high_noise_diffusion_model",
    "uncond": "uncond_diffusion_model",
    "qwen2vl": "llm",
    "qwen2vl_vision": "llm_vision",
    "taesd": "tae",
}

DECODER: Final = ("vae", "tae")
"""Either turns what was computed into a picture."""

_ALIKE: Final = (("vae",), ("tae",), ("clip_l", "clip_g", "clip_vision"), ("t5xxl",), ("llm", "llm_vision"))
"""Roles that one file may fill: CLIP is published with both of its halves, a language model with its eyes.

A `vae` and a `tae` are two networks: sd-server looks for the tensors of the one that it is told of, and ends without them.
"""
_WHOLE: Final = ("high_noise_diffusion_model", "uncond_diffusion_model")
"""Roles of which no known part can be one: they are diffusion models."""

_PREFIX: Final = "model.diffusion_model."
_UNET: Final = ("input_blocks.", "output_blocks.")
_VAE_INSIDE: Final = ("first_stage_model.", "vae.")
_ENCODERS_INSIDE: Final = ("cond_stage_model.", "conditioner.embedders.", "text_encoders.")
_SECOND_ENCODER: Final = ("conditioner.embedders.1.", "cond_stage_model.1.")


class Family(NamedTuple):
    """A kind of diffusion model. `needs` are alternatives of roles: one of each has to be there, inside the file or beside it."""

    name: str
    mark: str
    needs: tuple[tuple[str, ...], ...]


_LLM = (DECODER, ("llm",))
_T5 = (DECODER, ("t5xxl",))

FAMILIES: Final = (
    Family("qwen_image", "transformer_blocks.0.img_mod.1.weight", _LLM),
    Family("ovis_image", "double_blocks.0.img_mlp.gate_proj.weight", _LLM),
    Family("flux2", "double_stream_modulation_img.lin.weight", _LLM),
    Family("chroma_radiance", "nerf_final_layer_conv.", (("t5xxl",),)),
    Family("chroma", "distilled_guidance_layer.", _T5),
    Family("flux", "double_blocks.", (DECODER, ("clip_l",), ("t5xxl",))),
    Family("sd3", "joint_blocks.", (DECODER, ("clip_l",), ("clip_g",), ("t5xxl",))),
    Family("anima", "llm_adapter.blocks.0.cross_attn.q_proj.weight", _LLM),
    Family("z_image", "cap_embedder.0.weight", _LLM),
    Family("ernie_image", "layers.0.adaLN_sa_ln.weight", _LLM),
    Family("wan", "blocks.0.cross_attn.norm_k.weight", _T5),
)
"""The first whose mark a tensor's name begins with counts."""

_SDXL = Family("sdxl", "", (DECODER, ("clip_l",), ("clip_g",)))
_SD2 = Family("sd2", "", (DECODER, ("clip_l",)))
_SD1 = Family("sd1", "", (DECODER, ("clip_l",)))
_UNKNOWN = Family("diffusion", "", ())

GGUF_NAMES: Final = {
    **{family.name: family.name for family in (*FAMILIES, _SDXL, _SD1)},
    "lumina2": "z_image",
    "sd2": "sd2",
    **{name: name for name in ("aura", "cosmos", "hidream", "hyvid", "ltxv")},
}
"""What converters write as `general.architecture` of a diffusion model, to its family."""


_HINTS: Final = (
    *(
        "flux",
        "sd1",
        "sd2",
        "sd3",
        "sdxl",
        "stable",
        "diffusion",
        "image",
        "wan",
        "chroma",
        "lumina",
        "hidream",
        "cosmos",
    ),
    *("ltxv", "hyvid", "anima", "aura", "ernie", "ovis"),
)
"""Words in what publishers call diffusion models. A hint: tensors decide."""


def may_draw(name: str) -> bool:
    """Whether it is worth a request to look into a GGUF file of that name: most hold language models."""
    return any(hint in name.lower() for hint in _HINTS)


class Drawing(NamedTuple):
    """What a file says about itself: its family, and whether decoder and text encoders lie inside."""

    family: Family
    decoder: bool
    encoders: bool

    @property
    def role(self) -> str:
        """How the engine is told of it: a checkpoint with parts of its own keeps them only as the whole model."""
        return MODEL if self.decoder or self.encoders else DIFFUSION_MODEL

    def missing(self, given: Collection[str]) -> list[str]:
        """The parts that are neither inside nor given; alternatives as `vae or tae`."""
        lacking = [roles for roles in self.family.needs if not set(roles) & set(given)]
        lacking = [roles for roles in lacking if not (self.decoder if roles == DECODER else self.encoders)]
        if not self.family.needs and not given and self.role == DIFFUSION_MODEL:
            return [" or ".join(DECODER), "text encoders"]
        return [" or ".join(roles) for roles in lacking]


def drawing_of(names: Iterable[str], gguf_arch: str = "") -> Drawing | None:
    """The evidence of a diffusion model in the names of a file's tensors, or in what a GGUF calls itself; None where there is none."""
    whole = list(names)
    bare = [name.removeprefix(_PREFIX) for name in whole]
    family = next((one for one in FAMILIES if any(name.startswith(one.mark) for name in bare)), None)
    if family is None and all(any(name.startswith(mark) for name in bare) for mark in _UNET):
        family = _unet(whole, bare)
    if family is None and gguf_arch in GGUF_NAMES:
        name = GGUF_NAMES[gguf_arch]
        family = next((one for one in (*FAMILIES, _SDXL, _SD2, _SD1) if one.name == name), _UNKNOWN._replace(name=name))
    if family is None and any(name.startswith(_PREFIX) for name in whole):
        family = _UNKNOWN
    if family is None:
        return None
    return Drawing(family, _any(whole, _VAE_INSIDE), _any(whole, _ENCODERS_INSIDE))


def unknown_drawing() -> Drawing:
    """A family that nothing here knows, with nothing inside."""
    return Drawing(_UNKNOWN, decoder=False, encoders=False)


def _unet(whole: Sequence[str], bare: Sequence[str]) -> Family:
    if _any(whole, _SECOND_ENCODER) or _any(bare, ("label_emb.",)):
        return _SDXL
    return _SD2 if _any(whole, ("cond_stage_model.model.",)) else _SD1


def _any(names: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    return any(name.startswith(prefixes) for name in names)


def role_of(word: str) -> str:
    """The role that a word means, "" where there is none."""
    plain = word.strip().lstrip("-").replace("-", "_").lower()
    role = SYNONYMS.get(plain, plain)
    return role if role in ROLES else ""


def part_of(tensors: Mapping[str, tuple[int, ...]], gguf_arch: str = "") -> str:
    """What part of a set a file is, by its tensors' names and shapes (as safetensors have them); "" where it is none that is known."""
    if gguf_arch in ("t5", "t5encoder"):
        return "t5xxl"
    if gguf_arch and any(name.startswith("blk.") for name in tensors):
        return "llm"
    marks = (
        ("tae", "decoder.layers.2.conv.0.weight"),
        ("tae", "taesd_decoder."),
        ("vae", "decoder.conv_in.weight"),
        ("vae", "first_stage_model.decoder.conv_in.weight"),
        ("vae", "decoder.conv1.weight"),  # Wan's, which Qwen-Image shares
        ("t5xxl", "encoder.block.0.layer.0.SelfAttention."),
        ("clip_vision", "vision_model."),
        ("llm", "model.layers.0.self_attn."),
        ("llm", "model.language_model.layers.0.self_attn."),
    )
    found = next((role for role, mark in marks if any(name.startswith(mark) for name in tensors)), "")
    return found or _clip(tensors)


def contradicts(role: str, part: str) -> bool:
    """Whether a file that is this part for sure cannot be given that role: decoder for encoder, one encoder for another."""
    homes = [alike for alike in _ALIKE if role in alike]
    if role in _WHOLE:
        return part not in ("", MODEL)
    if not part or role == part or not homes:
        return False
    return part not in homes[0] or {role, part} == {"clip_l", "clip_g"}


CLIP_L_WIDTH: Final = 768
CLIP_G_WIDTH: Final = 1280


def _clip(tensors: Mapping[str, tuple[int, ...]]) -> str:
    """Both text encoders of CLIP have the same names and are told apart by their width."""
    shape = tensors.get("text_model.embeddings.token_embedding.weight", ())
    return {CLIP_L_WIDTH: "clip_l", CLIP_G_WIDTH: "clip_g"}.get(shape[-1] if shape else 0, "")
