"""Weight files: what is in one, and putting it under our roof without copying a byte."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from blazar.domain.kinds import Weights

if TYPE_CHECKING:  # the arithmetic is imported by those who count
    from blazar.domain.fit.shape import ModelShape, Projector


class FileFacts(NamedTuple):
    """What a model file, a shard set, a folder or a component set says about itself.

    `files` are all that belong to it, weights first. `names` are what they are called below a folder of their own (empty: GGUF
    files, which need none), `folder` is where engines find them together, `components` are a diffusion set's files by role.
    `stem` is what a publisher called it.
    """

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
    names: tuple[str, ...] = ()
    folder: str = ""
    components: tuple[tuple[str, str], ...] = ()
    stem: str = ""


class Source(Protocol):
    """The front of a weight file that lies elsewhere: `size` bytes in all, read from where the last reading ended."""

    @property
    def name(self) -> str:
        """What sentences call it."""
        ...

    @property
    def size(self) -> int: ...

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at its end. Raises a `BlazarError` when they cannot be had."""
        ...

    def seek(self, offset: int, /) -> int: ...


class WeightFiles(Protocol):
    """Reads headers and makes hardlinks."""

    def inspect(self, path: str, parts: Sequence[tuple[str, str]] = ()) -> FileFacts:
        """What lies there: a GGUF file or set, a folder of safetensors, a diffusion model. `parts` are role and path of a set's others.

        Raises `BadModelFile`, `NotFound` or `Malformed` (incomplete shard set, missing parts).
        """
        ...

    def metadata(self, path: str) -> dict[str, Any]:
        """The header's key-value pairs without vocabulary arrays (cached by path, size, mtime)."""
        ...

    def shape(self, files: tuple[str, ...]) -> "ModelShape":
        """What these files' memory depends on, all shards' tensors together (cached by path, size, mtime).

        Raises `BadModelFile`, `NotFound`, and `BadShape` where the header describes no model that can be counted.
        """
        ...

    def projector(self, files: tuple[str, ...]) -> "Projector | None":
        """The vision or audio encoder that lies beside a model's files; None where there is none.

        Raises `BadModelFile`, `NotFound`, `BadShape` where what may be one cannot be used.
        """
        ...

    def projector_file(self, files: tuple[str, ...]) -> str:
        """The path of that encoder, "" where there is none. Raises what `projector` raises."""
        ...

    def projector_in(self, path: str) -> "Projector":
        """The encoder that this file holds. Raises `BadModelFile`, `NotFound`, `BadShape`."""
        ...

    def projector_facts(self, path: str) -> dict[str, Any]:
        """That file's key-value pairs, with the number of its weights as `general.parameter_count`. Raises `BadModelFile`, `NotFound`."""
        ...

    def adapter_bytes(self, path: str) -> int:
        """What a LoRA adapter's tensors take. Raises `BadModelFile`, `NotFound`."""
        ...

    def vet_adapter(self, path: str, arch: str) -> None:
        """Raises `BadModelFile` unless this is a LoRA adapter for models of that architecture ("": whatever it is), or `NotFound`."""
        ...

    def shape_elsewhere(self, sources: Iterable[Source]) -> "ModelShape":
        """`shape` of files that are not on this machine, in shard order; reads their headers only, one after the other."""
        ...

    def projector_elsewhere(self, source: Source) -> "Projector":
        """The encoder that a file elsewhere holds."""
        ...

    def vet_elsewhere(self, source: Source, roles: Sequence[str]) -> None:
        """Raises `PartsMissing` for a diffusion model that needs more parts than those in `roles`, `PartsOfNoSet` for another, and what reading raises.

        With no roles also `WrongPart` for what is a part of one itself.
        """
        ...

    def vet_part_elsewhere(self, source: Source, role: str) -> None:
        """Raises `WrongPart` for a file that is another part of a diffusion model than `role`, and what reading raises."""
        ...

    def link(self, name: str, files: tuple[str, ...], names: tuple[str, ...] = ()) -> tuple[tuple[str, ...], bool]:
        """Hardlink into the models folder, with the encoder beside them; (paths, owned).

        Not owned: linking is impossible, the originals are referred to (D36). With `names` (one a file, relative) they lie
        together in a folder of the model's own.
        """
        ...

    def take(self, name: str, files: tuple[str, ...], names: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Like `link`, for files that are ours: where no hardlink can be, they are moved, so that what comes back is always owned."""
        ...

    def check_writable(self) -> None:
        """Raises `StoreTrouble` where nothing may be linked into the models folder, whatever room there is."""
        ...

    def unlink(self, files: tuple[str, ...], folder: str = "") -> None:
        """Delete links inside the models folder, those of encoders too; anything outside is left alone.

        Of a model in a `folder` of its own those that lie below it, and the folders that become empty.
        """
        ...

    def missing(self, files: tuple[str, ...]) -> str | None:
        """The first of these files that is gone."""
        ...

    def stamp(self, path: str) -> str:
        """What changes as soon as another file, or folder, lies there; "" where nothing does. Reads no content."""
        ...

    def same(self, files: tuple[str, ...], others: tuple[str, ...]) -> bool:
        """Whether two lists name the same files in the same order: links of one file, or equal byte for byte.

        Reads both sides whole where they are no links of one another. Raises `NotFound` or `BadModelFile` when one cannot be read.
        """
        ...
