"""A GGUF header → `ModelShape`. Decides which architecture's facts apply; counts no byte.

Metadata and tables come from strangers: whatever is wrong with them is a `BadShape`, and work is bounded by the engine's own
limits (512 blocks, 1024 experts) before anything of a claimed size is made.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from blazar.domain.errors import BadShape
from blazar.domain.fit.blocks import stack
from blazar.domain.fit.conventions import facts_for
from blazar.domain.fit.keys import Keys
from blazar.domain.fit.layout import kept, loops
from blazar.domain.fit.shape import ModelShape, Tensor

MOST_DIMENSIONS = 4
"""GGML_MAX_DIMS (ggml.h)."""

MOST_TENSORS = 1_000_000
"""Far beyond any model's; what is longer is no table."""

_LARGEST = 2**63 - 1  # sizes are signed in the engine
_QUOTED = 80


def shape_from_gguf(metadata: Mapping[str, Any], tensors: Iterable[Any]) -> ModelShape:
    """What a load of this file will cost, as facts.

    `metadata` is the GGUF key-value mapping (`general.architecture`, `<arch>.block_count`, …; arrays may be tuples, lists, or
    absent). `tensors` are rows of name, shape in ggml's order, type and bytes: sequences, mappings with those keys, or objects
    with those attributes (`size` for `bytes`). Rows of all shards belong in one table. Without rows, weights count 0 bytes.

    Raises BadShape for metadata or rows that describe no model.
    """
    if not isinstance(metadata, Mapping):
        raise BadShape("metadata", "it is no mapping")
    arch = metadata.get("general.architecture")
    if not isinstance(arch, str) or not arch:
        raise BadShape("general.architecture", "it is missing or no text")
    if not all(isinstance(key, str) for key in metadata):
        raise BadShape("metadata", "a key is no text")
    return build(Keys(metadata, arch), rows(tensors), metadata.get("tokenizer.ggml.tokens"))


def build(keys: Keys, tensors: tuple[Tensor, ...], tokens: Any = None) -> ModelShape:
    """The shape of a model whose keys are the engine's own. `tokens` is the vocabulary, where a reader kept it."""
    table = {row.name: row for row in tensors}
    facts, known = facts_for(keys)
    found = stack(facts, keys, table)
    holds = kept(facts, keys, found)
    return ModelShape(
        arch=keys.arch,
        known=known,
        trained_ctx=keys.number("context_length"),
        embedding=found.embedding,
        vocabulary=_vocabulary(keys, table, tokens),
        blocks=found.blocks,
        nextn=len(found.blocks) - found.trunk,
        loops=loops(keys, len(found.blocks)),
        experts=found.experts,
        window=found.window,
        mla=found.mla,
        causal=facts.causal and keys.flag("attention.causal", True),
        caches=holds.caches,
        recurrent=holds.recurrent,
        tensors=tensors,
        keys=MappingProxyType(keys.values),
    )


def _vocabulary(keys: Keys, table: Mapping[str, Tensor], tokens: Any) -> int:
    """Rows of the output matrix, which may be padded beyond the tokenizer's texts."""
    for name in ("output.weight", "token_embd.weight"):
        row = table.get(name)
        if row is not None and len(row.shape) == 2:
            return row.shape[1]
    if keys.has("vocab_size"):
        return keys.number("vocab_size")
    return len(tokens) if isinstance(tokens, Sequence) and not isinstance(tokens, str) else 0


def rows(tensors: Iterable[Any], dimensions: int = MOST_DIMENSIONS) -> tuple[Tensor, ...]:
    """A table of strangers' making, checked: names and types are texts, shapes and sizes whole numbers."""
    if isinstance(tensors, str | bytes | Mapping) or not isinstance(tensors, Iterable):
        raise BadShape("tensors", "it is no table")
    table = tuple(_row(row, dimensions) for row in islice(tensors, MOST_TENSORS + 1))
    if len(table) > MOST_TENSORS:
        raise BadShape("tensors", f"there are more than {MOST_TENSORS}")
    return table


def _row(row: Any, dimensions: int) -> Tensor:
    name, shape, kind, size = _fields(row)
    if not isinstance(name, str):
        raise BadShape("tensors", "a name is no text")
    where = f"tensor {name}"[:_QUOTED]
    if not isinstance(shape, Sequence) or isinstance(shape, str | bytes) or len(shape) > dimensions:
        raise BadShape(where, f"its shape is no list of up to {dimensions} numbers")
    if not all(_whole(length) for length in (*shape, size)):
        raise BadShape(where, "a size is no whole number from 0 to 2^63 - 1")
    if not isinstance(kind, str):
        raise BadShape(where, "its type is no text")
    return Tensor(name, tuple(shape), kind, size)


def _fields(row: Any) -> tuple[Any, Any, Any, Any]:
    if isinstance(row, Tensor):
        return row
    if isinstance(row, Mapping):
        return row.get("name"), row.get("shape"), row.get("type"), row.get("bytes", row.get("size"))
    if hasattr(row, "name") and hasattr(row, "shape"):
        return row.name, row.shape, getattr(row, "type", None), getattr(row, "bytes", getattr(row, "size", None))
    if isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) == 4:
        return row[0], row[1], row[2], row[3]
    raise BadShape("tensors", "a row is not name, shape, type and bytes")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
