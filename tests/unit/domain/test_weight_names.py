"""What the names of weight files say."""

import pytest

from blazar.domain.weight_names import (
    Model,
    Shard,
    came_along,
    is_projector,
    models_among,
    projector_rank,
    quant_of,
    same_model,
    shard_name,
    shard_of,
)


@pytest.mark.parametrize(
    ("name", "shard"),
    [
        ("m-00001-of-00003.gguf", Shard("m", 1, 3)),
        ("a-00001-of-00002-00002-of-00002.gguf", Shard("a-00001-of-00002", 2, 2)),
        ("m.gguf", None),
        ("m-1-of-3.gguf", None),
        ("m-00001-of-00003.safetensors", None),
        ("m-00001-of-00003.GGUF", None),
        ("-00001-of-00003.gguf", None),
    ],
)
def test_only_the_one_spelling_is_a_shard(name: str, shard: Shard | None) -> None:
    """`-NNNNN-of-NNNNN.gguf` and nothing else (F19), because engines find siblings by it."""
    assert shard_of(name) == shard
    assert shard is None or shard_name(*shard) == name


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen3-8b.q4_k_m.gguf", "Q4_K_M"),
        ("Qwen3-30B-A3B-UD-Q4_K_XL-00001-of-00002.gguf", "UD-Q4_K_XL"),
        ("gemma-3-27b-it-IQ2_XXS.gguf", "IQ2_XXS"),
        ("phi-4-Q8_0.gguf", "Q8_0"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("model-F16.gguf", "F16"),
        ("model-fp16.gguf", "FP16"),
        ("model-BF16/x-BF16-00001-of-00009.gguf", "BF16"),
        ("bitnet-TQ1_0.gguf", "TQ1_0"),
        ("Q4_0-of-what-Q5_K_S.gguf", "Q5_K_S"),
        ("IQ3_S_model.gguf", "IQ3_S"),
        ("smollm2.gguf", ""),
        ("SQ4_0x.gguf", ""),
    ],
)
def test_the_quantisation_stands_in_the_name(name: str, quant: str) -> None:
    """In capitals, the last one named; no part of another word."""
    assert quant_of(name) == quant


def test_projectors_lie_beside_models_and_are_none() -> None:
    """Whichever way round the name is put together; the usual one comes first."""
    names = ["mmproj-F32.gguf", "mmproj-BF16.gguf", "m-mmproj-f16.gguf", "mmproj-Q8_0.gguf", "mmproj.gguf"]
    assert all(map(is_projector, names))
    assert not is_projector("model.gguf")
    assert not is_projector("mmproj.md")
    assert sorted(names, key=projector_rank) == [names[2], names[1], names[3], names[0], names[4]]


def test_the_models_of_a_repository() -> None:
    """Sets are one model each and in order; projectors, matrices, READMEs and shards beyond their total are not counted (F19)."""
    found = models_among(
        [
            "README.md",
            "mmproj-F16.gguf",
            "m-imatrix.gguf",
            "m-Q8_0-00002-of-00002.gguf",
            "m-Q4_K_M.gguf",
            "m-Q8_0-00001-of-00002.gguf",
            "m-Q8_0-00003-of-00002.gguf",
            "BF16/m-00001-of-00003.gguf",
            "BF16/m-00003-of-00003.gguf",
            "odd.gguf",
            "m-Q4_0-1-of-2.gguf",
        ]
    )
    assert found == [
        Model("Q4_K_M", ("m-Q4_K_M.gguf",)),
        Model("odd", ("odd.gguf",)),
        Model("Q4_0", ("m-Q4_0-1-of-2.gguf",)),
        Model("Q8_0", ("m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf")),
        Model("BF16", ("BF16/m-00001-of-00003.gguf", "BF16/m-00003-of-00003.gguf"), 1),
    ]


@pytest.mark.parametrize(
    ("projector", "model", "same"),
    [
        ("mmproj-F16.gguf", "gemma-3-4b-it-Q4_K_M.gguf", None),
        ("mmproj-model-f16.gguf", "gemma-3-4b-it-Q4_K_M.gguf", None),
        ("mmproj-gemma-3-4b-it-f16.gguf", "gemma-3-4b-it-Q4_K_M.gguf", True),
        ("gemma-3-4b-it.mmproj-Q8_0.gguf", "gemma-3-4b-it-UD-Q4_K_XL-00001-of-00002.gguf", True),
        ("mmproj-Qwen2.5-VL-7B-Instruct-BF16.gguf", "gemma-3-4b-it-Q4_K_M.gguf", False),
    ],
)
def test_an_encoder_may_be_named_for_its_model(projector: str, model: str, same: bool | None) -> None:
    """What publishers add to both names does not count; a name that says nothing is no answer."""
    assert same_model(projector, model) is same


def test_loras_that_came_with_a_model_are_known_by_their_links() -> None:
    """Whatever the folder is called, on either kind of system."""
    assert came_along("/data/models/m%3A1b%40lora-0123456789ab.gguf")
    assert came_along("C:\\models\\m%40lora-0123456789ab.gguf")
    assert not any(map(came_along, ("/x%40lora-y/m.gguf", "/models/lora.gguf", "")))
