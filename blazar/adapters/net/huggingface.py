"""Hugging Face's API as far as a preview needs it: the files of a repository, and where one of them lies.

Facts of the API: `GET /api/models/REPO/tree/main?recursive=true` answers rows of `type`, `path`, `size`, in pages chained by
`Link: <…>; rel="next"`; `GET /REPO/resolve/main/PATH` redirects to the file. A repository that is private or does not exist is
a 401 to whoever has no token; a gated one says so in `x-error-code`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin

from blazar.adapters.net.ranges import RangedFile
from blazar.adapters.net.web import Web
from blazar.application.ports.remote import Listing, Offer, RemoteFile, RemoteModels
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, NotFound
from blazar.domain.references import RemoteRef
from blazar.domain.weight_names import is_projector, models_among, quant_of, shard_of

BASE = "https://huggingface.co"
MOST_PAGES = 20
MOST_FILES = 10_000
LARGEST = 2**50
"""Bytes of one file; anything beyond is no size."""
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')
_PATH = re.compile(r"[^\x00-\x1f\x7f\\?#]{1,500}")


class HuggingFace(RemoteModels):
    """Repositories of GGUF files, on their `main` branch."""

    def __init__(self, base: str = BASE, token: str = "") -> None:
        self._web = Web(base, token, variable="HF_TOKEN")

    def listing(self, ref: RemoteRef) -> Listing:
        notes: list[str] = []
        sizes = dict(self._files(ref, notes))
        offers = tuple(self._offers(ref, sizes))
        if not offers:
            raise NotFound(teaching.remote_no_gguf(ref.repo))
        asked = _asked(ref, offers) if ref.tag else None
        return Listing(ref, offers, asked, tuple(notes))

    def open(self, file: RemoteFile) -> RangedFile:
        return RangedFile(self._web, file.at, file.name, file.size)

    def stop(self, why: BlazarError) -> None:
        self._web.stop(why)

    def close(self) -> None:
        self._web.close()

    def _files(self, ref: RemoteRef, notes: list[str]) -> Iterator[tuple[str, int]]:
        """(path, bytes) of every file that can be named in an address; that there are more than are looked at is noted."""
        url: str | None = f"{self._web.base}/api/models/{ref.repo}/tree/main?recursive=true"
        seen = 0
        for _ in range(MOST_PAGES):
            if url is None or seen > MOST_FILES:
                break
            rows, headers = self._web.json(url, ref.repo)
            if not isinstance(rows, list):
                raise self._web.garbled("its listing is no list")
            seen += len(rows)
            yield from filter(None, map(_file, rows))
            url = self._next(headers.get("link", ""))
        if url is not None:
            notes.append(teaching.remote_listing_cut(self._web.host, seen))

    def _next(self, link: str) -> str | None:
        """The next page, on the same server only."""
        match = _NEXT.search(link)
        url = urljoin(self._web.base + "/", match[1]) if match else ""
        return url if url.startswith(self._web.base + "/") else None

    def _offers(self, ref: RemoteRef, sizes: dict[str, int]) -> Iterator[Offer]:
        def file(path: str) -> RemoteFile:
            return RemoteFile(path, sizes[path], f"{self._web.base}/{ref.repo}/resolve/main/{quote(path)}")

        projectors = tuple(file(path) for path in sizes if is_projector(path.rpartition("/")[2]))
        models = models_among(sizes)
        labels = Counter(model.quant for model in models)
        for model in models:
            stem = _stem(model.files[0])
            label = model.quant if labels[model.quant] == 1 else stem
            family = stem.lower().replace(model.quant.lower(), "").strip("-._")
            yield Offer(label, family, tuple(map(file, model.files)), model.missing, projectors)


def _stem(path: str) -> str:
    """A model's name without folder, shard marker and suffix."""
    name = path.rpartition("/")[2]
    shard = shard_of(name)
    return shard.stem if shard else name.removesuffix(".gguf")


def _asked(ref: RemoteRef, offers: tuple[Offer, ...]) -> Offer:
    """The offer that a reference's tag means: its label, else its quantisation, else a file's name."""
    wanted = ref.tag.upper().removesuffix(".GGUF")
    ways = (
        lambda offer: offer.quant.upper() == wanted,
        lambda offer: quant_of(offer.files[0].name) == wanted,
        lambda offer: quant_of(offer.files[0].name).removeprefix("UD-") == wanted,
        lambda offer: _stem(offer.files[0].name).upper() == wanted,
    )
    for fits in ways:
        for offer in offers:
            if fits(offer):
                return offer
    raise NotFound(teaching.remote_no_quant(ref.repo, ref.tag, sorted({offer.quant for offer in offers})[:40]))


def _file(row: Any) -> tuple[str, int] | None:
    """A row that is a file with a believable path and size."""
    if not isinstance(row, dict) or row.get("type") != "file":
        return None
    path, size = row.get("path"), row.get("size")
    if not isinstance(path, str) or type(size) is not int or not 0 <= size <= LARGEST:
        return None
    if not _PATH.fullmatch(path) or any(part in ("", ".", "..") for part in path.split("/")):
        return None
    return path, size
