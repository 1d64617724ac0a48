"""`config.json` and safetensors headers → `ModelShape`: translated into the engine's keys and table, then read as a GGUF's.

Decides only what a name means (`hfnames`). Serves plans for engines that read these files themselves (SGLang, mistral.rs).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from blazar.domain.errors import BadShape
from blazar.domain.fit.blocks import MOST_BLOCKS
from blazar.domain.fit.gguf import build, rows
from blazar.domain.fit.hfnames import ARCHITECTURES, DEFAULTS, EXPERT_PARTS, KEYS, STATEFUL, WINDOWED
from blazar.domain.fit.keys import Keys
from blazar.domain.fit.shape import ModelShape, Tensor

_BLOCK = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d{1,8})\.(.+)$")
_EXPERT = re.compile(r"(?:^|\.)experts\.(?:(\d{1,8})\.)?(\w+?)(?:_blocks|_scales|_bias)?(?:\.\w+)?$")
_TOWERS = ("vision", "visual", "audio", "multi_modal_projector", "mm_projector", "speech", "image_newline")
_EMBEDDINGS = (
    "embed_tokens.weight",
    "wte.weight",
    "embed_in.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
)
_OUTPUTS = ("lm_head.weight", "embed_out.weight")
_MOST_DIMENSIONS = 8  # convolutions of vision towers have five


def shape_from_safetensors(config: Mapping[str, Any], tensors: Iterable[Any]) -> ModelShape:
    """What a load of this repository will cost, as facts.

    `config` is the parsed `config.json` (a text model's keys may lie in `text_config`). `tensors` are rows of name, shape in
    the file's order (rows first), dtype and bytes, from all shards; or a header's own mapping of name to `dtype`, `shape` and
    `data_offsets`.

    Raises BadShape for a configuration or rows that describe no model.
    """
    if not isinstance(config, Mapping):
        raise BadShape("config.json", "it is no mapping")
    text = _text(config)
    kind = _kind(config, text)
    arch = ARCHITECTURES.get(kind, kind)
    values = {f"{arch}.{key}": value for key, value in _values(kind, {**_defaults(kind), **text}).items()}
    return build(Keys(values, arch), _table(_header(tensors)))


def _text(config: Mapping[str, Any]) -> dict[str, Any]:
    """The language model's part, over the whole's."""
    for name in ("text_config", "language_config", "llm_config", "thinker_config"):
        part = config.get(name)
        if isinstance(part, Mapping):
            return {**config, **_text(part)}
    return {key: value for key, value in config.items() if isinstance(key, str)}


def _kind(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    kind = text.get("model_type") or config.get("model_type")
    if isinstance(kind, str) and kind:
        return kind
    classes = config.get("architectures")
    if isinstance(classes, list | tuple) and classes and isinstance(classes[0], str):
        return re.sub(r"(For\w+|Model|LMHeadModel)$", "", classes[0]).lower()
    raise BadShape("model_type", "it is missing or no text")


def _defaults(kind: str) -> Mapping[str, Any]:
    return DEFAULTS.get(kind) or DEFAULTS.get(f"{kind}_text") or {}


def _values(kind: str, text: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, names in KEYS:
        for name in names:
            if text.get(name) is not None:
                found[key] = text[name]
                break
    keys = Keys({f"{kind}.{key}": value for key, value in found.items()}, kind)
    count = keys.needed("block_count")
    if count > MOST_BLOCKS:
        raise BadShape("num_hidden_layers", f"it is {count}, more than {MOST_BLOCKS}")
    nextn = keys.number("nextn_predict_layers")
    if nextn + count > MOST_BLOCKS:
        raise BadShape("num_nextn_predict_layers", f"it is {nextn}")
    found["block_count"] = count + nextn
    if text.get("head_dim") is not None:
        found["attention.key_length"] = found["attention.value_length"] = text["head_dim"]
    if text.get("multi_query") is True and "attention.head_count_kv" not in found:
        found["attention.head_count_kv"] = 1
    _latent(keys, text, found)
    _states(text, found)
    _layers(text, found, count, nextn)
    return found


def _latent(keys: Keys, text: Mapping[str, Any], found: dict[str, Any]) -> None:
    """Multi-head latent attention: one row of latent and rotary elements a cell, values read from it (conversion/deepseek.py)."""
    rank = keys.number("attention.kv_lora_rank")
    widths = {name: text.get(name) for name in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")}
    if not rank or None in widths.values():
        return
    sizes = Keys({f"config.{name}": width for name, width in widths.items()}, "config")
    rope, nope, value = (sizes.number(name) for name in widths)
    found["attention.head_count_kv"] = 1
    found["attention.key_length"], found["attention.value_length"] = rank + rope, rank
    found["attention.key_length_mla"], found["attention.value_length_mla"] = nope + rope, value
    found["rope.dimension_count"] = rope


def _states(text: Mapping[str, Any], found: dict[str, Any]) -> None:
    """A scan's inner width, where the configuration names its factors."""
    if "ssm.inner_size" in found:
        return
    for left, right in (
        ("linear_num_value_heads", "linear_value_head_dim"),
        ("mamba_n_heads", "mamba_d_head"),
        ("mamba_num_heads", "mamba_head_dim"),
        ("mamba_expand", "hidden_size"),
        ("expand", "hidden_size"),
    ):
        if text.get(left) is not None and text.get(right) is not None and "ssm.state_size" in found:
            sizes = Keys({"config.left": text[left], "config.right": text[right]}, "config")
            found["ssm.inner_size"] = sizes.number("left") * sizes.number("right")
            return


def _layers(text: Mapping[str, Any], found: dict[str, Any], count: int, nextn: int) -> None:
    """What each block is, where the configuration lists it; predicting blocks are full attention."""
    types = _listed(text, count)
    if text.get("use_sliding_window") is False or found.get("attention.sliding_window") == -1:
        found["attention.sliding_window"] = 0
    if types is None:
        pattern = text.get("sliding_window_pattern", text.get("_sliding_window_pattern"))
        if pattern is not None:
            found["attention.sliding_window_pattern"] = pattern
        return
    if WINDOWED.intersection(types):
        found["attention.sliding_window_pattern"] = [kind in WINDOWED for kind in types] + [False] * nextn
        if text.get("attention_chunk_size") is not None:
            found["attention.sliding_window"] = text["attention_chunk_size"]
    else:
        found["attention.sliding_window"] = 0
    if STATEFUL.intersection(types):
        found["attention.recurrent_layers"] = [kind in STATEFUL for kind in types] + [False] * nextn
        heads = found.get("attention.head_count_kv", found.get("attention.head_count", 0))
        if isinstance(heads, int):
            found["attention.head_count_kv"] = [0 if kind in STATEFUL else heads for kind in types] + [heads] * nextn


def _listed(text: Mapping[str, Any], count: int) -> list[str] | None:
    types = text.get("layer_types", text.get("layers_block_type"))
    if types is None:
        return _periodic(text, count)
    if not isinstance(types, list | tuple) or len(types) != count or not all(isinstance(one, str) for one in types):
        raise BadShape("layer_types", f"it is no list of {count} texts")
    return list(types)


def _periodic(text: Mapping[str, Any], count: int) -> list[str] | None:
    """Jamba's way: attention in every `attn_layer_period`-th block, from `attn_layer_offset` on."""
    if text.get("attn_layer_period") is None:
        return None
    sizes = Keys(
        {f"config.{key}": text[key] for key in ("attn_layer_period", "attn_layer_offset") if key in text}, "config"
    )
    period, offset = sizes.needed("attn_layer_period"), sizes.number("attn_layer_offset")
    return ["attention" if number % period == offset else "mamba" for number in range(count)]


def _header(tensors: Iterable[Any]) -> Iterable[Any]:
    """Rows, from a header's own mapping too."""
    if not isinstance(tensors, Mapping):
        return tensors
    return [_entry(name, entry) for name, entry in tensors.items() if name != "__metadata__"]


def _entry(name: Any, entry: Any) -> tuple[Any, Any, Any, Any]:
    where = f"tensor {name}"[:80]
    if not isinstance(entry, Mapping):
        raise BadShape(where, "its entry is no mapping")
    offsets = entry.get("data_offsets")
    if not isinstance(offsets, list | tuple) or len(offsets) != 2 or not all(type(end) is int for end in offsets):
        raise BadShape(where, "its data_offsets are not two numbers")
    return name, entry.get("shape"), entry.get("dtype"), offsets[1] - offsets[0]


def _table(tensors: Iterable[Any]) -> tuple[Tensor, ...]:
    """The engine's names and order of dimensions; the experts of a block in one row, as it stores them."""
    table: dict[str, Tensor] = {}
    for row in rows(tensors, dimensions=_MOST_DIMENSIONS):
        name, shape = _named(row)
        known = table.get(name)
        if known is None:
            table[name] = Tensor(name, shape, row.type, row.bytes)
        else:
            table[name] = known._replace(bytes=known.bytes + row.bytes)
    return tuple(table.values())


def _named(row: Tensor) -> tuple[str, tuple[int, ...]]:
    shape = row.shape[::-1]
    if row.name.startswith(_TOWERS) or any(f".{tower}" in row.name for tower in _TOWERS):
        return row.name, shape
    if row.name.endswith(_EMBEDDINGS):
        return "token_embd.weight", shape
    if row.name.endswith(_OUTPUTS):
        return "output.weight", shape
    block = _BLOCK.search(row.name)
    if block is None:
        return row.name, shape
    number, rest = int(block[1]), block[2]
    expert = _EXPERT.search(rest)
    if expert is None or expert[2] not in EXPERT_PARTS:
        return f"blk.{number}.{rest}", shape
    part = EXPERT_PARTS[expert[2]]
    # Stored all together, a down matrix has the expert's width in the middle; stored one by one, as its row length.
    if expert[1] is None and part == "down" and len(shape) == 3:
        shape = (shape[1], shape[0], shape[2])
    return f"blk.{number}.ffn_{part}_exps.weight", shape
