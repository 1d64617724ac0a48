"""Which files of a repository are pulled together."""

import pytest

from blazar.adapters.files import modelfolder
from blazar.domain import repository
from blazar.domain.repository import (
    Folder,
    adapter_folder,
    checkpoints,
    gguf_models,
    is_adapter,
    is_of_peft,
    model_folder,
    projector_of,
)

QWEN = (
    ".gitattributes",
    "LICENSE",
    "README.md",
    "config.json",
    "generation_config.json",
    "merges.txt",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
)


def test_a_folder_is_its_weights_and_what_lies_beside() -> None:
    """In shard order; the card is read by people, not by engines."""
    assert model_folder(QWEN) == Folder(
        ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
        (
            "config.json",
            "generation_config.json",
            "merges.txt",
            "model.safetensors.index.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "vocab.json",
        ),
    )


@pytest.mark.parametrize(
    "other",
    [
        "pytorch_model.bin",
        "pytorch_model-00001-of-00002.bin",
        "pytorch_model.bin.index.json",
        "model.pt",
        "onnx/model.onnx",
        "onnx/config.json",
        "original/params.json",
        "original/consolidated.00.pth",
        "consolidated.safetensors",
        "consolidated-00001-of-00003.safetensors",
        "tf_model.h5",
        "trainer_state.json",
        "runs/log.txt",
        ".cache/x.json",
        "adapter_config.json",
        "checkpoint-500/model.safetensors",
        "assets/figure.png",
    ],
)
def test_the_same_weights_in_other_formats_are_left(other: str) -> None:
    """And what training leaves behind."""
    found = model_folder((*QWEN, other))
    assert found == model_folder(QWEN)


@pytest.mark.parametrize(
    "more",
    [
        "chat_template.jinja",
        "preprocessor_config.json",
        "processor_config.json",
        "tokenizer.model",
        "tokenizer.model.v3",
        "tekken.json",
        "qwen.tiktoken",
        "modeling_own.py",
        "1_Pooling/config.json",
        "2_Dense/model.safetensors",
    ],
)
def test_what_engines_read_comes_along(more: str) -> None:
    """Tokenizers of every kind, templates, and the steps behind an encoder."""
    found = model_folder((*QWEN, more))
    assert found is not None
    assert more in found.beside


@pytest.mark.parametrize(
    ("weights", "taken", "missing"),
    [
        (["model.safetensors", "model.fp16.safetensors"], ["model.safetensors"], 0),
        (["weights.safetensors"], ["weights.safetensors"], 0),
        (["model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"], None, 1),
        (["a-00001-of-00001.safetensors", "model-00001-of-00001.safetensors"], ["model-00001-of-00001.safetensors"], 0),
        (["a.safetensors", "b.safetensors"], [], 0),
        (["model.safetensors.index.json", "a.safetensors", "b.safetensors"], ["a.safetensors", "b.safetensors"], 0),
        (["consolidated.safetensors"], [], 0),
        (["adapter_model.safetensors"], [], 0),
        ([], [], 0),
    ],
)
def test_which_weights_are_the_models(weights: list[str], taken: list[str] | None, missing: int) -> None:
    """As transformers choose; a repository that leaves it open is no folder of one model."""
    found = model_folder(["config.json", *weights])
    if taken == []:
        assert found is None
        return
    assert found is not None
    assert (found.weights, found.missing) == (tuple(taken if taken is not None else weights), missing)


def test_without_a_configuration_there_is_no_folder() -> None:
    """An engine could not read it."""
    assert model_folder(("model.safetensors", "sub/config.json")) is None


def test_the_bounds_are_those_of_an_import() -> None:
    """What it would refuse need not be fetched."""
    assert (repository.MOST_BESIDE, repository.LARGEST_BESIDE) == (modelfolder.MOST_BESIDE, modelfolder.LARGEST_BESIDE)


