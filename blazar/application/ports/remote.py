"""Models that lie in a registry: what there is of one, the front of its files, and all that a pull of it brings. Nothing is asked unless a user names one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from blazar.application.ports.downloads import Wanted
from blazar.application.ports.weights import Source
from blazar.domain.errors import BlazarError
from blazar.domain.parcels import Role, Words
from blazar.domain.references import RemoteRef


class RemoteFile(NamedTuple):
    """One file of a registry: what it is called there, its bytes, and where its registry keeps it.

    `sha256` in hexadecimal, "" where the registry does not promise one. `mark` tells versions of the file apart: that digest,
    else what the registry has instead (a git object's id). `git` is that id where it is of the file's own content.
    """

    name: str
    size: int
    at: str
    sha256: str = ""
    mark: str = ""
    git: str = ""


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


class Part(NamedTuple):
    """One file of a parcel. `path` is where it lies below the model's own folder; "" for GGUF files, which need none."""

    role: Role
    file: RemoteFile
    path: str = ""


class Parcel(NamedTuple):
    """All that a pull brings. `ref` is what was resolved: with the tag or the quantisation that it came to.

    `parts` have the weights first, in shard order. `notes` are sentences for whoever pulls.
    """

    ref: RemoteRef
    parts: tuple[Part, ...]
    words: Words = Words()
    notes: tuple[str, ...] = ()


class Found(NamedTuple):
    """One repository of a search. `parameters` and `size` (bytes of its smallest offer) are 0 where the registry does not say."""

    repo: str
    downloads: int
    likes: int = 0
    parameters: int = 0
    size: int = 0
    quants: tuple[str, ...] = ()
    updated: str = ""
    gated: bool = False


class RemoteModels(Protocol):
    """One registry. Blocking; call it off the event loop.

    Everything raises `NotFound` (no such model, or private), `Forbidden` (gated), `Busy` (asked too often) and
    `RegistryTrouble` (unreachable, or its answers make no sense).
    """

    def listing(self, ref: RemoteRef) -> Listing:
        """What there is; never empty."""
        ...

    def parcel(self, ref: RemoteRef) -> Parcel:
        """What a pull of exactly this brings. A reference that leaves a choice open raises `NotFound` with the choices."""
        ...

    def wanted(self, file: RemoteFile, path: str) -> Wanted:
        """How that file is asked for, to lie at `path`; a token goes to the registry's own host only."""
        ...

    def search(self, word: str, limit: int) -> tuple[Found, ...]:
        """Repositories with weights that this program serves, most downloaded first. Raises `Unserved` where a registry has no search."""
        ...

    def open(self, file: RemoteFile) -> AbstractContextManager[Source]:
        """The front of a file, fetched as far as it is read and no further than 64 MiB."""
        ...

    def tells(self, waits: Callable[[str], None]) -> None:
        """From now on `waits` hears, in a sentence, of each pause before something is asked again. From any thread."""
        ...

    def stop(self, why: BlazarError) -> None:
        """From any thread: whatever is being asked of it raises `why` as soon as it notices, and all that comes after at once."""
        ...

    def close(self) -> None:
        """Let connections go."""
        ...
