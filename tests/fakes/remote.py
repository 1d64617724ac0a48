"""A registry in memory: listings by reference, fronts of files by what they are called."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from blazar.application.ports.downloads import Wanted
from blazar.application.ports.remote import Found, Listing, Offer, Parcel, RemoteFile, RemoteModels
from blazar.application.ports.weights import Source
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, NotFound
from blazar.domain.references import RemoteRef


class MemorySource(Source):
    """Bytes; what lies beyond them up to `size` is zeros."""

    def __init__(self, file: RemoteFile, front: bytes) -> None:
        self._file, self._front, self._at = file, front, 0
        self.closed = False

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def size(self) -> int:
        return self._file.size

    def read(self, size: int, /) -> bytes:
        end = min(self._at + size, self._file.size)
        piece = self._front[self._at : end].ljust(max(0, end - self._at), b"\0")
        self._at = max(self._at, end)
        return piece

    def seek(self, offset: int, /) -> int:
        self._at = offset
        return offset

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed = True


class MemoryRegistry(RemoteModels):
    """`listings` by repository, `parcels` by reference, `found` by word; `opened` names every file that was looked into."""

    def __init__(
        self, listings: Mapping[str, tuple[Offer, ...]] | None = None, fronts: Mapping[str, bytes] | None = None
    ) -> None:
        self.listings, self.fronts = dict(listings or {}), dict(fronts or {})
        self.parcels: dict[str, Parcel] = {}
        self.found: dict[str, tuple[Found, ...]] = {}
        self.opened: list[str] = []
        self.closed = 0
        self.stopped: BlazarError | None = None
        self.pauses: list[str] = []
        self.waits: Callable[[str], None] = lambda _: None

    def listing(self, ref: RemoteRef) -> Listing:
        self._check()
        offers = self.listings.get(ref.repo)
        if offers is None:
            raise NotFound(teaching.remote_not_found(ref.repo, "registry.example", None))
        asked = None
        if ref.tag and ref.tag != "latest":
            asked = next((offer for offer in offers if offer.quant.lower() == ref.tag.lower()), None)
            if asked is None:
                raise NotFound(teaching.remote_no_quant(ref.repo, ref.tag, [offer.quant for offer in offers]))
        return Listing(ref, offers, asked)

    def parcel(self, ref: RemoteRef) -> Parcel:
        self._check()
        for pause in self.pauses:
            self.waits(pause)
        if str(ref) not in self.parcels:
            raise NotFound(teaching.remote_not_found(str(ref), "registry.example", None))
        return self.parcels[str(ref)]

    def wanted(self, file: RemoteFile, path: str) -> Wanted:
        return Wanted(file.at, path, file.name, file.size, file.sha256)

    def search(self, word: str, limit: int) -> tuple[Found, ...]:
        self._check()
        return self.found.get(word, ())[:limit]

    def _check(self) -> None:
        if self.stopped is not None:
            raise self.stopped

    def open(self, file: RemoteFile) -> MemorySource:
        self._check()
        self.opened.append(file.name)
        return MemorySource(file, self.fronts.get(file.name, b""))

    def tells(self, waits: Callable[[str], None]) -> None:
        self.waits = waits

    def stop(self, why: BlazarError) -> None:
        self.stopped = why

    def close(self) -> None:
        self.closed += 1
