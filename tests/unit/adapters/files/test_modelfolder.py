"""Folders of safetensors: which files are the model, and what they say."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.files.modelfolder import (
    LARGEST_BESIDE,
    MOST_BESIDE,
    configuration,
    facts_of_folder,
    is_described,
    metadata_of_folder,
    template_in,
    weight_files,
)
from blazar.domain.errors import BadWeights, Malformed
from blazar.domain.kinds import Weights
from tests.support.safetensors_files import LLAMA, MLX, model_folder, safetensors


def index(*names: str) -> dict[str, Any]:
    return {"metadata": {}, "weight_map": {f"t{number}": name for number, name in enumerate(names)}}


def test_the_facts_of_a_folder(tmp_path: Path) -> None:
    """Weights first, then what is read beside them; everything absolute."""
    folder = model_folder(
        tmp_path / "Tiny-Llama", tokenizer_config__json={"chat_template": "{{ messages }}"}, README__md="hello"
    )
    facts = facts_of_folder(folder)
    assert [Path(file).name for file in facts.files] == [
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert facts.names == tuple(Path(file).name for file in facts.files)
    assert facts.sizes == tuple(Path(file).stat().st_size for file in facts.files)
    assert (facts.weights, facts.arch, facts.quant) == (Weights.SAFETENSORS, "llama", "BF16")
    assert (facts.ctx_train, facts.embedding_length, facts.template, facts.pooling) == (2048, 64, True, None)
    assert facts.parameters == 32 * 64 * 2 + 64 * 64 + 64 * 128
    assert (facts.folder, facts.stem) == (str(folder), "Tiny-Llama")


def test_the_kind_goes_by_names_and_configuration(tmp_path: Path) -> None:
    """A folder's own name counts, those above it do not: somebody's folder of experiments is called anything."""
    assert facts_of_folder(model_folder(tmp_path / "awq" / "plain")).weights is Weights.SAFETENSORS
    assert facts_of_folder(model_folder(tmp_path / "Foo-AWQ-INT4")).weights is Weights.QUANTIZED
    assert facts_of_folder(model_folder(tmp_path / "Foo-AWQ-mlx", MLX)).weights is Weights.MLX_QUANT
    modelopt = model_folder(tmp_path / "opt", hf_quant_config__json={"quantization": {"quant_algo": "FP8"}})
    assert facts_of_folder(modelopt).weights is Weights.QUANTIZED


def test_a_snapshot_of_the_hubs_cache_is_called_by_its_repository(tmp_path: Path) -> None:
    """Its own name is a commit; its files are links to blobs."""
    repository = tmp_path / "models--Org--Foo-GPTQ"
    blobs = model_folder(repository / "blobs")
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    for file in blobs.iterdir():
        (snapshot / file.name).symlink_to(os.path.relpath(file, snapshot))
    facts = facts_of_folder(snapshot)
    assert (facts.stem, facts.weights) == ("Foo-GPTQ", Weights.QUANTIZED)
    assert facts.folder == str(snapshot)


def test_the_same_content_has_the_same_fingerprint(tmp_path: Path) -> None:
    """Wherever it lies; another configuration or other weights have another."""
    one, same = (facts_of_folder(model_folder(tmp_path / name)).digest for name in ("a", "b"))
    assert one == same
    assert facts_of_folder(model_folder(tmp_path / "c", LLAMA | {"rope_theta": 7})).digest != one
    safetensors(tmp_path / "b" / "model.safetensors", noise=3)
    assert facts_of_folder(tmp_path / "b").digest != one


@pytest.mark.parametrize(
    ("files", "beside", "chosen"),
    [
        (["model.safetensors"], {}, ["model.safetensors"]),
        (["model.safetensors", "consolidated.safetensors"], {}, ["model.safetensors"]),
        (["weights.safetensors"], {}, ["weights.safetensors"]),
        (["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"], {}, None),
        (
            ["a.safetensors", "b.safetensors", "c.safetensors"],
            {"model.safetensors.index.json": index("b.safetensors", "a.safetensors")},
            ["a.safetensors", "b.safetensors"],
        ),
        (["a.safetensors", "b.safetensors"], {"x.safetensors.index.json": index("a.safetensors")}, ["a.safetensors"]),
    ],
)
def test_the_weight_files_that_belong_together(
    tmp_path: Path, files: list[str], beside: dict[str, Any], chosen: list[str] | None
) -> None:
    """As transformers choose: the whole, else what the index lists, else a set by name."""
    model_folder(tmp_path, files=files)
    for name, content in beside.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert weight_files(tmp_path) == (chosen or files)


@pytest.mark.parametrize(
    ("files", "listed", "why"),
    [
        (["m-00001-of-00003.safetensors"], None, r"missing m-00002-of-00003\.safetensors, m-00003"),
        (["m-00001-of-99999.safetensors"], None, "and 99990 more"),
        (["a.safetensors", "b.safetensors"], None, "nothing says which"),
        (["m-00001-of-00001.safetensors", "b.safetensors"], None, "nothing says which"),
        (["a.safetensors"], index("b.safetensors"), r"not there: b\.safetensors"),
        (["a.safetensors"], index("../a.safetensors"), "does not say which files"),
        (["a.safetensors"], index("/etc/a.safetensors"), "does not say which files"),
        (["a.safetensors"], index("..\\a.safetensors"), "does not say which files"),
        (["a.safetensors"], index("a.bin"), "does not say which files"),
        (["a.safetensors"], {"weight_map": {"t": 7}}, "does not say which files"),
        (["a.safetensors"], {"weight_map": ["a.safetensors"]}, "does not say which files"),
        (["a.safetensors"], {}, "does not say which files"),
        (["a.safetensors"], ["a.safetensors"], "no JSON object"),
    ],
)
def test_what_does_not_belong_together_is_refused(tmp_path: Path, files: list[str], listed: Any, why: str) -> None:
    """Missing shards, no choice, an index of a stranger that leads elsewhere."""
    model_folder(tmp_path, files=files)
    if listed is not None:
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps(listed))
    with pytest.raises(Malformed, match=why):
        weight_files(tmp_path)


def test_an_adapter_is_no_model(tmp_path: Path) -> None:
    """Also where somebody put a configuration beside it."""
    model_folder(tmp_path, files=["adapter_model.safetensors"], adapter_config__json={})
    with pytest.raises(Malformed, match="LoRA adapter"):
        weight_files(tmp_path)


def test_a_file_that_is_not_the_models_is_not_taken_for_it(tmp_path: Path) -> None:
    """Whoever names the duplicate is told which ones are meant."""
    model_folder(tmp_path, files=["model.safetensors", "consolidated.safetensors"])
    with pytest.raises(Malformed, match=r"name one of model\.safetensors"):
        facts_of_folder(tmp_path, "consolidated.safetensors")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("[]", "no JSON object"),
        ("{", "not JSON"),
        ('{"hidden_size": 64}', "names no architecture"),
        ('{"model_type": 7}', "names no architecture"),
        ("x" * (17 << 20), "larger than 16 MiB"),
    ],
)
def test_a_configuration_that_describes_nothing(tmp_path: Path, config: str, why: str) -> None:
    """Is a sentence that names it."""
    model_folder(tmp_path, config)
    with pytest.raises(BadWeights, match=why) as refused:
        configuration(tmp_path)
    assert "config.json" in str(refused.value)


def test_infinity_in_a_configuration_is_no_reason(tmp_path: Path) -> None:
    """Published ones hold it; a window of it is not known."""
    model_folder(
        tmp_path, '{"model_type": "mamba2", "time_step_limit": [0.0, Infinity], "max_position_embeddings": NaN}'
    )
    assert facts_of_folder(tmp_path).ctx_train == 0
    json.dumps(metadata_of_folder(tmp_path, "model.safetensors"), allow_nan=False)


def test_no_tensors_are_no_model(tmp_path: Path) -> None:
    """As of a GGUF."""
    model_folder(tmp_path)
    safetensors(tmp_path / "model.safetensors", {})
    with pytest.raises(BadWeights, match="holds no tensors"):
        facts_of_folder(tmp_path)


def test_what_is_read_beside_the_weights(tmp_path: Path) -> None:
    """Configuration, tokenizers, templates, a pooling module; no hidden file, no pipe, no other weights, no readme."""
    taken = {
        "merges.txt",
        "tokenizer.model",
        "tokenizer.model.v3",
        "chat_template.jinja",
        "special_tokens_map.json",
        "qwen.tiktoken",
    }
    left = {".hidden.json", "README.md", "model.py", "pytorch_model.bin", "old.json.bak", "consolidated.safetensors"}
    model_folder(tmp_path)
    for name in taken | left:
        (tmp_path / name).write_text("{}")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "params.json").write_text("{}")
    facts = facts_of_folder(tmp_path)
    assert set(facts.names) == taken | {"model.safetensors", "config.json", "tokenizer.json", "1_Pooling/config.json"}
    assert facts.pooling == 1


def test_odd_program_code_is_taken_along_only_where_the_configuration_asks_for_it(tmp_path: Path) -> None:
    """Taking it runs nothing, and an engine that may run it finds it nowhere else."""
    plain = model_folder(tmp_path / "plain", modeling_x__py="import os")
    asks = model_folder(
        tmp_path / "asks", LLAMA | {"auto_map": {"AutoModel": "modeling_x.X"}}, modeling_x__py="import os"
    )
    assert "modeling_x.py" not in facts_of_folder(plain).names
    assert "modeling_x.py" in facts_of_folder(asks).names


@pytest.mark.parametrize(
    "name", ["chat_template.jinja", "tokenizer_config.json", "config.json", "1_Pooling/config.json"]
)
def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path, name: str) -> None:
    """A stranger's folder may name a private file, which `show` would print: neither taken along, nor read where a row has it."""
    private = tmp_path / "private"
    private.write_text('{"model_type": "llama", "chat_template": "secret"}')
    folder = model_folder(tmp_path / "m")
    (folder / "1_Pooling").mkdir()
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(private)
    with pytest.raises(BadWeights, match="link to a file outside the model's folder") as refused:
        facts_of_folder(folder)
    assert name in str(refused.value)
    assert "secret" not in template_in(folder)


