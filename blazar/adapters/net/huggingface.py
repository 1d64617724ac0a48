"""Hugging Face's API: the files of a repository, what a pull of it brings, where one of them lies, and its search.

Facts of the API: `GET /api/models/REPO/tree/main?recursive=true` answers rows (`hub_rows.py`) in pages chained by
`Link: <…>; rel="next"`; `GET /api/models/REPO` says what the repository is; `GET /REPO/resolve/main/PATH` redirects to the file, with
`X-Linked-Etag` and `X-Linked-Size`; `GET /api/models?search=…` lists repositories. One that is private or does not exist is a 401 to
whoever has no token; a gated one shows its listing to everybody, and its files say so in `x-error-code`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import quote, urlencode, urljoin

from blazar.adapters.net.asking import AskedByWeb
from blazar.adapters.net.hub_parcels import Contents, chosen
from blazar.adapters.net.hub_rows import About, Row, about_of, found_of, row_of
from blazar.adapters.net.patience import LONG
from blazar.adapters.net.probes import told_of
from blazar.adapters.net.web import Web
from blazar.application.ports.downloads import Wanted
from blazar.application.ports.remote import Found, Listing, Offer, Parcel, Part, RemoteFile
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, ChoiceOpen, NotFound
from blazar.domain.parcels import Role, Words
from blazar.domain.references import HUB, RemoteRef
from blazar.domain.repository import gguf_models
from blazar.domain.weight_names import is_projector, quant_of, shard_of

BASE = HUB
VARIABLE = "HF_TOKEN"
MOST_PAGES = 20
MOST_FILES = 10_000
MOST_FOUND = 100
"""Repositories of one search: the API answers no more on a page."""
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')
_SAID = ("downloads", "likes", "gated", "lastModified", "siblings", "gguf", "safetensors")
"""What a search shall say of each repository."""


class HuggingFace(AskedByWeb):
    """Repositories of models, on their `main` branch."""

    def __init__(self, base: str = BASE, token: str = "", variable: str = VARIABLE) -> None:
        super().__init__(Web(base, token, variable=variable))
        self._token, self._variable = token.strip(), variable

    def listing(self, ref: RemoteRef) -> Listing:
        notes: list[str] = []
        files = self._files(ref, self._rows(ref, notes))
        offers = tuple(_offers(files))
        if not offers:
            raise NotFound(teaching.remote_no_gguf(ref.repo))
        asked = _asked(ref, offers) if ref.tag else None
        return Listing(ref, offers, asked, tuple(notes))

    def parcel(self, ref: RemoteRef) -> Parcel:
        self._web.patience = LONG
        notes: list[str] = []
        files = self._files(ref, self._rows(ref, notes))
        offers = tuple(_offers(files))
        meant = _asked(ref, offers) if ref.tag and not ref.file and offers else None
        parts, quant, more = chosen(ref, Contents(files, offers), meant)
        about = self._about(ref)
        if about.gated:  # said now, in the repository's name, and not after the first of its files
            told_of(self._web, parts[0].file.at, ref.repo)
        named = ref._replace(tag=quant) if quant and not ref.file else ref
        return Parcel(named, tuple(map(self._promised, parts)), Words(licence=about.licence), (*notes, *more))

    def wanted(self, file: RemoteFile, path: str) -> Wanted:
        token = self._token if file.at.startswith(self._web.base + "/") else ""
        return Wanted(
            file.at, path, file.name, file.size, file.sha256, token, self._variable, file.git, empty=not file.size
        )

    def search(self, word: str, limit: int) -> tuple[Found, ...]:
        asked = [("search", word[:200]), ("filter", "gguf"), ("sort", "downloads"), ("direction", "-1")]
        limit = max(1, min(limit, MOST_FOUND))
        query = urlencode([*asked, ("limit", str(limit)), *(("expand", name) for name in _SAID)])
        rows, _ = self._web.json(f"{self._web.base}/api/models?{query}", word[:200])
        if not isinstance(rows, list):
            raise self._web.garbled("its listing is no list")
        found = [one for one in map(found_of, rows[:limit]) if one is not None]
        return tuple(sorted(found, key=lambda one: -one.downloads))

    def _rows(self, ref: RemoteRef, notes: list[str]) -> Iterator[Row]:
        """Every file that can be named in an address; that there are more than are looked at is noted."""
        url: str | None = f"{self._web.base}/api/models/{ref.repo}/tree/main?recursive=true"
        seen = 0
        for _ in range(MOST_PAGES):
            if url is None or seen > MOST_FILES:
                break
            rows, headers = self._web.json(url, ref.repo)
            if not isinstance(rows, list):
                raise self._web.garbled("its listing is no list")
            seen += len(rows)
            try:
                yield from filter(None, map(row_of, rows))
            except ValueError as odd:
                raise self._web.garbled(teaching.remote_no_digest(str(odd))) from odd
            url = self._next(headers.get("link", ""))
        if url is not None:
            notes.append(teaching.remote_listing_cut(self._web.host, seen))

    def _next(self, link: str) -> str | None:
        """The next page, on the same server only."""
        match = _NEXT.search(link)
        url = urljoin(self._web.base + "/", match[1]) if match else ""
        return url if url.startswith(self._web.base + "/") else None

    def _files(self, ref: RemoteRef, rows: Iterable[Row]) -> dict[str, RemoteFile]:
        base = f"{self._web.base}/{ref.repo}/resolve/main/"
        return {
            row.path: RemoteFile(row.path, row.size, base + quote(row.path), row.sha256, row.mark, row.git)
            for row in rows
        }

    def _about(self, ref: RemoteRef) -> About:
        """A mirror may not know; a pull needs none of it."""
        with suppress(BlazarError):
            return about_of(self._web.json(f"{self._web.base}/api/models/{ref.repo}", ref.repo)[0])
        return About()

    def _promised(self, part: Part) -> Part:
        """With the digest that the file's own address tells, where the listing tells none of a large one (case H17)."""
        if part.role is Role.FOLDER or part.file.sha256:
            return part
        told = told_of(self._web, part.file.at, part.file.name)
        mark = told.sha256 or part.file.mark or told.etag
        return part._replace(file=part.file._replace(sha256=told.sha256, mark=mark))


