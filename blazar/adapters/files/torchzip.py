"""PyTorch checkpoints (.ckpt, .pt, .pth): what their pickle mentions, by its bytes. Never unpickles: that would run what is in it."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from hashlib import sha256

from blazar.adapters.files.bounded import open_regular, read_exactly, stamp_of
from blazar.adapters.files.gguf import reason_of
from blazar.domain.errors import BadWeights

SUFFIXES = (".ckpt", ".pt", ".pth")
LARGEST_PICKLE = 16 << 20
"""Bytes unpacked: a checkpoint's table of tensors is below one MiB."""
MOST_ENTRIES = 1 << 16
_TEXT = re.compile(rb"(?=X(..)\x00\x00)", re.DOTALL)
"""Where a text of the pickle begins (BINUNICODE), with its length. PyTorch writes this protocol and no other."""
LONGEST_NAME = 400
SAMPLE = 1 << 20


def names_in(path: str) -> frozenset[str]:
    """The words of the pickle, the names of the tensors among them. Raises `BadWeights` for what is no such archive."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise BadWeights(path, f"it has {len(entries)} entries, more than {MOST_ENTRIES}")
            pickle = next((entry for entry in entries if entry.filename.endswith("data.pkl")), None)
            if pickle is None:
                raise BadWeights(path, "it is no checkpoint of PyTorch: it holds no data.pkl")
            with archive.open(pickle) as data:
                text = data.read(LARGEST_PICKLE + 1)
    except zipfile.BadZipFile:
        raise BadWeights(path, "it is no checkpoint of PyTorch that can be read: convert it to safetensors") from None
    except (OSError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        raise BadWeights(path, reason_of(error) if isinstance(error, OSError) else "its archive is damaged") from None
    if len(text) > LARGEST_PICKLE:
        raise BadWeights(path, f"its table of tensors is larger than {LARGEST_PICKLE >> 20} MiB")
    return frozenset(_texts(text))


def _texts(pickle: bytes) -> Iterator[str]:
    for match in _TEXT.finditer(pickle):
        start, length = match.start() + 5, int.from_bytes(match[1], "little")
        word = pickle[start : start + length] if 0 < length <= LONGEST_NAME else b""
        if word.isascii() and (name := word.decode()).isprintable() and name:
            yield name


def fingerprint(path: str) -> tuple[int, str]:
    """Size and a hex SHA-256 of it with the first and last MiB."""
    size, _ = stamp_of(path)
    try:
        with open_regular(path) as file:
            samples = [read_exactly(file, SAMPLE)]
            if size > SAMPLE:
                file.seek(max(SAMPLE, size - SAMPLE))
                samples.append(read_exactly(file, SAMPLE))
    except OSError as error:
        raise BadWeights(path, reason_of(error)) from None
    return size, sha256(b"blazar file fingerprint 1\n%d\n" % size + b"".join(samples)).hexdigest()
