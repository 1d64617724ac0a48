"""What lies at a path."""

import os
from pathlib import Path

import pytest

from blazar.adapters.files.inspection import inspect, metadata_of, shape_of
from blazar.domain.errors import BadModelFile, BadShape, BlazarError, Malformed, NotFound
from blazar.domain.kinds import Weights
from tests.support.gguf_files import Gguf, Row, tiny
from tests.support.safetensors_files import CHECKPOINT, MLX, OVIS, QWEN, TAE, VAE, model_folder, safetensors, torch_zip


def test_each_kind_is_told_by_what_lies_there(tmp_path: Path) -> None:
    """A file, a folder, a file inside of one."""
    folder = model_folder(tmp_path / "plain")
    kinds = {
        str(tiny().save(tmp_path / "m.gguf")): Weights.GGUF,
        str(folder): Weights.SAFETENSORS,
        str(folder / "model.safetensors"): Weights.SAFETENSORS,
        str(model_folder(tmp_path / "mlx", MLX)): Weights.MLX_QUANT,
        str(model_folder(tmp_path / "x-gptq")): Weights.QUANTIZED,
        str(safetensors(tmp_path / "sd" / "sd.safetensors", CHECKPOINT)): Weights.DIFFUSION,
        str(tmp_path / "sd"): Weights.DIFFUSION,
        str(torch_zip(tmp_path / "sd.ckpt", list(CHECKPOINT))): Weights.DIFFUSION,
        str(
            Gguf([("general.architecture", "sd1")], [Row(name, (4, 4)) for name in CHECKPOINT]).save(
                tmp_path / "s" / "s.gguf"
            )
        ): Weights.DIFFUSION,
    }
    assert {path: inspect(path).weights for path in kinds} == kinds


def test_a_gguf_file_wins_in_a_folder_that_holds_both(tmp_path: Path) -> None:
    """Who wants the safetensors names one of them."""
    folder = model_folder(tmp_path / "both")
    tiny().save(folder / "m.gguf")
    assert inspect(str(folder)).weights is Weights.GGUF
    assert inspect(str(folder / "model.safetensors")).weights is Weights.SAFETENSORS


def test_a_component_set_of_ggufs_and_others(tmp_path: Path) -> None:
    """Several GGUF files are one model where one of them draws and the others are its parts."""
    Gguf([("general.architecture", "qwen_image")], [Row("transformer_blocks.0.img_mod.1.weight", (4, 4))]).save(
        tmp_path / "dit.gguf"
    )
    Gguf([("general.architecture", "qwen2vl")], [Row("blk.0.attn_q.weight", (4, 4))]).save(tmp_path / "encoder.gguf")
    safetensors(tmp_path / "vae.safetensors", VAE)
    facts = inspect(str(tmp_path))
    assert [role for role, _ in facts.components] == ["diffusion_model", "vae", "llm"]
    tiny().save(tmp_path / "chat.gguf")
    with pytest.raises(Malformed, match=r"not clear: chat\.gguf, encoder\.gguf"):
        inspect(str(tmp_path))


def test_several_language_models_are_asked_about_as_before(tmp_path: Path) -> None:
    """Also where one of them cannot be read."""
    tiny().save(tmp_path / "a.gguf")
    (tmp_path / "b.gguf").write_bytes(b"GGUF")
    with pytest.raises(Malformed, match="more than one model"):
        inspect(str(tmp_path))


def test_parts_make_a_set(tmp_path: Path) -> None:
    """Of a file that would not draw alone."""
    main = safetensors(tmp_path / "m" / "ovis.safetensors", OVIS)
    tae, llm = safetensors(tmp_path / "t.safetensors", TAE), safetensors(tmp_path / "q.safetensors", QWEN)
    with pytest.raises(Malformed, match="lacks vae or tae, llm"):
        inspect(str(main))
    facts = inspect(str(main), [("tae", str(tae)), ("llm", str(llm))])
    assert dict(facts.components)["tae"] == str(tae)


