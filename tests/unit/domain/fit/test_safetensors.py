"""Hugging Face configurations and headers → the same shapes as the engine's own files."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import BadShape
from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.demand import memory
from blazar.domain.fit.safetensors import shape_from_safetensors
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}
DEEPSEEK_V3: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_nextn_predict_layers": 1,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "max_position_embeddings": 163840,
}
GEMMA3_4B: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
}
QWEN3_NEXT: dict[str, Any] = {
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "head_dim": 256,
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "moe_intermediate_size": 512,
}


def shape(config: dict[str, Any], tensors: Any = (), **values: Any) -> ModelShape:
    return shape_from_safetensors({**config, **values}, tensors)


def kv(of: ModelShape, ctx: int) -> int:
    return sum(cache.bytes for cache in caches(of, Settings(ctx=ctx)))


def layers(of: ModelShape) -> list[int]:
    return [len(cache.layers) for cache in of.caches]


def test_a_plain_model_is_read() -> None:
    """Llama 3.1 8B: 128 KiB a token."""
    found = shape(LLAMA)
    assert (found.arch, found.known, found.trained_ctx, found.vocabulary) == ("llama", True, 131072, 128256)
    assert kv(found, 131072) == 131072 * 32 * 8 * 128 * 2 * 2


def test_head_widths_win_over_embedding_by_heads() -> None:
    """`head_dim` is the width where a configuration names it."""
    assert kv(shape(LLAMA, head_dim=256), 256) == 2 * kv(shape(LLAMA), 256)


def test_latent_attention_keeps_one_row() -> None:
    """DeepSeek V3: 576 elements a cell in each of 61 blocks; the predicting block keeps none."""
    found = shape(DEEPSEEK_V3)
    assert found.mla
    assert found.nextn == 1
    assert len(found.blocks) == 62
    assert kv(found, 163840) == 11_513_364_480
    assert [block.experts_used for block in found.blocks][2:5] == [0, 8, 8]


def test_a_text_model_inside_another_is_found_with_its_classs_defaults() -> None:
    """Gemma 3 names neither heads nor widths in its files; its window has the engine's period of six."""
    found = shape(GEMMA3_4B)
    assert (found.arch, found.window) == ("gemma3", 1024)
    assert layers(found) == [5, 29]
    assert (found.blocks[0].kv_heads, found.blocks[0].k_head) == (4, 256)


def test_layer_types_say_which_blocks_are_windowed() -> None:
    """Listed types win over any period, and a list without a window means none."""
    types = ["sliding_attention", "full_attention"] * 16
    window = {"sliding_window": 128, "layer_types": types}
    assert layers(shape(LLAMA, model_type="gpt_oss", **window)) == [16, 16]
    assert layers(shape(LLAMA, model_type="brandnew", **window)) == [16, 16]
    assert layers(shape(LLAMA, model_type="brandnew", sliding_window=128, layer_types=["full_attention"] * 32)) == [32]
    assert layers(shape(LLAMA, model_type="qwen2", sliding_window=128, use_sliding_window=False)) == [32]


def test_linear_attention_keeps_a_state() -> None:
    """Qwen3-Next: three blocks of four keep a state of fixed size, by interval or by list alike."""
    by_interval = shape(QWEN3_NEXT)
    types = (["linear_attention"] * 3 + ["full_attention"]) * 12
    by_list = shape(
        {key: value for key, value in QWEN3_NEXT.items() if key != "full_attention_interval"}, layer_types=types
    )
    for found in (by_interval, by_list):
        assert layers(found) == [12]
        states = recurrent(found, Settings())
        assert len(states) == 36
        assert states[0].bytes == 4 * (3 * (4096 + 2 * 16 * 128) + 128 * 4096)


def test_convolutions_and_scans_keep_a_state() -> None:
    """LFM2's convolutions and Jamba's scans are told by their own keys."""
    lfm2 = shape(LLAMA, model_type="lfm2", conv_L_cache=3, layer_types=["conv", "full_attention"] * 16)
    assert layers(lfm2) == [16]
    assert len(lfm2.recurrent) == 16
    mamba = {"mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2, "attn_layer_period": 8, "attn_layer_offset": 4}
    jamba = shape(LLAMA, model_type="jamba", **mamba)
    assert layers(jamba) == [4]
    assert len(jamba.recurrent) == 28
    assert jamba.recurrent[0].s == 16 * 8192


HEADER: dict[str, Any] = {
    "__metadata__": {"format": "pt"},
    "model.embed_tokens.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [0, 128000]},
    "lm_head.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [128000, 256000]},
    "model.layers.0.self_attn.q_proj.weight": {"dtype": "BF16", "shape": [64, 64], "data_offsets": [0, 8192]},
    "model.layers.1.mlp.experts.0.down_proj.weight": {"dtype": "BF16", "shape": [64, 32], "data_offsets": [0, 4096]},
    "model.layers.1.mlp.experts.1.down_proj.weight": {"dtype": "BF16", "shape": [64, 32], "data_offsets": [0, 4096]},
    "vision_tower.encoder.layers.1.mlp.fc1.weight": {"dtype": "BF16", "shape": [8, 8], "data_offsets": [0, 128]},
}


def test_a_header_becomes_the_engines_table() -> None:
    """Names and dimension order are the engine's, a block's experts are one row, and no byte is lost."""
    small = {"num_hidden_layers": 2, "num_local_experts": 2, "num_experts_per_tok": 2, "head_dim": 16}
    found = shape(LLAMA, HEADER, **small)
    table = {row.name: row for row in found.tensors}
    assert table["token_embd.weight"].shape == (64, 1000)
    assert found.vocabulary == 1000
    assert table["blk.1.ffn_down_exps.weight"].bytes == 8192
    assert [block.expert_ff for block in found.blocks] == [0, 32]
    assert "vision_tower.encoder.layers.1.mlp.fc1.weight" in table
    assert memory(found, Settings(ctx=256)).weights_bytes == 2 * 128000 + 8192 + 2 * 4096 + 128


def test_experts_stored_together_have_their_own_width() -> None:
    """Llama 4 and gpt-oss store all experts of a block in one tensor, a matrix each."""
    rows = [("model.layers.0.mlp.experts.down_proj", (4, 32, 64), "BF16", 4 * 32 * 64 * 2)]
    small = {"num_hidden_layers": 1, "num_local_experts": 4, "num_experts_per_tok": 1}
    assert shape(LLAMA, rows, **small).blocks[0].expert_ff == 32


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({**LLAMA, "num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({**LLAMA, "num_hidden_layers": None}, "llama.block_count"),
        ({**LLAMA, "num_hidden_layers": 0}, "llama.block_count"),
        ({**LLAMA, "num_attention_heads": 0, "num_key_value_heads": 0}, "llama.attention.head_count"),
        ({**LLAMA, "head_dim": "wide"}, "llama.attention.key_length"),
        ({**LLAMA, "layer_types": ["full_attention"]}, "layer_types"),
        ({**LLAMA, "layer_types": [7] * 32}, "layer_types"),
        ({"num_hidden_layers": 2}, "model_type"),
        ({**DEEPSEEK_V3, "kv_lora_rank": -1}, "deepseek_v3.attention.kv_lora_rank"),
        ({**LLAMA, "attn_layer_period": 0}, "config.attn_layer_period"),
    ],
)
def test_strange_configurations_are_refused_by_name(config: dict[str, Any], key: str) -> None:
    """Missing, zero, giant or wrongly typed: a BadShape that names the key."""
    with pytest.raises(BadShape) as caught:
        shape_from_safetensors(config, ())
    assert caught.value.key == key


@pytest.mark.parametrize(
    "header", [{"a": 7}, {"a": {}}, {"a": {"data_offsets": [9, 1], "shape": [1], "dtype": "F32"}}, 7]
)
def test_strange_headers_are_refused(header: Any) -> None:
    """Entries without offsets, with offsets that run backwards, or no table at all."""
    with pytest.raises(BadShape):
        shape(LLAMA, header)
    with pytest.raises(BadShape):
        shape_from_safetensors([], ())  # type: ignore[arg-type]


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.integers(0, 64),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.one_of(st.integers(-2, 600), st.text(max_size=3)), max_size=6),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_only_a_bad_shape_ever_escapes(data: st.DataObject) -> None:
    """Any configuration with any values in any of its keys: a shape that can be summed, or a BadShape."""
    config = dict(data.draw(st.sampled_from([LLAMA, DEEPSEEK_V3, GEMMA3_4B, QWEN3_NEXT])))
    extra = (
        "layer_types",
        "head_dim",
        "sliding_window",
        "text_config",
        "attn_layer_period",
        "mamba_expand",
        "model_type",
    )
    for key in data.draw(st.lists(st.sampled_from(sorted({*config, *extra})), min_size=1, max_size=4)):
        config[key] = data.draw(ODD)
    try:
        found = shape_from_safetensors(config, data.draw(st.sampled_from([(), HEADER])))
    except BadShape:
        return
    assert memory(found, Settings(ctx=data.draw(st.integers(0, 1 << 20)))).total_bytes >= 0