@pytest.mark.parametrize(
    ("model", "there", "best", "others"),
    [
        ("m-Q4_K_M.gguf", ["mmproj-F16.gguf"], "mmproj-F16.gguf", ()),
        (
            "m-Q4_K_M.gguf",
            ["mmproj-F32.gguf", "mmproj-BF16.gguf", "mmproj-F16.gguf"],
            "mmproj-F16.gguf",
            ("mmproj-BF16.gguf", "mmproj-F32.gguf"),
        ),
        ("m-Q4_K_M.gguf", ["mmproj-Q8_0.gguf", "mmproj-BF16.gguf"], "mmproj-BF16.gguf", ("mmproj-Q8_0.gguf",)),
        ("a-4b-Q4_0.gguf", ["mmproj-a-4b-f16.gguf", "mmproj-b-9b-f16.gguf"], "mmproj-a-4b-f16.gguf", ()),
        ("a-4b-Q4_0.gguf", ["a-4b-mmproj-f16.gguf", "mmproj-F16.gguf"], "a-4b-mmproj-f16.gguf", ()),
        ("ggml-model-q4.gguf", ["llava-mmproj-f16.gguf"], "llava-mmproj-f16.gguf", ()),
        ("Q4/m.gguf", ["mmproj-F16.gguf"], "mmproj-F16.gguf", ()),
        ("Q4/m.gguf", ["Q4/mmproj-F32.gguf", "mmproj-F16.gguf"], "Q4/mmproj-F32.gguf", ()),
        ("Q4/m.gguf", ["Q8/mmproj-F16.gguf"], None, ()),
        ("m.gguf", [], None, ()),
    ],
)
def test_which_projector_goes_with_a_model(
    model: str, there: list[str], best: str | None, others: tuple[str, ...]
) -> None:
    """The nearest folder, the same name, then F16 before BF16 before the rest."""
    assert projector_of(model, there) == (best, others)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("story-lora-f16.gguf", True),
        ("sub/my_LoRA.gguf", True),
        ("adapter.gguf", True),
        ("pixel-art-lora.safetensors", True),
        ("llama-3-lora-merged-Q4_K_M.gguf", False),
        ("explorator-7b-Q4.gguf", False),
        ("qwen3-0.6b.gguf", False),
        ("lora/model-Q4_0.gguf", False),
    ],
)
def test_adapters_are_known_by_their_names(name: str, is_one: bool) -> None:
    """The file's own; merged ones are models."""
    assert is_adapter(name) is is_one


def test_heads_and_adapters_are_no_choices_beside_models() -> None:
    """Alone they are all there is."""
    both = ["m-Q4_0.gguf", "mtp-m-Q4_0.gguf", "eagle3-m-F16.gguf", "m-lora-F16.gguf"]
    assert [one.files for one in gguf_models(both)] == [("m-Q4_0.gguf",)]
    assert [one.files[0] for one in gguf_models(both[1:3])] == ["mtp-m-Q4_0.gguf", "eagle3-m-F16.gguf"]


def test_an_adapter_of_its_own() -> None:
    """Weights and configuration, which belong together."""
    there = ("README.md", "adapter_config.json", "adapter_model.safetensors", "tokenizer.json")
    assert adapter_folder(there) == ("adapter_model.safetensors", "adapter_config.json")
    assert adapter_folder(("adapter_model.safetensors",)) == ()
    assert is_of_peft("adapter_model.safetensors", there)
    assert is_of_peft("a/adapter_model.safetensors", ["a/adapter_config.json"])
    assert not is_of_peft("a/adapter_model.safetensors", there)
    assert not is_of_peft("lora.safetensors", there)


def test_checkpoints_are_whole_models() -> None:
    """Image models as one file; a pipeline's folders hold parts, and LoRAs are none."""
    there = (
        "sd_xl_base_1.0.safetensors",
        "sd_xl_offset_example-lora_1.0.safetensors",
        "unet/model.safetensors",
        "model-00001-of-00002.safetensors",
        "adapter_model.safetensors",
        "v1-5.ckpt",
    )
    assert checkpoints(there) == ["sd_xl_base_1.0.safetensors"]