def test_links_that_stay_are_followed(tmp_path: Path) -> None:
    """Within the folder, also where that is reached by a link itself; and to the blobs of a hub's cache."""
    blobs = tmp_path / "models--Org--Foo" / "blobs"
    for part in (blobs, blobs.parent / "snapshots"):
        part.mkdir(parents=True)
    (blobs / "0123").write_text("{{ cached }}")
    folder = model_folder(tmp_path / "m", merges__txt="a b")
    (folder / "vocab.txt").symlink_to("merges.txt")
    (folder / "chat_template.jinja").symlink_to(blobs / "0123")
    (tmp_path / "way").symlink_to(folder)
    facts = facts_of_folder(tmp_path / "way")
    assert {"vocab.txt", "chat_template.jinja"} <= set(facts.names)
    assert template_in(folder) == "{{ cached }}"


def test_a_folder_of_data_is_not_taken_along(tmp_path: Path) -> None:
    """Neither thousands of files nor one that no tokenizer is as large as; weights of a module may be."""
    folder = model_folder(tmp_path / "m")
    with (folder / "log.txt").open("wb") as file:
        file.truncate(LARGEST_BESIDE + 1)
    with pytest.raises(BadWeights, match=r"log\.txt.* larger than 64 MiB"):
        facts_of_folder(folder)
    (folder / "log.txt").unlink()
    (folder / "2_Dense").mkdir()
    with (folder / "2_Dense" / "model.safetensors").open("wb") as file:
        file.truncate(LARGEST_BESIDE + 1)
    assert "2_Dense/model.safetensors" in facts_of_folder(folder).names
    for number in range(MOST_BESIDE):
        (folder / f"row{number}.json").write_text("{}")
    with pytest.raises(BadWeights, match="more than 256 files beside the weights"):
        facts_of_folder(folder)


