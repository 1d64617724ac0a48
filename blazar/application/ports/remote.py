"""Models that lie in a registry: what there is of one, and the front of its files. Nothing is asked unless a user names one."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from blazar.application.ports.weights import Source
from blazar.domain.errors import BlazarError
from blazar.domain.references import RemoteRef


class RemoteFile(NamedTuple):
    """One file of a registry: what it is called there, its bytes, and where its registry keeps it."""

    name: str
    size: int
    at: str


class Offer(NamedTuple):
    """One way to have a model. `quant` tells it apart from the others of its listing.

    `family` is equal for offers that differ in nothing but their quantisation. `missing` counts shards that are not there.
    """

    quant: str
    family: str
    files: tuple[RemoteFile, ...]
    missing: int = 0
    projectors: tuple[RemoteFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


class Listing(NamedTuple):
    """What a registry has of one model, in its order. `asked` is the offer that the reference names, None where it names none.

    `notes` are sentences about what is there and was not listed.
    """

    ref: RemoteRef
    offers: tuple[Offer, ...]
    asked: Offer | None = None
    notes: tuple[str, ...] = ()


class RemoteModels(Protocol):
    """One registry. Blocking; call it off the event loop.

    Everything raises `NotFound` (no such model, or private), `Forbidden` (gated), `Busy` (asked too often) and
    `RegistryTrouble` (unreachable, or its answers make no sense).
    """

    def listing(self, ref: RemoteRef) -> Listing:
        """What there is; never empty."""
        ...

    def open(self, file: RemoteFile) -> AbstractContextManager[Source]:
        """The front of a file, fetched as far as it is read and no further than 64 MiB."""
        ...

    def stop(self, why: BlazarError) -> None:
        """From any thread: whatever is being asked of it raises `why` as soon as it notices, and all that comes after at once."""
        ...

    def close(self) -> None:
        """Let connections go."""
        ...
