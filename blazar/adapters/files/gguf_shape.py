"""Headers to what the fit arithmetic asks for. Counts nothing itself: `domain.fit` does, from these facts.

The arithmetic is imported when it is first asked: listing and importing models needs none of it.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.files.gguf import Header, parse, read_header
from blazar.adapters.files.gguf_facts import vet_model
from blazar.application.ports.weights import Source

if TYPE_CHECKING:
    from blazar.domain.fit.shape import ModelShape, Projector

REMOTE_CHUNK = 64 << 10
"""Bytes that a header far away is read by; a source fetches larger pieces by itself."""


def shape_of_files(files: tuple[str, ...]) -> "ModelShape":
    """The shape of a model on this machine, from memory where none of its files has changed."""
    return _shape(files, tuple(_stamp(file) for file in files))


def shape_of_sources(sources: Sequence[Source]) -> "ModelShape":
    """The shape of a model elsewhere; `sources` in shard order."""
    headers = [parse(source, source.size, source.name, chunk=REMOTE_CHUNK) for source in sources]
    return _shape_of([source.name for source in sources], headers)


def projector_of_file(file: str) -> "Projector":
    """The encoder in a file on this machine."""
    return _projector(read_header(file))


def projector_of_source(source: Source) -> "Projector":
    """The encoder in a file elsewhere."""
    return _projector(parse(source, source.size, source.name, chunk=REMOTE_CHUNK))


@lru_cache(maxsize=32)
def _shape(files: tuple[str, ...], _stamps: tuple[tuple[int, int], ...]) -> "ModelShape":
    return _shape_of(files, [read_header(file) for file in files])


def _stamp(file: str) -> tuple[int, int]:
    """Size and modification time; a file that cannot be asked is `read_header`'s to complain about."""
    try:
        facts = Path(file).stat()
    except (OSError, ValueError):
        return -1, -1
    return facts.st_size, facts.st_mtime_ns


def _shape_of(names: Sequence[str], headers: Sequence[Header]) -> "ModelShape":
    """The first header's metadata (llama.cpp's own rule), the tensors of all (F19)."""
    from blazar.domain.fit.gguf import shape_from_gguf

    vet_model(names, headers)
    return shape_from_gguf(headers[0].metadata, [row for header in headers for row in header.tensors])


def _projector(header: Header) -> "Projector":
    from blazar.domain.fit.projector import shape_from_projector
    from blazar.domain.fit.shape import Tensor

    return shape_from_projector(
        header.metadata, [Tensor(row.name, row.shape, row.type, row.size) for row in header.tensors]
    )