@pytest.mark.parametrize(
    ("beside", "text"),
    [
        ({}, ""),
        ({"tokenizer_config__json": {"chat_template": "{{ a }}"}}, "{{ a }}"),
        ({"tokenizer_config__json": {"chat_template": "{{ a }}"}, "chat_template__jinja": "{{ b }}"}, "{{ b }}"),
        ({"chat_template__json": {"chat_template": "{{ c }}"}}, "{{ c }}"),
        (
            {
                "tokenizer_config__json": {
                    "chat_template": [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]
                }
            },
            "d",
        ),
        ({"tokenizer_config__json": {"chat_template": [7, {"name": "rag"}]}}, ""),
        ({"tokenizer_config__json": "[]"}, ""),
    ],
)
def test_the_chat_template(tmp_path: Path, beside: dict[str, Any], text: str) -> None:
    """A file of its own wins; what cannot be read is none."""
    assert template_in(model_folder(tmp_path, **beside)) == text


def test_metadata_have_the_keys_of_a_gguf(tmp_path: Path) -> None:
    """Which clients look for."""
    folder = model_folder(tmp_path, chat_template__jinja="{% if tools %}")
    safetensors(folder / "model.safetensors", metadata={"format": "mlx"})
    found = metadata_of_folder(folder, "model.safetensors")
    assert found["general.architecture"] == "llama"
    assert found["llama.context_length"] == 2048
    assert found["general.file_format"] == "mlx"
    assert found["tokenizer.chat_template"] == "{% if tools %}"


def test_only_a_language_models_configuration_describes_one(tmp_path: Path) -> None:
    """Not that of a diffusion model's part, and not its absence."""
    assert is_described(model_folder(tmp_path / "a"))
    assert not is_described(model_folder(tmp_path / "b", {"_class_name": "AutoencoderKL"}))
    assert not is_described(tmp_path)
