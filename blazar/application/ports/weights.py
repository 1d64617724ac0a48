"""Weight files: what is in one, and putting it under our roof without copying a byte."""

from typing import Any, NamedTuple, Protocol

from blazar.domain.kinds import Weights


class FileFacts(NamedTuple):
    """What a model file (or shard set) says about itself."""

    files: tuple[str, ...]  # absolute, shard order
    sizes: tuple[int, ...]
    weights: Weights
    arch: str
    quant: str
    parameters: int
    ctx_train: int
    embedding_length: int
    pooling: int | None
    template: bool
    digest: str


class WeightFiles(Protocol):
    """Reads headers and makes hardlinks."""

    def inspect(self, path: str) -> FileFacts:
        """Raises `BadModelFile`, `NotFound` or `Malformed` (incomplete shard set)."""
        ...

    def metadata(self, path: str) -> dict[str, Any]:
        """The header's key-value pairs without vocabulary arrays (cached by path, size, mtime)."""
        ...

    def link(self, name: str, files: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        """Hardlink into the models folder; (paths, owned). Not owned: linking is impossible, the originals are referred to (D36)."""
        ...

    def unlink(self, files: tuple[str, ...]) -> None:
        """Delete links inside the models folder; anything outside is left alone."""
        ...

    def missing(self, files: tuple[str, ...]) -> str | None:
        """The first of these files that is gone."""
        ...

    def same(self, files: tuple[str, ...], others: tuple[str, ...]) -> bool:
        """Whether two lists name the same files in the same order: links of one file, or equal byte for byte.

        Reads both sides whole where they are no links of one another. Raises `NotFound` or `BadModelFile` when one cannot be read.
        """
        ...
