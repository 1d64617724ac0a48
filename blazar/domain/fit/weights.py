"""Where a model's tensors lie: by block, with the output, or with the host. Counts the tensor table; loads and places nothing.

Follows llama.cpp b11434: the input layer stays with the host, the output layer counts as the block after the last one, and the
first override whose pattern is found in a tensor's name decides its buffer (src/llama-model-loader.cpp, `create_tensor`).

What it leaves out, all of it small: the padding of each tensor to its buffer's alignment (32 bytes or so a tensor, a few hundred
KiB in 1000 tensors); copies of rope tables on each further device (some KiB); a tensor that a backend cannot compute with and
therefore leaves with the host. Repacking for the CPU replaces a tensor, it does not add one (a tied embedding apart). Per-layer
embeddings above 4 GiB, which the engine reads from the file row by row, are counted whole: the page cache holds what is used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape, Tensor

HOST_BUFFER = "CPU"
MOE_PRESET = "moe-cpu-offload"
"""The one value of `tensor_preset` besides "": every expert with the host, as the engine's `--cpu-moe` does."""

_IN, _OUT, _SKIP = -1, -2, -3
"""Where a tensor belongs that belongs to no block."""

_APART = {
    "token_embd": _IN,
    "position_embd": _IN,
    "token_types": _IN,
    "per_layer_token_embd": _IN,
    "masked_embd_centroids": _SKIP,
    "masked_embd_ordering": _SKIP,
}
"""Tensors of the input layer and those that are never used, by the first part of their names; what is not here and has no block
goes with the output (src/llama-arch.cpp, `LLM_TENSOR_LAYER_INPUT` and `GGML_OP_NONE`)."""

_FIRST_BLOCK = frozenset(
    {
        "token_embd_norm",
        "rope_freqs",
        "rope_factors_long",
        "rope_factors_short",
        "per_layer_model_proj",
        "per_layer_proj_norm",
        "hrm",
        "conv1d",
    }
)
"""Tensors without a block number that belong to the repeating layers: created with the first (same file, `…_REPEATING`)."""

_LAST_NORM = frozenset({"lfm2", "lfm2moe"})
"""Architectures whose `token_embd_norm` is really the output norm (same file, `LLM_TENSOR_OUTPUT_NORM_LFM2`)."""

_NEVER_TIED = frozenset(
    {
        "bert",
        "bitnet",
        "eagle3",
        "eurobert",
        "jina-bert-v2",
        "jina-bert-v3",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "wavtokenizer-dec",
    }
)
"""Architectures that may lack an output matrix and get no copy of the embedding for it (src/models, no `TENSOR_DUPLICATED`)."""

_REPACKED = frozenset(spelt for name in ("q4_0", "q4_k", "iq4_nl", "mxfp4", "q2_k") for spelt in (name, name.upper()))
"""Types that the CPU backend keeps in an order of its own for matrix products, where rows divide by 8 (ggml-cpu/repack.cpp, x86;
ARM has more of them, and copies a tied embedding of q8_0 or q6_k as well)."""

_PREDICTING = frozenset({"gemma4-assistant", "graniteswitch"})
"""Architectures whose blocks beyond the trunk are always loaded (src/models: no `TENSOR_SKIP`)."""

_EMBEDDING, _MATRIX = "token_embd.weight", "output.weight"
_STACKS = frozenset({"enc", "dec"})
_NUMBERED = frozenset({"blk", "convnext", "posnet"})

_EXPERTS = tuple(f"ffn_{part}_{chunk}exps" for part in ("up", "down", "gate", "gate_up") for chunk in ("", "ch"))
"""What `--n-cpu-moe` and `--cpu-moe` move (common/common.h, `LLM_FFN_EXPS_REGEX`)."""

_DENSE = ("ffn_up.", "ffn_down.", "ffn_gate.")
"""What `--n-cpu-ffn` moves (same file, `LLM_FFN_DENSE_REGEX`)."""


class BlockWeights(NamedTuple):
    """One block's bytes: those that go where the block goes, and those that stay with the host wherever it goes.

    `packed` and `packed_host` are the parts of them that the CPU backend would repack, lying with the host without a card.
    """

    block: int
    offloaded: int
    host: int
    packed: int = 0
    packed_host: int = 0


@dataclass(frozen=True, slots=True)
class Weights:
    """All of a model's tensors by place; bytes.

    `input` stays with the host (embeddings, and output tensors that an override sends there). `output` goes with the output
    layer. `copied` are a second copy of the token embedding, in place of an output matrix that the file does not have; `tied`
    of it (all or nothing) vanish where the output lies with the host too. `packed` is the output's part that the CPU backend
    would repack. `elsewhere` are tensors that an override nails to a
    device, by its buffers' name (`CUDA1`; a worker's are named `RPC0[host:port]`). `skipped` are in the file and not loaded.
    """

    input: int
    output: int
    blocks: tuple[BlockWeights, ...]
    elsewhere: tuple[tuple[str, int], ...] = ()
    tied: int = 0
    copied: int = 0
    skipped: int = 0
    packed: int = 0

    @property
    def total(self) -> int:
        """What is loaded, each tensor once: never more than the file."""
        moved = sum(size for _, size in self.elsewhere)
        return (
            self.input + self.output - self.copied + moved + sum(block.offloaded + block.host for block in self.blocks)
        )


_Decide = Callable[[str, int], str]