@pytest.mark.parametrize(
    ("beside", "why"),
    [
        (["model_index.json"], "in parts of folders"),
        (["adapter_config.json", "adapter_model.safetensors"], "LoRA adapter"),
        (["model.safetensors"], "nothing describes"),
        (["README.md"], r"no \.gguf file, and no config\.json"),
        ([], r"no \.gguf file, and no config\.json"),
    ],
)
def test_a_folder_that_is_no_model(tmp_path: Path, beside: list[str], why: str) -> None:
    """Each says what it is instead."""
    for name in beside:
        if name.endswith(".safetensors"):
            safetensors(tmp_path / name)
        else:
            (tmp_path / name).write_text("{}")
    with pytest.raises(Malformed, match=why):
        inspect(str(tmp_path))


def test_a_lone_file_of_safetensors(tmp_path: Path) -> None:
    """A part says which part it is; a language model needs its configuration."""
    with pytest.raises(Malformed, match="--with tae="):
        inspect(str(safetensors(tmp_path / "tae.safetensors", TAE)))
    with pytest.raises(Malformed, match="nothing describes"):
        inspect(str(safetensors(tmp_path / "m.safetensors")))
    with pytest.raises(BadModelFile, match="no diffusion checkpoint"):
        inspect(str(torch_zip(tmp_path / "m.pt", ["model.layers.0.weight"])))


def test_a_file_that_describes_a_model_is_not_the_model(tmp_path: Path) -> None:
    """Whoever names one of a folder's JSON files is told to name the folder."""
    folder = model_folder(tmp_path / "m")
    for name in ("config.json", "tokenizer.json"):
        (folder / name).touch()
        with pytest.raises(Malformed, match=f"name the folder that holds them, blazar import {folder}"):
            inspect(str(folder / name))
    (tmp_path / "else.json").write_text("{}")
    with pytest.raises(BadModelFile):
        inspect(str(tmp_path / "else.json"))


def test_what_is_not_there(tmp_path: Path) -> None:
    """Is said so, whatever its suffix; a dangling link too."""
    (tmp_path / "dangling.safetensors").symlink_to(tmp_path / "nowhere")
    for name in ("m.gguf", "m.safetensors", "m.ckpt", "dangling.safetensors"):
        with pytest.raises(NotFound, match="no file at"):
            inspect(str(tmp_path / name))


def test_hostile_folders_end_in_sentences(tmp_path: Path) -> None:
    """Pipes in the place of weights and configuration, a folder called like a file, links in a circle."""
    for name in ("model.safetensors", "config.json"):
        folder = model_folder(tmp_path / f"pipe-{name}")
        (folder / name).unlink()
        os.mkfifo(folder / name)
    folder = model_folder(tmp_path / "folder")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    loop = model_folder(tmp_path / "loop")
    (loop / "model.safetensors").unlink()
    (loop / "model.safetensors").symlink_to(loop / "model.safetensors")
    for one in tmp_path.iterdir():
        with pytest.raises(BlazarError):
            inspect(str(one))


def test_metadata_of_each_kind(tmp_path: Path) -> None:
    """By the first file."""
    folder = model_folder(tmp_path / "m")
    assert metadata_of(str(folder / "model.safetensors"))["llama.block_count"] == 1
    drawing = safetensors(tmp_path / "sd.safetensors", CHECKPOINT)
    assert metadata_of(str(drawing))["general.architecture"] == "sd1"
    assert metadata_of(str(tiny().save(tmp_path / "m.gguf")))["general.architecture"] == "llama"


def test_a_shape_is_counted_where_it_can_be(tmp_path: Path) -> None:
    """Of a language model in a folder; a checkpoint that draws has none."""
    facts = inspect(str(model_folder(tmp_path / "m")))
    shape = shape_of(facts.files)
    assert len(shape.blocks) == 1
    assert sum(row.bytes for row in shape.tensors) == (32 * 64 * 2 + 64 * 64 + 64 * 128) * 2
    drawing = safetensors(tmp_path / "sd" / "sd.safetensors", CHECKPOINT)
    with pytest.raises((BadShape, NotFound)):
        shape_of((str(drawing),))
