"""The plain bytes of a tar archive."""

import bz2
import gzip
import io
import lzma
import tarfile
from importlib.util import find_spec

import pytest

from blazar.adapters.engines.decompressing import LARGEST_PIECE, BadArchive, tar_bytes

PACKERS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("packer", PACKERS)
def test_whatever_it_is_compressed_with(packer: str) -> None:
    """By its first bytes, not by its name; from the beginning."""
    file = io.BytesIO(PACKERS[packer](b"some bytes" * 100))
    plain = tar_bytes(file)
    assert plain.read(10) == b"some bytes"
    plain.seek(990)
    assert (plain.read(20), plain.tell()) == (b"some bytes", 1000)


@pytest.mark.skipif(find_spec("compression") is not None, reason="this Python reads zstd")
def test_zstd_is_a_sentence_where_python_does_not_know_it() -> None:
    """And names what to take instead."""
    with pytest.raises(BadArchive, match=r"zstd.*\.tar\.gz or \.zip"):
        tar_bytes(io.BytesIO(b"\x28\xb5\x2f\xfd" + bytes(100)))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_does_not_fill_the_memory(kind: bytes) -> None:
    """A path of half a gigabyte in two megabytes of zeros packed: refused before it is read."""
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, 512 * 2**20
    file = io.BytesIO(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20)))
    with pytest.raises(BadArchive, match="longer than any file's"), tarfile.open(fileobj=tar_bytes(file), mode="r:"):
        pass


def test_ordinary_pieces_pass() -> None:
    """As large as a reader of members asks for."""
    plain = tar_bytes(io.BytesIO(bytes(LARGEST_PIECE + 1)))
    assert len(plain.read(LARGEST_PIECE)) == LARGEST_PIECE
    with pytest.raises(BadArchive):
        plain.read()
