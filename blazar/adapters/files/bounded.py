"""Reads small files of strangers' making: regular ones only, never more than a bound, never waiting for a pipe's writer."""

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from blazar.adapters.files.gguf import reason_of
from blazar.domain import teaching
from blazar.domain.errors import BadWeights, NotFound

LARGEST_JSON = 16 << 20
"""Bytes: an index of a thousand shards has two million, the longest list of added tokens less."""


def open_regular(path: str) -> BinaryIO:
    """The file, unbuffered. Raises `NotFound` or `BadWeights`."""
    try:
        file = open(path, "rb", buffering=0, opener=_at_once)  # noqa: SIM115 - handed to the caller
    except FileNotFoundError:
        raise NotFound(teaching.no_such_file(path)) from None
    except (OSError, ValueError) as error:
        raise BadWeights(path, reason_of(error)) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BadWeights(path, "it is not a regular file")
    return file


def read_exactly(file: BinaryIO, size: int) -> bytes:
    """`size` bytes, fewer only at the end of the file: an unbuffered read may stop early."""
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_object(path: str, most: int = LARGEST_JSON) -> dict[str, Any]:
    """The JSON object in a file. Raises `NotFound`, and `BadWeights` for one that is too large, no JSON or no object."""
    try:
        with open_regular(path) as file:
            data = read_exactly(file, most + 1)
    except OSError as error:
        raise BadWeights(path, reason_of(error)) from None
    if len(data) > most:
        raise BadWeights(path, f"it is larger than {most >> 20} MiB")
    return object_in(path, data)


def object_in(path: str, data: bytes) -> dict[str, Any]:
    """ODD: NaN and Infinity are taken: published configurations of Mamba models hold them. Whoever reads a value checks it."""
    try:
        found = json.loads(data)
    except RecursionError:
        raise BadWeights(path, "its JSON is nested too deeply") from None
    except ValueError:  # not JSON, not UTF-8, or a number of thousands of digits
        raise BadWeights(path, "it is not JSON") from None
    if not isinstance(found, dict):
        raise BadWeights(path, "it is no JSON object")
    return found


def read_object_if_there(path: str) -> dict[str, Any]:
    """An object that decides nothing by itself: empty where the file is missing or is none."""
    try:
        return read_object(path)
    except (BadWeights, NotFound):
        return {}


def stamp_of(path: str) -> tuple[int, int]:
    """Size and modification time; a file that cannot be asked is its reader's to complain about."""
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return -1, -1
    return facts.st_size, facts.st_mtime_ns


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
