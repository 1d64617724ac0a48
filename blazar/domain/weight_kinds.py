"""What a folder of safetensors is, by its configuration and its names: plain, quantised, or MLX's own. Opens nothing.

Decides the kind of weights that routing asks for, and the facts that listings show. What no rule here knows is plain.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from blazar.domain.architectures import is_architecture
from blazar.domain.kinds import Weights

QUANTIZED_SAFETENSORS_TOKENS: Final = ("awq", "gptq", "fp8")
"""Contract: these words decide, never the label of the quantisation column, which calls AWQ 4-bit and FP8 by its base type."""

# Not \b: an underscore ends a word here, and letters of any script go on with it.
_TOKEN = re.compile(rf"(?<![^\W_])({'|'.join(QUANTIZED_SAFETENSORS_TOKENS)})(?![^\W_])", re.IGNORECASE)

LARGEST: Final = 2**31 - 1
"""Engines hold windows and widths in 32 bits, and the catalog must be able to store them."""
MOST_BITS: Final = 32
_METHODS: Final = ("quant_method", "quant_algo", "quant_type", "format")
_POOLING: Final = (("pooling_mode_mean_tokens", 1), ("pooling_mode_cls_token", 2), ("pooling_mode_lasttoken", 3))
"""What sentence-transformers write, and llama.cpp's numbers for it."""
_SCALING: Final = (".scales", ".qzeros", ".g_idx", "_scale", "_scale_inv", "_scale_2", "_scales")
"""Ends of the names of tensors that hold how others were quantised, and no parameters."""
_BESIDE: Final = (".scales", ".qzeros", "_scales")
"""Of those, the ones beside packed numbers."""
_MXFP4: Final = 4
_PACKED: Final = {"U32": 32, "I32": 32, "U8": 8}
"""Types that several quantised numbers lie in, with their bits."""


class Tensor(NamedTuple):
    """One row of a safetensors header; `shape` as the file has it."""

    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        count = 1
        for length in self.shape:
            count *= length
        return count


def quantized_by(texts: Iterable[str]) -> str:
    """The first token that stands in one of these texts as a word of its own, in lower case; "" where none does."""
    found = (_TOKEN.search(text) for text in texts)
    return next((match[1].lower() for match in found if match), "")


def methods_of(config: Mapping[str, Any]) -> list[str]:
    """What a configuration says of its quantising, as texts; `compressed-tensors` of 8-bit floats is FP8 by another name."""
    found: list[str] = []
    for part in _parts(config, "quantization_config"):
        found += [text for key in _METHODS if isinstance(text := part.get(key), str) and text]
        if any(_eight_bit_float(group) for group in _mappings(part.get("config_groups"))):
            found.append("fp8")
    return found


def is_mlx_quant(config: Mapping[str, Any]) -> bool:
    """Whether mlx-lm quantised it: `quantization` with a group and bits, and no method of anybody else.

    ODD: mlx-lm writes the same under `quantization_config`, so that only a `quant_method` there tells others' work from its own.
    """
    return any(
        _bits(part) and _count(part.get("group_size")) and not part.get("quant_method")
        for part in _parts(config, "quantization")
    )


def weights_of(config: Mapping[str, Any], names: Iterable[str]) -> Weights:
    """What routing goes by. `names` are those of the folder (or repository) and of its weight files.

    MLX is asked first: its folders look like quantised safetensors, and nothing but mlx-lm decodes them (contract).
    """
    if is_mlx_quant(config):
        return Weights.MLX_QUANT
    if quantized_by((*names, *methods_of(config))):
        return Weights.QUANTIZED
    return Weights.SAFETENSORS


def quant_label(config: Mapping[str, Any], names: Iterable[str], tensors: Iterable[Tensor]) -> str:
    """What listings show: `4bit` or a mode of MLX's, the method of others with its bits, else the type that most bytes are of."""
    if is_mlx_quant(config):
        part = next(part for part in _parts(config, "quantization") if _bits(part))
        mode = part.get("mode")
        return mode.upper()[:16] if isinstance(mode, str) and mode not in ("", "affine") else f"{_bits(part)}bit"
    methods = methods_of(config)
    method = quantized_by((*methods, *names)) or (methods[0] if methods else "")
    if method:
        bits = _bits_of(config, "quantization_config")
        plain = re.sub(r"[^A-Za-z0-9.-]+", "-", method).upper()[:24]
        return f"{plain}-{bits}bit" if bits and plain != "FP8" else plain
    sizes: dict[str, int] = {}
    for row in tensors:
        sizes[row.type] = sizes.get(row.type, 0) + row.bytes
    return max(sizes, key=lambda kind: sizes[kind]) if sizes else ""


