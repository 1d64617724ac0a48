"""Writes GGUF files byte by byte, right ones and wrong ones, with nothing but the standard library.

`Gguf` describes a file; every count, length and number can be made to lie. `tiny()` is a model that our reader accepts
(no engine would: the blocks hold one tensor each); `save_shards` spreads tensors over a set.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"}

SIZES = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144)}
"""Elements and bytes of a block, of the few types that tests write."""


@dataclass(frozen=True)
class Value:
    """A typed value; `raw` replaces its bytes, `count` an array's length."""

    kind: int
    value: Any = None
    of: int = U32
    count: int | None = None
    raw: bytes | None = None

    def encode(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.kind != ARRAY:
            return scalar(self.kind, self.value)
        count = len(self.value) if self.count is None else self.count
        return struct.pack("<IQ", self.of, count) + b"".join(scalar(self.of, one) for one in self.value)


def scalar(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return text(value)
    return struct.pack("<" + _FORMATS[kind], value)


def text(value: str | bytes, length: int | None = None) -> bytes:
    """A string with its length, or with another one."""
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw) if length is None else length) + raw


@dataclass(frozen=True)
class Row:
    """One tensor. `offset` and `dims` replace what would be right; `size` is how many bytes of data are written."""

    name: str | bytes
    shape: Sequence[int] = (64,)
    kind: int = 0
    offset: int | None = None
    dims: int | None = None
    size: int | None = None

    @property
    def bytes(self) -> int:
        if self.size is not None:
            return self.size
        block, size = SIZES.get(self.kind, (1, 4))
        elements = 1
        for dim in self.shape:
            elements *= dim
        return elements // block * size


def of(value: Any) -> Value:
    """The usual GGUF type of a Python value."""
    if isinstance(value, Value):
        return value
    if isinstance(value, bool):
        return Value(BOOL, value)
    if isinstance(value, int):
        return Value(U32, value)
    if isinstance(value, float):
        return Value(F32, value)
    if isinstance(value, str):
        return Value(STRING, value)
    kinds = {bool: BOOL, int: I32, float: F32, str: STRING}
    return Value(ARRAY, list(value), kinds[type(value[0])])


@dataclass(frozen=True)
class Gguf:
    """A file. `pairs` may repeat keys; the counts may lie; `cut` shortens the bytes."""

    pairs: Sequence[tuple[str | bytes, Any]] = ()
    rows: Sequence[Row] = ()
    magic: bytes = b"GGUF"
    version: int = 3
    tensor_count: int | None = None
    pair_count: int | None = None
    alignment: int = 32
    cut: int | None = None
    tail: bytes = b""
    noise: int = field(default=0)  # makes the weights of two files differ

    def build(self) -> bytes:
        tensors = len(self.rows) if self.tensor_count is None else self.tensor_count
        pairs = len(self.pairs) if self.pair_count is None else self.pair_count
        out = bytearray(self.magic + struct.pack("<IQQ", self.version, tensors, pairs))
        for key, value in self.pairs:
            typed = of(value)
            out += text(key) + struct.pack("<I", typed.kind) + typed.encode()
        data = bytearray()
        for row in self.rows:
            out += text(row.name) + struct.pack("<I", len(row.shape) if row.dims is None else row.dims)
            out += b"".join(struct.pack("<Q", dim) for dim in row.shape)
            data += bytes(-len(data) % self.alignment)
            out += struct.pack("<IQ", row.kind, len(data) if row.offset is None else row.offset)
            data += bytes((index + self.noise) % 251 for index in range(min(row.bytes, 4096))).ljust(row.bytes, b"\1")
        if self.rows:
            out += bytes(-len(out) % self.alignment)
        whole = bytes(out + data + self.tail)
        return whole if self.cut is None else whole[: self.cut]

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.build())
        return path

    def having(self, **pairs: Any) -> "Gguf":
        """With these pairs added or replaced; `__` in a name stands for a dot, None removes the key."""
        known: dict[str | bytes, Any] = dict(self.pairs)
        known |= {key.replace("__", "."): value for key, value in pairs.items()}
        return replace(self, pairs=[(key, value) for key, value in known.items() if value is not None])


def tiny(arch: str = "llama", blocks: int = 2, extra: Mapping[str, Any] | None = None) -> Gguf:
    """A small model that the reader accepts."""
    pairs: dict[str | bytes, Any] = {
        "general.architecture": arch,
        "general.name": "Tiny",
        "general.file_type": 1,
        f"{arch}.context_length": 512,
        f"{arch}.embedding_length": 64,
        f"{arch}.block_count": blocks,
        f"{arch}.attention.head_count": 4,
        "tokenizer.ggml.tokens": ["<s>", "a", "b"],
        "tokenizer.ggml.scores": [0.0, 1.0, 2.0],
        "tokenizer.chat_template": "{{ tools }}{{ messages }}",
    }
    rows = [Row("token_embd.weight", (64, 3), 1)]
    rows += [Row(f"blk.{block}.attn_q.weight", (64, 64), 1) for block in range(blocks)]
    rows.append(Row("output_norm.weight", (64,)))
    return Gguf(list((dict(pairs) | dict(extra or {})).items()), rows)


def save_shards(folder: Path, stem: str, total: int, noise: int = 0) -> list[Path]:
    """A set of `total` shards: metadata in the first, one tensor in each, as llama-gguf-split makes them."""
    paths = []
    for index in range(total):
        split = {"split.no": Value(U16, index), "split.count": Value(U16, total)}
        split["split.tensors.count"] = Value(I32, total)
        pairs = [*tiny().pairs, *split.items()] if index == 0 else list(split.items())
        shard = Gguf(pairs, [Row(f"blk.{index}.attn_q.weight", (64, 64), 1)], noise=noise + index)
        paths.append(shard.save(folder / f"{stem}-{index + 1:05d}-of-{total:05d}.gguf"))
    return paths
