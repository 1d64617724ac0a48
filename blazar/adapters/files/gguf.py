"""What a GGUF file says in its header. Reads no weights, keeps no vocabulary, and refuses before it allocates.

Files come from strangers: every count, length, type, dimension, offset and alignment is compared with the size of the
file before it is used (J13), so that neither this process nor an engine after it meets a number that cannot be true.
"""

import os
import stat
import struct
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from blazar.adapters.files.cursor import CHUNK, CUT_SHORT, Bytes, Cursor
from blazar.adapters.files.ggml_types import GGML_TYPES
from blazar.adapters.files.gguf_sanity import check_metadata, what_it_is
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, NotFound

MOST_PAIRS = 65_536
MOST_TENSORS = 1_000_000
MOST_DIMENSIONS = 4
LARGEST_ALIGNMENT = 1 << 20
LONGEST_KEY = 65_535  # the format's own bound
LONGEST_TENSOR_NAME = 127  # GGML_MAX_NAME is 64 in llama.cpp and 128 in stable-diffusion.cpp, with the zero byte
MOST_ELEMENTS = 2**63 - 1  # element counts are signed in every engine
MOST_STRINGS = 1 << 22  # in all arrays; the largest vocabulary with its merges has about a million
MOST_KEPT = 64 << 20  # bytes of values kept; chat templates are kilobytes
LONGEST_KEPT_ARRAY = 4_096  # per-layer arrays: one element a block, and block_count is bounded by this
DEFAULT_ALIGNMENT = 32

_MIN_PAIR = 14  # eight bytes of key length, one of key, four of type, one of value
_MIN_TENSOR = 25  # length, name, dimension count, type, offset
_STRING, _ARRAY, _UINT32 = 8, 9, 4
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    _UINT32: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_UINT = _SCALARS[_UINT32]


class Tensor(NamedTuple):
    """One row of the tensor table. `offset` counts from the start of the tensor data, `size` in bytes."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    size: int

    @property
    def elements(self) -> int:
        return prod(self.shape)


class Header(NamedTuple):
    """`metadata` holds scalars and small arrays; of an array that was skipped only the length is known (`lengths`)."""

    version: int
    metadata: Mapping[str, Any]
    lengths: Mapping[str, int]
    tensors: tuple[Tensor, ...]
    alignment: int
    data_start: int
    file_size: int


def read_header(path: str) -> Header:
    """The header of the file at `path`, from memory where its size and modification time are unchanged."""
    try:
        facts = Path(path).stat()
    except FileNotFoundError:
        raise NotFound(teaching.no_such_file(path)) from None
    except (OSError, ValueError) as error:
        raise BadModelFile(path, reason_of(error)) from None
    return _read(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=32)
def _read(path: str, size: int, _mtime_ns: int) -> Header:
    try:
        with open(path, "rb", buffering=0, opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadModelFile(path, "it is not a regular file")
            return parse(file, size, path)
    except FileNotFoundError:
        raise NotFound(teaching.no_such_file(path)) from None
    except OSError as error:
        raise BadModelFile(path, reason_of(error)) from None


def _open_at_once(path: str, flags: int) -> int:
    """Without O_NONBLOCK a pipe would wait for its writer for ever, before we could see that it is one."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def reason_of(error: OSError | ValueError) -> str:
    """What the system said, without the path that the sentence names already."""
    return getattr(error, "strerror", None) or str(error)