def parameters_of(config: Mapping[str, Any], tensors: Iterable[Tensor]) -> int:
    """Numbers that were learnt: packed ones as many as they were, scales and zero points none."""
    rows = list(tensors)
    scaled = {row.name.removesuffix(end) for row in rows for end in _BESIDE if row.name.endswith(end)}
    default, own = _bits_of(config, "quantization") or _bits_of(config, "quantization_config"), _own_bits(config)
    total = 0
    for row in rows:
        module, blocks = row.name.rpartition(".")[0], row.name.removesuffix("_blocks")
        if row.name.endswith(_SCALING) or (row.name.endswith(".biases") and module in scaled):
            continue
        bits = own.get(module) or default or (_MXFP4 if blocks != row.name else 0)
        packed = _PACKED.get(row.type, 0) if {module, blocks} & scaled else 0
        total += row.elements * packed // bits if packed and bits else row.elements
    return min(total, 2**63 - 1)


def _own_bits(config: Mapping[str, Any]) -> dict[str, int]:
    """MLX's exceptions, by module."""
    parts = (part for whole in _parts(config, "quantization") for part in whole.items())
    return {key: _bits(part) for key, part in parts if isinstance(part, Mapping)}


class ConfigFacts(NamedTuple):
    """What a `config.json` says; 0 and "" where it does not."""

    arch: str
    ctx_train: int
    embedding_length: int


def facts_of_config(config: Mapping[str, Any]) -> ConfigFacts:
    """Window and width may lie in the text model's part. A value that is no sane number is not known."""
    info = info_of(config)
    arch = arch_of(config)
    return ConfigFacts(arch, info.get(f"{arch}.context_length", 0), info.get(f"{arch}.embedding_length", 0))


def arch_of(config: Mapping[str, Any]) -> str:
    """`model_type`, else the name of the class; "" where neither is a plain word."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not kind:
        classes = config.get("architectures")
        first = classes[0] if isinstance(classes, list) and classes else ""
        kind = re.sub(r"(For\w+|Model|LMHeadModel)$", "", first).lower() if isinstance(first, str) else ""
    return kind if is_architecture(kind.replace(".", "_")) else ""  # a few repositories number theirs


def info_of(config: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of a configuration by the keys that GGUF headers have for them."""
    from blazar.domain.fit.hfnames import KEYS  # the arithmetic's package: listing needs none of it

    arch, text = arch_of(config), _text(config)
    found: dict[str, int] = {}
    for key, spellings in KEYS:
        value = next((text[name] for name in spellings if text.get(name) is not None), None)
        if _count(value):
            found[f"{arch}.{key}"] = int(value)
    if isinstance(vision := config.get("vision_config"), Mapping):
        depth = next((vision[name] for name in ("num_hidden_layers", "depth") if _count(vision.get(name))), 0)
        found[f"{arch}.vision.block_count"] = depth
    return found


def pooling_of(module: Mapping[str, Any]) -> int | None:
    """llama.cpp's number for what a pooling module's configuration says; None where it says nothing."""
    return next((number for key, number in _POOLING if module.get(key) is True), None)


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("text_config", "language_config", "llm_config", "thinker_config"):
        part = config.get(name)
        if isinstance(part, Mapping):
            return {**config, **part}
    return config


def _parts(config: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The mapping under a key, at the top and in the text model's part."""
    return [
        part
        for where in (config, config.get("text_config"))
        if isinstance(where, Mapping)
        for part in _mapping(where.get(key))
    ]


def _mapping(value: Any) -> list[Mapping[str, Any]]:
    return [value] if isinstance(value, Mapping) else []


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value.values() if isinstance(one, Mapping)] if isinstance(value, Mapping) else []


def _eight_bit_float(group: Mapping[str, Any]) -> bool:
    weights = group.get("weights")
    return isinstance(weights, Mapping) and weights.get("type") == "float" and weights.get("num_bits") == 8


def _bits_of(config: Mapping[str, Any], key: str) -> int:
    return next((bits for part in _parts(config, key) if (bits := _bits(part))), 0)


def _bits(part: Mapping[str, Any]) -> int:
    for key in ("bits", "w_bit"):
        value = part.get(key)
        if _count(value) and value <= MOST_BITS:
            return int(value)
    return 0


def _count(value: Any) -> TypeGuard[int]:
    """A plain positive number; Python counts truth values as numbers, engines do not."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST
