"""Which files draw together."""

import pytest

from blazar.adapters.engines.sdcpp.resolve import PART, PARTS
from blazar.domain.diffusion_sets import FAMILIES, ROLES, contradicts, drawing_of, part_of, role_of, unknown_drawing
from tests.support.safetensors_files import CHECKPOINT, OVIS, QWEN, TAE, VAE

SD = ["model.diffusion_model.input_blocks.0.0.weight", "model.diffusion_model.output_blocks.1.0.weight"]


@pytest.mark.parametrize(
    ("names", "family", "role"),
    [
        (list(OVIS), "ovis_image", "diffusion_model"),
        ([f"model.diffusion_model.{name}" for name in OVIS], "ovis_image", "diffusion_model"),
        (["double_blocks.0.img_mod.lin.weight"], "flux", "diffusion_model"),
        (["double_blocks.0.a", "distilled_guidance_layer.in_proj.weight"], "chroma", "diffusion_model"),
        (["double_blocks.0.a", "double_stream_modulation_img.lin.weight"], "flux2", "diffusion_model"),
        (["joint_blocks.0.x_block.attn.qkv.weight", "first_stage_model.decoder.conv_in.weight"], "sd3", "model"),
        (list(CHECKPOINT), "sd1", "model"),
        ([*SD, "cond_stage_model.model.token_embedding.weight"], "sd2", "model"),
        ([*SD, "conditioner.embedders.1.model.ln_final.weight"], "sdxl", "model"),
        ([*SD, "model.diffusion_model.label_emb.0.0.weight"], "sdxl", "diffusion_model"),
        (["model.diffusion_model.something_new.weight"], "diffusion", "diffusion_model"),
    ],
)
def test_a_family_is_told_by_its_tensors(names: list[str], family: str, role: str) -> None:
    """With the prefix of a checkpoint or without; the role is what keeps the parts that lie inside."""
    found = drawing_of(names)
    assert found is not None
    assert (found.family.name, found.role) == (family, role)


@pytest.mark.parametrize("names", [list(QWEN), list(TAE), list(VAE), ["blk.0.attn_q.weight"], []])
def test_what_draws_nothing_is_none(names: list[str]) -> None:
    """Language models, encoders and decoders, nothing at all."""
    assert drawing_of(names) is None


def test_a_gguf_calls_itself_by_its_converters_name() -> None:
    """Also where its tensors say nothing."""
    found = drawing_of(["x"], "lumina2")
    assert found is not None
    assert found.family.name == "z_image"
    found = drawing_of(["x"], "hidream")
    assert found is not None
    assert found.family.name == "hidream"
    assert drawing_of(["blk.0.attn_q.weight"], "llama") is None


def test_missing_parts_are_named_with_their_alternatives() -> None:
    """What lies inside or is given is not missing."""
    bare = drawing_of(OVIS)
    assert bare is not None
    assert bare.missing([]) == ["vae or tae", "llm"]
    assert bare.missing(["tae"]) == ["llm"]
    assert bare.missing(["vae", "llm"]) == []
    whole = drawing_of(CHECKPOINT)
    assert whole is not None
    assert whole.missing([]) == []
    sd3 = drawing_of(["joint_blocks.0.a", "first_stage_model.a"])
    assert sd3 is not None
    assert sd3.missing(["clip_l"]) == ["clip_g", "t5xxl"]
    assert unknown_drawing().missing([]) == ["vae or tae", "text encoders"]
    assert unknown_drawing().missing(["llm"]) == []


@pytest.mark.parametrize(
    ("tensors", "arch", "role"),
    [
        (TAE, "", "tae"),
        (VAE, "", "vae"),
        (QWEN, "", "llm"),
        ({"encoder.block.0.layer.0.SelfAttention.q.weight": ("F16", (2, 2))}, "", "t5xxl"),
        ({"text_model.embeddings.token_embedding.weight": ("F16", (49408, 768))}, "", "clip_l"),
        ({"text_model.embeddings.token_embedding.weight": ("F16", (49408, 1280))}, "", "clip_g"),
        ({"text_model.embeddings.token_embedding.weight": ("F16", (49408, 99))}, "", ""),
        ({"blk.0.attn_q.weight": ("Q8_0", (2, 2))}, "qwen2vl", "llm"),
        ({"enc.blk.0.attn_q.weight": ("Q8_0", (2, 2))}, "t5encoder", "t5xxl"),
        ({"unheard.of": ("F16", (1,))}, "", ""),
    ],
)
def test_a_part_is_told_by_its_tensors(tensors: dict[str, tuple[str, tuple[int, ...]]], arch: str, role: str) -> None:
    """The two encoders of CLIP by their width; what is not known is no part."""
    assert part_of({name: tuple(shape) for name, (_, shape) in tensors.items()}, arch) == role


def test_a_role_has_several_spellings() -> None:
    """The engine's own, old ones, with dashes; anything else means nothing."""
    assert [role_of(word) for word in ("vae", "--clip-l", "qwen2vl", "taesd", "LLM_vision")] == [
        *("vae", "clip_l", "llm", "tae", "llm_vision"),
    ]
    assert [role_of(word) for word in ("", "model", "foo", "vae;rm")] == [""] * 4


def test_every_role_can_be_told_to_the_engine() -> None:
    """And every need is a role."""
    assert all(PART + role in PARTS or f"sdcpp_{role}" in PARTS for role in ROLES)
    assert {role for family in FAMILIES for roles in family.needs for role in roles} <= set(ROLES)


@pytest.mark.parametrize(
    ("role", "part", "wrong"),
    [
        ("llm", "tae", True),
        ("tae", "llm", True),
        ("vae", "tae", True),
        ("tae", "vae", True),
        ("clip_l", "clip_g", True),
        ("clip_l", "clip_vision", False),
        ("t5xxl", "llm", True),
        ("llm_vision", "llm", False),
        ("llm", "model", True),
        ("llm", "", False),
        ("llm", "llm", False),
        ("high_noise_diffusion_model", "model", False),
        ("high_noise_diffusion_model", "vae", True),
        ("uncond_diffusion_model", "", False),
        ("audio_encoder", "llm", False),
    ],
)
def test_a_part_in_another_role(role: str, part: str, wrong: bool) -> None:
    """Only what is certain is wrong, a small decoder for a large one too: halves of one file and unknown parts are believed."""
    assert contradicts(role, part) is wrong
