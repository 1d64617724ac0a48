"""Safetensors headers: eight bytes of length, then JSON. Believes no length, reads no tensor, maps nothing into memory.

The format: https://github.com/huggingface/safetensors (README, "Format").
"""

import os
import re
import struct
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, TypeGuard

from blazar.adapters.files.bounded import object_in, open_regular, read_exactly, stamp_of
from blazar.adapters.files.gguf import reason_of
from blazar.adapters.files.gguf_sanity import what_it_is
from blazar.application.ports.weights import Source
from blazar.domain.errors import BadWeights
from blazar.domain.weight_kinds import Tensor

LARGEST_HEADER = 16 << 20
"""Bytes. The format allows 100 million, which as Python objects are gigabytes; 100 000 tensors need ten."""
MOST_DIMENSIONS = 8
SAMPLE = 1 << 20
"""Bytes hashed at either end of a file's tensor data."""

BITS = {
    "F64": 64,
    "I64": 64,
    "U64": 64,
    "C64": 64,
    "F32": 32,
    "I32": 32,
    "U32": 32,
    "F16": 16,
    "BF16": 16,
    "I16": 16,
    "U16": 16,
    "I8": 8,
    "U8": 8,
    "BOOL": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F4": 4,
}
"""Of one number. Of a type that is not known here the size is believed."""
_TYPE = re.compile(r"[A-Za-z0-9_]{1,32}")
"""What a type can be called: the name is shown, and stored as what the weights are."""


class Header(NamedTuple):
    """`digest` is a hex SHA-256 of the size, the header, and the first and last MiB of the tensor data."""

    tensors: tuple[Tensor, ...]
    metadata: Mapping[str, str]
    file_size: int
    digest: str


def read_safetensors(path: str) -> Header:
    """The header of a file, from memory where its size and modification time are unchanged. Raises `BadWeights`, `NotFound`."""
    return _read(path, stamp_of(path))


@lru_cache(maxsize=64)
def _read(path: str, _stamp: tuple[int, int]) -> Header:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            start = read_exactly(file, 8)
            length = _length(path, start, size)
            raw = read_exactly(file, length)
            if len(raw) < length:
                raise BadWeights(path, "it became shorter while it was read")
            data = size - 8 - length
            tail = max(SAMPLE, data - SAMPLE)
            samples = [read_exactly(file, min(SAMPLE, data))]
            if tail < data:
                file.seek(8 + length + tail)
                samples.append(read_exactly(file, data - tail))
    except OSError as error:
        raise BadWeights(path, reason_of(error)) from None
    found = object_in(path, raw)
    notes = found.pop("__metadata__", None)
    tensors = tuple(_tensor(path, name, entry, data) for name, entry in found.items())
    if sum(row.bytes for row in tensors) > data:  # what a model takes is counted from the rows
        raise BadWeights(path, "its tensors lie over each other")
    digest = sha256(b"blazar safetensors fingerprint 1\n%d\n" % size + raw + b"".join(samples)).hexdigest()
    metadata = {key: text for key, text in notes.items() if isinstance(text, str)} if isinstance(notes, dict) else {}
    return Header(tensors, metadata, size, digest)


def shapes_in_source(source: Source) -> dict[str, tuple[int, ...]]:
    """The tensors' names in a file elsewhere, with shapes where they have any. Raises `BadWeights`, and what reading it raises."""
    length = _length(source.name, source.read(8), source.size)
    raw = bytearray()
    while len(raw) < length and (piece := source.read(length - len(raw))):
        raw += piece
    if len(raw) < length:
        raise BadWeights(source.name, "it became shorter while it was read")
    found = object_in(source.name, bytes(raw))
    return {name: _shape_of(entry) for name, entry in found.items() if name != "__metadata__"}


def _shape_of(entry: Any) -> tuple[int, ...]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    return tuple(shape) if isinstance(shape, list) and all(isinstance(one, int) for one in shape) else ()


def _length(path: str, start: bytes, size: int) -> int:
    if len(start) < 8:
        raise BadWeights(path, "it is empty" if not start else "it ends within its first 8 bytes")
    (length,) = struct.unpack("<Q", start)
    if length > size - 8:
        known = what_it_is(start[:5])
        # A web page or a pointer read as a number is a length beyond every file.
        raise BadWeights(
            path,
            f"its header claims {length} bytes and {size - 8} are left" if known.endswith("letters GGUF") else known,
        )
    if length > LARGEST_HEADER:
        raise BadWeights(path, f"its header claims {length} bytes, more than {LARGEST_HEADER >> 20} MiB")
    return int(length)


def _tensor(path: str, name: str, entry: Any, data: int) -> Tensor:
    where = f"the tensor '{name[:80]}'"
    if not isinstance(entry, dict):
        raise BadWeights(path, f"{where} is no object")
    shape, kind, offsets = entry.get("shape"), entry.get("dtype"), entry.get("data_offsets")
    if not _numbers(shape) or len(shape) > MOST_DIMENSIONS:
        raise BadWeights(path, f"{where} has no shape of up to {MOST_DIMENSIONS} numbers")
    if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
        raise BadWeights(path, f"{where} has no type")
    if not _numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise BadWeights(path, f"{where} does not say where it lies")
    if offsets[1] > data:
        raise BadWeights(path, f"{where} ends at byte {offsets[1]} of {data}: the download is incomplete")
    row = Tensor(name, tuple(shape), kind, offsets[1] - offsets[0])
    if kind in BITS and row.elements * BITS[kind] != row.bytes * 8:
        raise BadWeights(path, f"{where} has {row.bytes} bytes, which its shape and type do not come to")
    return row


def _numbers(value: Any) -> TypeGuard[list[int]]:
    """Truth values are numbers to Python and none to the format."""
    return isinstance(value, list) and all(type(one) is int and 0 <= one < 2**63 for one in value)
