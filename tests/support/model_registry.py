"""A loopback registry that speaks ollama's protocol and Hugging Face's: publish models, switch faults on, count what was asked.

Large files lie on a second server, `network`, as registries keep theirs on content networks. The shapes are those of the
documented interfaces; what a registry may not say (evil digests, names and realms) is published as it is given.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.support.registry import Answer, Asked, Given, Registry
from tests.support.registry_faults import Fault, Stored

KIND = "application/vnd.ollama.image."
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LARGE = (".gguf", ".safetensors", ".bin", ".pt", ".onnx")
"""Suffixes of files that Hugging Face keeps apart from git (LFS)."""
_TREE = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/main")
_INFO = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)")
_RESOLVE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/main/(?P<file>.+)")

Data = bytes | Path


def digest_of(data: Data) -> str:
    """Hex SHA-256."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_mark(data: Data) -> str:
    """The id that git gives a small file."""
    body = data if isinstance(data, bytes) else data.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


class HubFile(NamedTuple):
    """One file of a repository. `digest` is its SHA-256 (LFS) or git's mark."""

    stored: Stored
    digest: str
    large: bool


class HubRepo:
    """One repository. `etags`: "linked" (on the redirect, as the hub has it), "etag" (on the file only) or "none" (case H17)."""

    def __init__(self, files: Mapping[str, Data], *, token: str, gated: bool, tags: Sequence[str], etags: str) -> None:
        self.token, self.gated, self.tags, self.etags = token, gated, tuple(tags), etags
        self.facts: dict[str, Any] = {"downloads": 0, "likes": 0, "lastModified": "2026-01-01T00:00:00.000Z"}
        self.files: dict[str, HubFile] = {}
        for name, data in files.items():
            large = name.endswith(LARGE)
            digest = digest_of(data) if large else git_mark(data)
            etag = None if etags == "none" else f'"{digest}"'
            self.files[name] = HubFile(Stored(data, etag), digest, large)

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for name, file in self.files.items():
            size = file.stored.size
            row: dict[str, Any] = {"type": "file", "oid": file.digest[:40], "size": size, "path": name}
            if file.large:
                row["lfs"] = {"oid": file.digest, "size": size, "pointerSize": 135}
            rows.append(row)
        return rows


class Auth(NamedTuple):
    """Who asks without a token is told where to get one. `realm` "": this registry's own /token."""

    realm: str = ""
    service: str = "registry"
    token: str = "anonymous-token"