def parse(
    file: Bytes, size: int, path: str, *, chunk: int = CHUNK, cut: str = CUT_SHORT, most: int = MOST_TENSORS
) -> Header:
    """Read one header from `file`, which is unbuffered and holds `size` bytes, `chunk` or more of them at a time.

    `cut` says in sentences why it may be shorter than its header promises, `most` how many tensors it may have.
    """
    cursor = Cursor(file, size, path, chunk, cut)
    version = _preamble(cursor)
    tensor_count = _count(cursor, "tensors", most, _MIN_TENSOR)
    pair_count = _count(cursor, "key-value pairs", MOST_PAIRS, _MIN_PAIR)
    pairs = _Pairs(cursor)
    for _ in range(pair_count):
        pairs.read_one()
    alignment = _alignment(cursor, pairs)
    check_metadata(path, pairs.values, pairs.lengths)
    table = _Table(cursor, alignment)
    for _ in range(tensor_count):
        table.read_one()
    start = -(-cursor.position // alignment) * alignment
    end = start + table.end
    if table.rows and end > size:
        raise cursor.bad(f"its tensor data needs {end} bytes and the file has {size}: {cursor.cut}")
    values, lengths = MappingProxyType(pairs.values), MappingProxyType(pairs.lengths)
    return Header(version, values, lengths, tuple(table.rows), alignment, start, size)


def _preamble(cursor: Cursor) -> int:
    """Magic and version."""
    if cursor.remaining == 0:
        raise cursor.bad("it is empty")
    start = cursor.take(min(5, cursor.remaining))
    if start[:4] != b"GGUF":
        raise cursor.bad(what_it_is(start))
    if cursor.remaining < 3:
        raise cursor.bad("it ends within its first 8 bytes")
    version = int.from_bytes(start[4:] + cursor.take(3), "little")
    if version and version & 0xFFFF == 0:
        raise cursor.bad("it is a big-endian file, which no engine here can load: convert it again for this machine")
    if version == 1:
        raise cursor.bad("it is of GGUF version 1, which engines no longer read: convert it again")
    if version not in (2, 3):
        raise cursor.bad(f"it is of GGUF version {version}, and versions 2 and 3 are known")
    return version


def _count(cursor: Cursor, what: str, most: int, smallest: int) -> int:
    """A number of things, each of which takes at least `smallest` bytes of this very file."""
    count = cursor.length()
    if count > most:
        raise cursor.bad(f"it claims {count} {what}, more than {most}")
    if count * smallest > cursor.remaining:
        raise cursor.bad(f"it claims {count} {what}, which do not fit into the {cursor.remaining} bytes that are left")
    return count


def _name(cursor: Cursor, what: str, longest: int) -> str:
    raw = cursor.string(f"the name of a {what}", longest)
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise cursor.bad(f"the name of a {what} is not text") from None
    if not name or not name.isprintable():
        raise cursor.bad(f"the name of a {what} is {'not printable' if name else 'empty'}")
    return name


class _Pairs:
    """The key-value pairs read so far."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.values: dict[str, Any] = {}
        self.lengths: dict[str, int] = {}
        self.types: dict[str, int] = {}
        self._kept = 0
        self._strings = 0

    def read_one(self) -> None:
        key = _name(self.cursor, "key", LONGEST_KEY)
        if key in self.types:
            raise self.cursor.bad(f"the key '{key[:80]}' stands twice")
        self._keep(len(key))
        self.types[key] = kind = int(self.cursor.unpack(_UINT)[0])
        if kind == _ARRAY:
            self._array(key)
        elif kind == _STRING:
            self.values[key] = self._text(key)
        elif kind in _SCALARS:
            self.values[key] = self.cursor.unpack(_SCALARS[kind])[0]
        else:
            raise self.cursor.bad(f"the key '{key[:80]}' has the unknown type {kind}")

    def _array(self, key: str) -> None:
        kind, count = int(self.cursor.unpack(_UINT)[0]), self.cursor.length()
        if kind == _ARRAY:
            raise self.cursor.bad(f"the key '{key[:80]}' is an array of arrays, which no engine reads")
        if kind != _STRING and kind not in _SCALARS:
            raise self.cursor.bad(f"the key '{key[:80]}' is an array of the unknown type {kind}")
        each = 8 if kind == _STRING else _SCALARS[kind].size
        if count * each > self.cursor.remaining:
            raise self.cursor.bad(
                f"the key '{key[:80]}' claims {count} elements and {self.cursor.remaining} bytes are left"
            )
        # Vocabulary is skipped whatever its size, so that what a reader sees does not depend on how large a model is.
        skip = count > LONGEST_KEPT_ARRAY or key.startswith("tokenizer.")
        if kind == _STRING:
            self._count_strings(key, count)
        if skip:
            self.lengths[key] = count
            if kind == _STRING:
                self.cursor.skip_strings(count, f"a text in '{key[:80]}'")
            else:
                self.cursor.skip(count * each)
        elif kind == _STRING:
            self.values[key] = tuple(self._text(key) for _ in range(count))
        else:
            self._keep(count * each)
            self.values[key] = self.cursor.unpack(struct.Struct(f"<{count}{_SCALARS[kind].format[1:]}"))

    def _text(self, key: str) -> str:
        raw = self.cursor.string(f"the value of '{key[:80]}'")
        self._keep(len(raw))
        return raw.decode(errors="replace")

    def _keep(self, size: int) -> None:
        self._kept += size
        if self._kept > MOST_KEPT:
            raise self.cursor.bad(f"its metadata is larger than {MOST_KEPT >> 20} MiB")

    def _count_strings(self, key: str, count: int) -> None:
        self._strings += count
        if self._strings > MOST_STRINGS:
            raise self.cursor.bad(f"the key '{key[:80]}' claims {count} texts, more than any vocabulary has")


def _alignment(cursor: Cursor, pairs: _Pairs) -> int:
    key = "general.alignment"
    if key not in pairs.types:
        return DEFAULT_ALIGNMENT
    value = pairs.values.get(key)
    if pairs.types[key] != _UINT32 or not isinstance(value, int):
        raise cursor.bad("general.alignment is not an unsigned 32-bit number")
    if value == 0 or value & (value - 1) or value > LARGEST_ALIGNMENT:
        raise cursor.bad(f"general.alignment is {value}, not a power of two up to {LARGEST_ALIGNMENT}")
    return value


class _Table:
    """The tensor rows read so far. Rows follow each other in the data as they do in the table, as engines demand."""

    def __init__(self, cursor: Cursor, alignment: int) -> None:
        self.cursor, self.alignment = cursor, alignment
        self.rows: list[Tensor] = []
        self.end = 0
        self._names: set[str] = set()

    def read_one(self) -> None:
        cursor = self.cursor
        name = _name(cursor, "tensor", LONGEST_TENSOR_NAME)
        if name in self._names:
            raise cursor.bad(f"the tensor '{name}' stands twice")
        self._names.add(name)
        shape = self._shape(name)
        number = int(cursor.unpack(_UINT)[0])
        kind = GGML_TYPES.get(number)
        if kind is None:
            raise cursor.bad(f"the tensor '{name}' has the unknown type {number}")
        if (shape[0] if shape else 1) % kind.block:
            raise cursor.bad(f"the rows of tensor '{name}' are no whole number of {kind.name} blocks ({kind.block})")
        offset, size = cursor.length(), prod(shape) // kind.block * kind.size
        self._place(name, offset, size)
        self.rows.append(Tensor(name, shape, kind.name, offset, size))

    def _shape(self, name: str) -> tuple[int, ...]:
        count = int(self.cursor.unpack(_UINT)[0])
        if count > MOST_DIMENSIONS:
            raise self.cursor.bad(f"the tensor '{name}' has {count} dimensions, more than {MOST_DIMENSIONS}")
        shape = tuple(self.cursor.length() for _ in range(count))
        if 0 in shape or prod(shape) > MOST_ELEMENTS:
            raise self.cursor.bad(f"the tensor '{name}' has the impossible shape {' x '.join(map(str, shape))}")
        return shape

    def _place(self, name: str, offset: int, size: int) -> None:
        if offset % self.alignment:
            raise self.cursor.bad(f"the data of tensor '{name}' is not aligned to {self.alignment} bytes")
        if offset < self.end:
            raise self.cursor.bad(f"the data of tensor '{name}' overlaps the tensor before it, or lies out of order")
        if offset + size > self.cursor.remaining:
            raise self.cursor.bad(f"the data of tensor '{name}' lies outside the file: {self.cursor.cut}")
        self.end = offset + size
