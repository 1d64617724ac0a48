"""What a configuration and names say about weights."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.kinds import Weights
from blazar.domain.weight_kinds import (
    QUANTIZED_SAFETENSORS_TOKENS,
    Tensor,
    arch_of,
    facts_of_config,
    info_of,
    is_mlx_quant,
    methods_of,
    parameters_of,
    pooling_of,
    quant_label,
    quantized_by,
    weights_of,
)
from tests.support.safetensors_files import LLAMA, MLX


def test_the_tokens_are_the_contracts() -> None:
    """No fourth one, and none of them gone."""
    assert QUANTIZED_SAFETENSORS_TOKENS == ("awq", "gptq", "fp8")


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("Foo-AWQ-INT4", "awq"),
        ("Foo_AWQ", "awq"),
        ("awq", "awq"),
        ("Foo.GPTQ.4bit", "gptq"),
        ("Qwen3-8B-FP8-dynamic", "fp8"),
        ("llama-w8a8-fp8_e4m3", "fp8"),
        ("模型-AWQ", "awq"),
        ("awqward-model", ""),
        ("fp8x", ""),
        ("xfp8", ""),
        ("fp80", ""),
        ("gptqmodel", ""),
        ("AWQ4", ""),
        ("模型AWQ", ""),
        ("éawq", ""),
        ("hawq", ""),
        ("", ""),
    ],
)
def test_a_token_is_a_word_of_its_own(name: str, token: str) -> None:
    """In any case; an underscore ends a word, a letter of any script does not."""
    assert quantized_by([name]) == token


@given(
    st.text(alphabet=st.characters(categories=("L", "N")), max_size=3),
    st.sampled_from(QUANTIZED_SAFETENSORS_TOKENS),
    st.text(alphabet=st.characters(categories=("L", "N")), max_size=3),
    st.sampled_from("-_./ "),
)
def test_letters_and_digits_take_a_token_in(before: str, token: str, after: str, edge: str) -> None:
    """Whatever they are: only the edge of a word makes one."""
    assert quantized_by([f"m{before}{token}{after}z"]) == ""
    assert quantized_by([f"{before}{edge}{token}{edge}{after}".upper()]) in QUANTIZED_SAFETENSORS_TOKENS


def with_method(**said: Any) -> dict[str, Any]:
    return LLAMA | {"quantization_config": said}


@pytest.mark.parametrize(
    ("config", "names", "weights"),
    [
        (LLAMA, ("Foo",), Weights.SAFETENSORS),
        (LLAMA, ("Foo-AWQ",), Weights.QUANTIZED),
        (LLAMA, ("Foo", "model-gptq.safetensors"), Weights.QUANTIZED),
        (with_method(quant_method="awq", bits=4), ("Foo",), Weights.QUANTIZED),
        (with_method(quant_method="fp8"), ("Foo",), Weights.QUANTIZED),
        (with_method(quant_algo="FP8"), ("Foo",), Weights.QUANTIZED),
        (with_method(quant_method="bitsandbytes", load_in_4bit=True), ("Foo",), Weights.SAFETENSORS),
        (with_method(quant_method="mxfp4"), ("gpt-oss",), Weights.SAFETENSORS),
        (
            with_method(
                quant_method="compressed-tensors", config_groups={"g": {"weights": {"type": "float", "num_bits": 8}}}
            ),
            ("Foo",),
            Weights.QUANTIZED,
        ),
        (
            with_method(
                quant_method="compressed-tensors", config_groups={"g": {"weights": {"type": "int", "num_bits": 8}}}
            ),
            ("Foo",),
            Weights.SAFETENSORS,
        ),
        ({**LLAMA, "text_config": {"quantization_config": {"quant_method": "gptq"}}}, ("Foo",), Weights.QUANTIZED),
        (MLX, ("Foo",), Weights.MLX_QUANT),
        (MLX, ("Foo-AWQ-mlx-4bit",), Weights.MLX_QUANT),
        (
            LLAMA | {"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4", "lm_head": False}},
            (),
            Weights.MLX_QUANT,
        ),
        (LLAMA | {"quantization": {"group_size": 64, "bits": 4, "quant_method": "awq"}}, (), Weights.SAFETENSORS),
        (LLAMA | {"quantization": {"bits": 4}}, (), Weights.SAFETENSORS),
        (LLAMA | {"quantization": {"bits": True, "group_size": 64}}, (), Weights.SAFETENSORS),
        (LLAMA | {"quantization": "4bit"}, ("Foo",), Weights.SAFETENSORS),
        (LLAMA | {"quantization_config": None}, ("Foo",), Weights.SAFETENSORS),
        (LLAMA | {"quantization_config": ["awq"]}, ("Foo",), Weights.SAFETENSORS),
    ],
)
def test_the_kind_of_weights(config: dict[str, Any], names: tuple[str, ...], weights: Weights) -> None:
    """By tokens and methods; MLX is asked first (contract); what nobody can read as quantised is plain."""
    assert weights_of(config, names) is weights


def test_a_label_never_decides() -> None:
    """An AWQ model whose most bytes are BF16 is quantised all the same (contract)."""
    config, rows = with_method(quant_method="awq", bits=4), [Tensor("a", (4096,), "BF16", 8192)]
    assert weights_of(config, ("Foo",)) is Weights.QUANTIZED
    assert quant_label(config, ("Foo",), rows) == "AWQ-4bit"


@pytest.mark.parametrize(
    ("config", "names", "label"),
    [
        (LLAMA, (), "BF16"),
        (MLX, (), "4bit"),
        (LLAMA | {"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}}, (), "MXFP4"),
        (LLAMA, ("Foo-FP8",), "FP8"),
        (with_method(quant_method="gptq", bits=8), (), "GPTQ-8bit"),
        (with_method(quant_method="awq", w_bit=4), (), "AWQ-4bit"),
        (with_method(quant_method="bitsandbytes"), (), "BITSANDBYTES"),
        (with_method(quant_method="evil\x1b[31m" + "x" * 99), (), "EVIL-31MXXXXXXXXXXXXXXXX"),
    ],
)
def test_labels(config: dict[str, Any], names: tuple[str, ...], label: str) -> None:
    """Short words, whatever a stranger wrote."""
    assert quant_label(config, names, [Tensor("a", (8,), "BF16", 16), Tensor("b", (2,), "F32", 8)]) == label
    assert quant_label(LLAMA, (), []) == ""


def test_packed_numbers_count_as_many_as_they_were() -> None:
    """Scales and zero points were not learnt; a module may have bits of its own."""
    rows = [
        Tensor("a.weight", (8, 16), "U32", 512),
        Tensor("a.scales", (8, 2), "F16", 32),
        Tensor("a.biases", (8, 2), "F16", 32),
        Tensor("b.weight", (8, 8), "U32", 256),
        Tensor("b.scales", (8, 2), "F16", 32),
        Tensor("norm.weight", (64,), "F16", 128),
    ]
    config = LLAMA | {"quantization": {"group_size": 64, "bits": 4, "b": {"group_size": 64, "bits": 8}}}
    assert parameters_of(config, rows) == 8 * 16 * 8 + 8 * 8 * 4 + 64
    gptq = [
        Tensor("a.qweight", (16, 8), "I32", 512),
        Tensor("a.qzeros", (1, 1), "I32", 4),
        Tensor("a.scales", (1, 8), "F16", 16),
    ]
    assert parameters_of(with_method(quant_method="gptq", bits=4), gptq) == 16 * 8 * 8
    mxfp4 = [Tensor("e.up_blocks", (4, 8), "U8", 32), Tensor("e.up_scales", (4, 1), "U8", 4)]
    assert parameters_of(with_method(quant_method="mxfp4"), mxfp4) == 4 * 8 * 2
    assert parameters_of(LLAMA, [Tensor("a.weight", (3, 5), "BF16", 30)]) == 15
    assert parameters_of(LLAMA, [Tensor("a", (2**40, 2**40), "BF16", 1)]) == 2**63 - 1


def test_facts_of_a_configuration() -> None:
    """Those of the text model where it is a part; what is no sane number is not known."""
    assert facts_of_config(LLAMA) == ("llama", 2048, 64)
    whole = {"model_type": "gemma3", "text_config": {"max_position_embeddings": 8192, "hidden_size": 32}}
    assert facts_of_config(whole) == ("gemma3", 8192, 32)
    for wrong in (True, -1, 2**31, 1.5, "2048", None, [2048], float("nan"), float("inf")):
        assert facts_of_config(LLAMA | {"max_position_embeddings": wrong}).ctx_train == 0


def test_an_architecture_is_a_plain_word() -> None:
    """Its model_type, else its class; nothing that a terminal would act on."""
    assert arch_of({"model_type": "qwen3"}) == "qwen3"
    assert arch_of({"model_type": "phi3.5"}) == "phi3.5"
    assert arch_of({"model_type": "../../etc"}) == arch_of({"model_type": ".."}) == ""
    assert arch_of({"architectures": ["MistralForCausalLM"]}) == "mistral"
    for wrong in (
        {},
        {"model_type": ""},
        {"model_type": 7},
        {"model_type": "a\x1b"},
        {"architectures": []},
        {"model_type": "x" * 65},
    ):
        assert arch_of(wrong) == ""


def test_numbers_have_the_keys_of_a_gguf() -> None:
    """Clients look for them by these; a vision tower is one."""
    found = info_of(LLAMA | {"vision_config": {"depth": 32}})
    assert (found["llama.context_length"], found["llama.block_count"]) == (2048, 1)
    assert found["llama.vision.block_count"] == 32


def test_pooling_is_what_its_module_says() -> None:
    """As llama.cpp counts them."""
    assert pooling_of({"pooling_mode_mean_tokens": True}) == 1
    assert pooling_of({"pooling_mode_cls_token": True}) == 2
    assert pooling_of({"pooling_mode_lasttoken": True}) == 3
    assert pooling_of({"pooling_mode_mean_tokens": "yes"}) is None


def test_odd_mlx_lm_writes_the_same_under_quantization_config() -> None:
    """Only a method there tells others' work from its own; its folders are never read as quantised by somebody else."""
    assert MLX["quantization_config"] == MLX["quantization"]
    assert is_mlx_quant(MLX)
    assert methods_of(MLX) == []
    assert not is_mlx_quant({"quantization_config": MLX["quantization_config"]})


def test_methods_are_texts_only() -> None:
    """Whatever else stands there."""
    assert methods_of(with_method(quant_method=["awq"], format="pack-quantized")) == ["pack-quantized"]
    assert not is_mlx_quant({"quantization": {"bits": 10**9, "group_size": 64}})