def weigh(shape: ModelShape, settings: Settings) -> Weights:
    """Every tensor of `shape` counted once, where `settings` have it lie; bytes.

    Blocks that only predict (the last `shape.nextn`) are skipped, as the engine does unless it speculates with them; a file
    that holds nothing else is such a draft, and is counted. The draft model and the projector are counted apart, from their
    own tables: `memory` of the draft's shape, `shape_from_projector`.

    Raises `Malformed` for an `override_tensor` pattern that cannot be read.
    """
    last = len(shape.blocks)
    places = _places(shape)
    loaded = last - shape.nextn
    if shape.arch in _PREDICTING or not any(0 <= place < loaded for place in places):
        loaded = last
    sums, host = [0] * (last + 3), [0] * (last + 3)  # the three last ones are _SKIP, _OUT and _IN
    packed, packed_host = [0] * (last + 3), [0] * (last + 3)
    elsewhere: dict[str, int] = {}
    decide = _decider(shape, settings)
    for tensor, belongs in zip(shape.tensors, places, strict=True):
        place = belongs if belongs < loaded else _SKIP
        buffer = decide(tensor.name, place) if decide and place != _SKIP else ""
        if not buffer:
            sums[place] += tensor.bytes
            packed[place] += tensor.bytes if _repacked(tensor) else 0
        elif buffer == HOST_BUFFER:
            host[place] += tensor.bytes
            packed_host[place] += tensor.bytes if _repacked(tensor) else 0
        else:
            elsewhere[buffer] = elsewhere.get(buffer, 0) + tensor.bytes
    copy = _copy(shape, decide(_EMBEDDING, _OUT) if decide else "")
    return Weights(
        input=sums[_IN] + host[_IN] + host[_OUT] + copy.input,
        output=sums[_OUT] + copy.output,
        blocks=tuple(
            BlockWeights(number, sums[number], host[number], packed[number], packed_host[number])
            for number in range(last)
        ),
        elsewhere=tuple(elsewhere.items()),
        tied=copy.tied,
        copied=copy.input + copy.output,
        skipped=sums[_SKIP],
        packed=packed[_OUT] + (copy.output - copy.tied),
    )


def lora_bytes(settings: Settings) -> int:
    """The adapters' bytes: each file is loaded whole, beside the weights it changes (src/llama-adapter.cpp)."""
    return sum(settings.lora_bytes)


def _places(shape: ModelShape) -> list[int]:
    """For each tensor the block it belongs to, or `_IN`, `_OUT`, `_SKIP`. A number beyond the blocks goes with the output."""
    numbers = {str(number): number for number in range(len(shape.blocks))}
    places = []
    for tensor in shape.tensors:
        first, _dot, rest = tensor.name.partition(".")
        if first in _STACKS and rest.startswith("blk."):
            first, rest = "blk", rest[4:]
        if first in _NUMBERED:
            places.append(numbers.get(rest.partition(".")[0], _OUT))
        elif first in _FIRST_BLOCK and numbers and not (first == "token_embd_norm" and shape.arch in _LAST_NORM):
            places.append(0)
        else:
            places.append(_APART.get(first, _OUT))
    return places


def _repacked(tensor: Tensor) -> bool:
    return tensor.type in _REPACKED and len(tensor.shape) > 1 and tensor.shape[1] % 8 == 0


class _Copy(NamedTuple):
    """The token embedding's second copy: what of it the host keeps, what goes with the output, what of that may vanish."""

    input: int = 0
    output: int = 0
    tied: int = 0


def _copy(shape: ModelShape, buffer: str) -> _Copy:
    """The copy that stands in for an output matrix the file does not have; `buffer` is where an override sends the embedding.

    Two tensors of one buffer type are one. With the host they are two all the same if the output is repacked for its kernels.
    """
    found = {tensor.name: tensor for tensor in shape.tensors if tensor.name in (_EMBEDDING, _MATRIX)}
    table = found.get(_EMBEDDING)
    if table is None or _MATRIX in found or shape.arch in _NEVER_TIED or buffer not in ("", HOST_BUFFER):
        return _Copy()
    repacked = _repacked(table)
    if buffer:
        return _Copy(input=table.bytes if repacked else 0)
    return _Copy(output=table.bytes, tied=0 if repacked else table.bytes)


def _decider(shape: ModelShape, settings: Settings) -> _Decide | None:
    """What an override says about a tensor by name and place: a buffer type, or "" for nothing. None: there is no override.

    In the order of the command line that is compiled from these settings, since the first match wins: blocks of experts, blocks
    of feed-forward, patterns, and the preset last, so that a pattern can except experts from it.
    """
    experts, dense = settings.cpu_moe_n, settings.cpu_ffn_n
    asked = settings.override_tensor
    names = (_EMBEDDING, *(tensor.name for tensor in shape.tensors)) if asked else ()
    sets = _found([pattern for pattern, _ in asked], names) if asked else ()
    patterns = [(named, buffer) for named, (_, buffer) in zip(sets, asked, strict=True)]
    rest = settings.tensor_preset == MOE_PRESET
    if not (experts > 0 or dense > 0 or patterns or rest):
        return None

    def decide(name: str, block: int) -> str:
        stem = name.partition(f"blk.{block}.")[2]
        if 0 <= block < experts and stem.startswith(_EXPERTS):
            return HOST_BUFFER
        if 0 <= block < dense and stem.startswith(_DENSE):
            return HOST_BUFFER
        for named, buffer in patterns:
            if name in named:
                return buffer
        return HOST_BUFFER if rest and stem.startswith(_EXPERTS) else ""

    return decide


def _found(patterns: Sequence[str], names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """For each pattern the names it is found in. Few loads have one, so that its reader is imported here."""
    from blazar.domain.fit.patterns import found

    return found(patterns, names)
