"""Headers to what the fit arithmetic asks for. Counts nothing itself: `domain.fit` does, from these facts.

The arithmetic is imported when it is first asked: listing and importing models needs none of it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.files.gguf import Header, parse, read_header
from blazar.adapters.files.gguf_facts import SPLIT_KEYS, vet_first, vet_model
from blazar.application.ports.weights import Source
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile

if TYPE_CHECKING:
    from blazar.domain.fit.shape import ModelShape, Projector

REMOTE_CUT = "it lies there cut short"
REMOTE_CHUNK = 64 << 10
"""Bytes that a header far away is read by; a source fetches larger pieces by itself."""
MOST_REMOTE = 96 << 20
"""Bytes of all headers of one set far away: a vocabulary (about 16 MiB at most) lies in the first shard's only."""
MOST_REMOTE_ROWS = 1 << 17
"""Tensors of one set far away, each about 300 bytes here: ten times those of any published model."""


def shape_of_files(files: tuple[str, ...]) -> "ModelShape":
    """The shape of a model on this machine, from memory where none of its files has changed."""
    return _shape(files, tuple(_stamp(file) for file in files))


def shape_of_sources(sources: Iterable[Source]) -> "ModelShape":
    """The shape of a model elsewhere; `sources` in shard order, of which each may go when the next is asked for.

    Raises before the second is asked for where the first is no model's.
    """
    names: list[str] = []
    headers: list[Header] = []
    size = rows = 0
    for source in sources:
        header = parse_source(source)
        size, rows = size + header.data_start, rows + len(header.tensors)
        if size > MOST_REMOTE or rows > MOST_REMOTE_ROWS:
            raise BadModelFile(source.name, teaching.fit_large_headers(MOST_REMOTE, MOST_REMOTE_ROWS))
        if names:  # of the others no more than this is looked at
            split = {key: header.metadata[key] for key in SPLIT_KEYS if key in header.metadata}
            header = header._replace(metadata=split, lengths={})
        else:
            vet_first(source.name, header)
        names.append(source.name)
        headers.append(header)
    return _shape_of(names, headers)


def projector_of_file(file: str) -> "Projector":
    """The encoder in a file on this machine."""
    return _projector(read_header(file))


def projector_of_source(source: Source) -> "Projector":
    """The encoder in a file elsewhere."""
    return _projector(parse_source(source))


def parse_source(source: Source) -> Header:
    """The header of a file elsewhere; raises `BadModelFile`."""
    return parse(source, source.size, source.name, chunk=REMOTE_CHUNK, cut=REMOTE_CUT, most=MOST_REMOTE_ROWS)


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
