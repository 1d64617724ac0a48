"""Writes safetensors files and folders of models byte by byte, right ones and wrong ones, with nothing but the standard library."""

import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

SIZES = {"F32": 4, "F16": 2, "BF16": 2, "U32": 4, "I32": 4, "U8": 1, "F8_E4M3": 1}

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 32,
    "max_position_embeddings": 2048,
}
"""A config.json as transformers write it."""

MLX: dict[str, Any] = LLAMA | {
    "quantization": {"group_size": 64, "bits": 4},
    "quantization_config": {"group_size": 64, "bits": 4},
}

BODY: dict[str, tuple[str, Sequence[int]]] = {
    "model.embed_tokens.weight": ("BF16", (32, 64)),
    "model.layers.0.self_attn.q_proj.weight": ("BF16", (64, 64)),
    "model.layers.0.mlp.down_proj.weight": ("BF16", (64, 128)),
    "lm_head.weight": ("BF16", (32, 64)),
}
"""Tensors of such a model: type and shape."""

OVIS: dict[str, tuple[str, Sequence[int]]] = {
    "double_blocks.0.img_mlp.gate_proj.weight": ("F16", (4, 4)),
    "img_in.weight": ("F16", (4, 4)),
}
TAE: dict[str, tuple[str, Sequence[int]]] = {"decoder.layers.2.conv.0.weight": ("F16", (2, 2, 3, 3))}
VAE: dict[str, tuple[str, Sequence[int]]] = {"decoder.conv_in.weight": ("F16", (2, 2, 3, 3))}
QWEN: dict[str, tuple[str, Sequence[int]]] = {"model.layers.0.self_attn.q_proj.weight": ("F16", (8, 4))}
CHECKPOINT: dict[str, tuple[str, Sequence[int]]] = {
    "model.diffusion_model.input_blocks.0.0.weight": ("F16", (4, 4, 3, 3)),
    "model.diffusion_model.output_blocks.0.0.weight": ("F16", (4, 4, 3, 3)),
    "first_stage_model.decoder.conv_in.weight": ("F16", (2, 2, 3, 3)),
    "cond_stage_model.transformer.text_model.embeddings.token_embedding.weight": ("F16", (4, 768)),
}


def header_of(
    tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The header's own mapping, tensors one behind the other."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, (kind, shape) in tensors.items():
        end = at + prod(shape) * SIZES[kind]
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    return header


def packed(header: Any, *, data: int | None = None, length: int | None = None, noise: int = 0) -> bytes:
    """A file. `header` may be bytes already; `data` replaces the number of bytes behind it, `length` what it claims to be long."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    if data is None:
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        data = max(ends, default=0)
    return struct.pack("<Q", len(raw) if length is None else length) + raw + bytes([noise]) * data


def safetensors(
    path: Path,
    tensors: Mapping[str, tuple[str, Sequence[int]]] | None = None,
    metadata: Mapping[str, str] | None = None,
    noise: int = 0,
) -> Path:
    """A right one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(header_of(BODY if tensors is None else tensors, metadata), noise=noise))
    return path


def model_folder(
    folder: Path, config: Any = None, files: Sequence[str] = ("model.safetensors",), **beside: Any
) -> Path:
    """A folder with config.json, tokenizer.json and weight files; `beside` are further files by name (`__` is a dot)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config or LLAMA))
    (folder / "tokenizer.json").write_text("{}")
    for number, name in enumerate(files):
        rows = BODY if len(files) == 1 else {f"{key}.{number}": row for key, row in BODY.items()}
        safetensors(folder / name, rows, noise=number)
    for name, content in beside.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def torch_zip(path: Path, names: Sequence[str]) -> Path:
    """A checkpoint of PyTorch as far as anybody here reads it: an archive whose pickle mentions its tensors."""
    pickle = (
        b"\x80\x02}" + b"".join(b"X" + struct.pack("<I", len(name)) + name.encode() + b"q\x01" for name in names) + b"."
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/data/0", bytes(64))
    return path
