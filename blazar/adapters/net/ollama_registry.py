"""Ollama's registry: a tag's manifest, the tags beside it, what a pull of it brings, and where a layer lies.

Facts of the API (that of container registries): `GET /v2/REPO/manifests/TAG` answers `layers` of `mediaType`, `digest`, `size`,
the weights among them as `application/vnd.ollama.image.model`, or a list of `manifests` by digest; `GET /v2/REPO/blobs/DIGEST` redirects to the bytes and takes
ranges; `GET /v2/REPO/tags/list` answers `tags` where the registry offers it.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from blazar.adapters.net.asking import AskedByWeb
from blazar.adapters.net.ollama_layers import (
    TENSOR,
    Layer,
    layers_of,
    parts_of,
    texts_of,
    words_of,
)
from blazar.adapters.net.patience import LONG
from blazar.adapters.net.web import Web
from blazar.application.ports.remote import Listing, Offer, Parcel
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, NotFound
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef

BASE = "https://registry.ollama.ai"
MOST_TAGS = 32
"""Manifests read of one model: its sizes times their quantisations can be a hundred."""
MOST_NAMED = 20
"""Of the tags that were not looked at."""
AT_ONCE = 8
LONGEST_MANIFEST = 1 << 20
"""Bytes: real ones are some thousand, those of a model in a thousand tensors 200,000."""
_MANIFEST = {
    "accept": "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.index.v1+json"
}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class OllamaRegistry(AskedByWeb):
    """Models of a registry that speaks ollama's manifests."""

    def __init__(self, base: str = BASE) -> None:
        super().__init__(Web(base))

    def listing(self, ref: RemoteRef) -> Listing:
        asked = self._offer(ref, ref.tag)
        alike = [tag for tag in self._tags(ref) if tag != ref.tag and _size_of(tag) == _size_of(ref.tag)]
        others, left = alike[:MOST_TAGS], alike[MOST_TAGS:]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda tag: self._offer_if_any(ref, tag), others))
        offers = [asked, *(offer for offer in found if offer is not None)]
        # Several tags may name the very same bytes (`8b`, `latest`): one row, by the tag that was asked for or says most.
        unique: dict[tuple[str, ...], Offer] = {}
        for offer in offers:
            unique.setdefault(tuple(file.at for file in offer.files), offer)
        notes = (teaching.fit_more_there(left[:MOST_NAMED], len(left)),) if left else ()
        return Listing(ref, tuple(unique.values()), asked, notes)

    def parcel(self, ref: RemoteRef) -> Parcel:
        self._web.patience = LONG
        name = _name(ref, ref.tag)
        layers = self._layers(ref, ref.tag, name)
        parts = tuple(parts_of(layers, name, lambda digest: self._address(ref, digest)))
        if all(part.role is Role.PROJECTOR for part in parts):
            tensors = any(layer.kind == TENSOR for layer in layers)
            raise NotFound(teaching.remote_tensors_only(name) if tensors else teaching.remote_no_gguf(name))
        texts, left = texts_of(layers)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            bodies = list(pool.map(lambda layer: self._text(ref, layer, name), texts))
        words, unread = words_of(list(zip(texts, bodies, strict=True)), name, self._web.garbled)
        left = (*left, *unread)
        return Parcel(ref, parts, words, (teaching.remote_words_left(name, left),) if left else ())

    def _tags(self, ref: RemoteRef) -> list[str]:
        """The tags beside the one that was asked for; none where the registry does not say."""
        try:
            answer, _ = self._web.json(f"{self._web.base}/v2/{ref.repo}/tags/list", ref.repo)
        except BlazarError:
            return []
        tags = answer.get("tags") if isinstance(answer, dict) else None
        if not isinstance(tags, list):
            return []
        return [tag for tag in tags if isinstance(tag, str) and _TAG.fullmatch(tag)]

    def _offer_if_any(self, ref: RemoteRef, tag: str) -> Offer | None:
        try:
            return self._offer(ref, tag)
        except BlazarError:
            return None  # a row less; the tag that was asked for is there

    def _offer(self, ref: RemoteRef, tag: str) -> Offer:
        name = _name(ref, tag)
        parts = list(parts_of(self._layers(ref, tag, name), name, lambda digest: self._address(ref, digest)))
        files = tuple(part.file for part in parts if part.role is Role.WEIGHTS)
        if not files:
            raise NotFound(teaching.remote_no_gguf(name))
        return Offer(tag, _size_of(tag), files, 0, tuple(part.file for part in parts if part.role is Role.PROJECTOR))

    def _layers(self, ref: RemoteRef, tag: str, name: str) -> tuple[Layer, ...]:
        return layers_of(self._manifest(ref, tag, name), self._web.garbled)

    def _address(self, ref: RemoteRef, digest: str) -> str:
        return f"{self._web.base}/v2/{ref.repo}/blobs/{digest}"

    def _text(self, ref: RemoteRef, layer: Layer, name: str) -> bytes:
        """A small layer, whole; no more of it is read than its manifest says."""
        what = f"the {layer.kind} of {name}"
        return self._web.patiently(lambda: self._read(self._address(ref, layer.digest), what, layer, name), what)

    def _read(self, url: str, what: str, layer: Layer, name: str) -> bytes:
        body = bytearray()
        with closing(self._web.ask(url, what)) as answer:
            for part in self._web.parts(answer):
                body += part
                if len(body) > layer.size:
                    raise self._web.garbled(teaching.remote_layer_differs(name, layer.kind))
        return bytes(body)

    def _manifest(self, ref: RemoteRef, tag: str, name: str) -> Any:
        """A tag's manifest; of a list of them, one a runner, the one for our engine's kind of file."""
        manifest = self._one(ref, tag, name)
        children = manifest.get("manifests") if isinstance(manifest, dict) else None
        if not isinstance(children, list):
            return manifest
        digests = [(json.dumps(child), child.get("digest")) for child in children[:100] if isinstance(child, dict)]
        known = [(text, digest) for text, digest in digests if isinstance(digest, str) and _DIGEST.fullmatch(digest)]
        if not known:
            raise self._web.garbled("its manifest lists no others by digest")
        ours = [digest for text, digest in known if "llamacpp" in text]
        return self._one(ref, (ours or [digest for _, digest in known])[0], name)

    def _one(self, ref: RemoteRef, which: str, name: str) -> Any:
        return self._web.json(f"{self._web.base}/v2/{ref.repo}/manifests/{which}", name, _MANIFEST, LONGEST_MANIFEST)[0]


def _name(ref: RemoteRef, tag: str) -> str:
    """As people say it."""
    return f"{ref.repo.removeprefix('library/')}:{tag}"


def _size_of(tag: str) -> str:
    """The part of a tag that names the model's size (`8b` of `8b-instruct-q4_K_M`): tags that share it differ in the quantisation."""
    return tag.partition("-")[0].lower()