def _offers(files: Mapping[str, RemoteFile]) -> Iterator[Offer]:
    projectors = tuple(file for path, file in files.items() if is_projector(path.rpartition("/")[2]))
    models = gguf_models(files)
    labels = Counter(model.quant for model in models)
    for model in models:
        stem = _stem(model.files[0])
        label = model.quant if labels[model.quant] == 1 else stem
        family = stem.lower().replace(model.quant.lower(), "").strip("-._")
        yield Offer(label, family, tuple(files[path] for path in model.files), model.missing, projectors)


def _stem(path: str) -> str:
    """A model's name without folder, shard marker and suffix."""
    name = path.rpartition("/")[2]
    shard = shard_of(name)
    return shard.stem if shard else name.removesuffix(".gguf")


def _asked(ref: RemoteRef, offers: tuple[Offer, ...]) -> Offer:
    """The offer that a reference's tag means: its label, else its quantisation, else a file's name. One that is not there is none (H10)."""
    wanted = ref.tag.upper().removesuffix(".GGUF")
    ways = (
        lambda offer: offer.quant.upper() == wanted,
        lambda offer: _stem(offer.files[0].name).upper() == wanted,
        lambda offer: quant_of(offer.files[0].name) == wanted,
        lambda offer: quant_of(offer.files[0].name).removeprefix("UD-") == wanted,
    )
    for fits in ways:
        found = [offer for offer in offers if fits(offer)]
        if len(found) > 1:
            raise ChoiceOpen(ref.repo, [(offer.quant, offer.size) for offer in found])
        if found:
            return found[0]
    raise ChoiceOpen(ref.repo, [(offer.quant, offer.size) for offer in offers], asked=ref.tag)
