"""The plain bytes of a tar archive, whatever it is compressed with. Nothing in it can make us hold much of it at once."""

import bz2
import gzip
import lzma
import zlib
from importlib import import_module
from typing import IO, cast

from blazar.domain import teaching

LARGEST_PIECE = 8 * 2**20
"""Bytes that may be asked for at once. A header that names a longer one (a path of a gigabyte) would be held in memory."""

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, RuntimeError, ValueError, MemoryError, UnicodeError)
"""What readers raise for damaged or unsupported files; RuntimeError covers a compression method that they do not know."""

_ZSTD = b"\x28\xb5\x2f\xfd"
_LONGEST_MAGIC = 6


class BadArchive(Exception):
    """Why this cannot be unpacked; the text completes a sentence."""


class _InPieces:
    """What a tar reader needs of a file, in bounded pieces."""

    def __init__(self, plain: IO[bytes]) -> None:
        self._plain = plain
        self.tell, self.close = plain.tell, plain.close

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_PIECE:
            raise BadArchive(teaching.archive_header_too_large())
        return self._plain.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        return self._plain.seek(position, whence)


def tar_bytes(file: IO[bytes]) -> IO[bytes]:
    """Read `file` from its beginning. Raises `BadArchive` for a compression that this Python does not know."""
    start = file.read(_LONGEST_MAGIC)
    file.seek(0)
    plain: object = file
    if start.startswith(b"\x1f\x8b"):
        plain = gzip.GzipFile(fileobj=file)
    elif start.startswith(b"BZh"):
        plain = bz2.BZ2File(file)
    elif start.startswith(b"\xfd7zXZ\x00"):
        plain = lzma.LZMAFile(file)  # noqa: SIM115 - closed with the archive
    elif start.startswith(_ZSTD):
        plain = _zstd(file)
    return cast("IO[bytes]", _InPieces(cast("IO[bytes]", plain)))


def _zstd(file: IO[bytes]) -> object:
    try:
        reader = import_module("compression.zstd")  # of the standard library, from Python 3.14 on
    except ImportError:
        raise BadArchive(teaching.archive_zstd()) from None
    return reader.ZstdFile(file)