class ModelRegistry(Registry):
    """Both protocols at one address: the bases of `HuggingFace` and of `OllamaRegistry` are `url`."""

    def __init__(self) -> None:
        super().__init__()
        self.network = Registry()
        self.hub: dict[str, HubRepo] = {}
        self.blobs: dict[str, Stored] = {}
        self.manifests: dict[tuple[str, str], Any] = {}
        self.auth: Auth | None = None
        self.blobs_elsewhere = True
        """Blobs are answered by a redirect to `network`, as ollama's registry does."""

    def close(self) -> None:
        super().close()
        self.network.close()

    def publish_hub(
        self,
        repo: str,
        files: Mapping[str, Data],
        *,
        token: str = "",
        gated: bool = False,
        tags: Sequence[str] = ("license:apache-2.0",),
        etags: str = "linked",
    ) -> HubRepo:
        """Files by their paths. With `token` only who has it reads them: private, or `gated`."""
        found = HubRepo(files, token=token, gated=gated, tags=tags, etags=etags)
        for file in found.files.values():
            if file.large:
                self.network.given[f"/lfs/{file.digest}"] = file.stored
        self.hub[repo] = found
        return found

    def publish(
        self, name: str, tag: str, layers: Sequence[tuple[str, Data]], *, listed: bool = True
    ) -> dict[str, Any]:
        """A model of ollama's: (kind, bytes) by layer, kinds as `model`, `template`, `params`. The manifest, which may be spoilt."""
        rows = [self._layer(KIND + kind, data) for kind, data in layers]
        config = self._layer(CONFIG, json.dumps({"model_format": "gguf", "os": "linux"}).encode())
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": rows}
        self.manifests[name, tag] = manifest
        return manifest

    def _layer(self, kind: str, data: Data) -> dict[str, Any]:
        digest = f"sha256:{digest_of(data)}"
        stored = Stored(data, f'"{digest}"')
        self.blobs[digest] = stored
        self.network.given[f"/blobs/{digest}"] = stored
        return {"mediaType": kind, "digest": digest, "size": stored.size}

    def spoil(self, digest: str, *faults: Fault) -> None:
        """Switch faults on for a file by its digest, wherever it lies."""
        bare = digest.removeprefix("sha256:")
        self.network.faults.set(f"/lfs/{bare}", *faults)
        self.network.faults.set(f"/blobs/sha256:{bare}", *faults)
        if not self.blobs_elsewhere:
            for name, _ in self.manifests:
                self.faults.set(f"/v2/{name}/blobs/sha256:{bare}", *faults)

    def find(self, asked: Asked) -> Given:
        if asked.path in self.given or unquote(urlsplit(asked.path).path) in self.given:
            return super().find(asked)
        parts = urlsplit(asked.path)
        path = unquote(parts.path)
        if path == "/token" and self.auth is not None:
            return Answer({"token": self.auth.token, "expires_in": 300})
        if path.startswith("/v2/"):
            return self._ollama(path, asked)
        if path == "/api/models":
            return Answer(self._search(parse_qs(parts.query)))
        for pattern in (_TREE, _INFO, _RESOLVE):
            if (match := pattern.fullmatch(path)) is not None:
                return self._hub(pattern, match, asked)
        return super().find(asked)

    def _ollama(self, path: str, asked: Asked) -> Given:
        if self.auth is not None and asked.headers.get("authorization") != f"Bearer {self.auth.token}":
            return self._challenge(path)
        name, _, rest = path.removeprefix("/v2/").rpartition("/manifests/")
        if name:
            manifest = self.manifests.get((name, rest))
            return Answer({"errors": [{"code": "MANIFEST_UNKNOWN"}]}, 404) if manifest is None else Answer(manifest)
        name, _, digest = path.removeprefix("/v2/").rpartition("/blobs/")
        if name and digest in self.blobs:
            if not self.blobs_elsewhere:
                return self.blobs[digest]
            return Answer(status=307, headers=(("location", f"{self.network.url}/blobs/{digest}?sig=1"),))
        if path.endswith("/tags/list"):
            name = path.removeprefix("/v2/").removesuffix("/tags/list")
            return Answer({"name": name, "tags": [tag for known, tag in self.manifests if known == name]})
        return Answer({"errors": []}, 404)

    def _challenge(self, path: str) -> Answer:
        assert self.auth is not None
        name = "/".join(path.split("/")[2:4])
        realm = self.auth.realm or f"{self.url}/token"
        told = f'Bearer realm="{realm}",service="{self.auth.service}",scope="repository:{name}:pull"'
        return Answer({"errors": [{"code": "UNAUTHORIZED"}]}, 401, (("www-authenticate", told),))

    def _hub(self, pattern: re.Pattern[str], match: re.Match[str], asked: Asked) -> Given:
        repo = self.hub.get(match["repo"])
        known = repo is not None and (not repo.token or asked.headers.get("authorization") == f"Bearer {repo.token}")
        if repo is None or not (known or (repo.gated and pattern is not _RESOLVE)):
            # Hidden and absent are one answer; a gated one shows its pages to everybody.
            gated = repo is not None and repo.gated
            headers = (("x-error-code", "GatedRepo" if gated else "RepoNotFound"),)
            realm = ("www-authenticate", 'Bearer realm="Authentication required", charset="UTF-8"')
            return Answer({"error": "Invalid username or password."}, 401, (*headers, realm))
        if pattern is _TREE:
            return Answer(repo.rows())
        if pattern is _INFO:
            return Answer(self._about(match["repo"], repo))
        file = repo.files.get(match["file"])
        if file is None:
            return Answer({"error": "Entry not found"}, 404, (("x-error-code", "EntryNotFound"),))
        if not file.large:
            return file.stored
        linked = (("x-linked-etag", f'"{file.digest}"'), ("x-linked-size", str(file.stored.size)))
        told = linked if repo.etags == "linked" else ()
        location = ("location", f"{self.network.url}/lfs/{file.digest}?sig=1")
        return Answer(status=302, headers=(location, ("x-repo-commit", "c" * 40), *told))

    def _about(self, name: str, repo: HubRepo) -> dict[str, Any]:
        siblings = [{"rfilename": file} for file in repo.files]
        gated = "manual" if repo.gated else False
        return {
            "id": name,
            "modelId": name,
            "gated": gated,
            "tags": list(repo.tags),
            "siblings": siblings,
            **repo.facts,
        }

    def _search(self, query: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
        word = query.get("search", [""])[0].lower()
        kind = query.get("filter", [""])[0]
        found = [self._about(name, repo) for name, repo in self.hub.items() if word in name.lower()]
        if kind:
            found = [one for one in found if any(row["rfilename"].endswith(f".{kind}") for row in one["siblings"])]
        found.sort(key=lambda one: -int(one["downloads"]))
        return found[: int(query.get("limit", ["1000"])[0])]

    def file_url(self, repo: str, file: str) -> str:
        """Where the hub answers for a file."""
        return f"{self.url}/{repo}/resolve/main/{quote(file)}"
