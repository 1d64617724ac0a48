"""Archives of sources: a repository at one commit or release, or a file at an address. Checked before anybody sees them; builds nothing.

An archive that GitHub makes of a commit names it in its first header, as `git archive` does. What names another commit, or none, is
not what was asked for. That shows a mistaken or moved address, and no forger: against one there is the digest.
GitHub makes these archives when they are asked for: without a length, without ranges, and without a digest of any kind.
"""

import gzip
import hashlib
import re
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

from blazar.adapters.net.partials import discard
from blazar.application.ports.downloads import Downloads, Told, Wanted
from blazar.application.ports.sources import Fetched, Sources
from blazar.domain import teaching
from blazar.domain.errors import Malformed, RegistryTrouble

_COMMIT = re.compile(r"[0-9a-f]{40}")
_KEPT = re.compile(r"[^A-Za-z0-9._-]+")
_BLOCK = 1 << 20
MOST_BLOCKS = 16 << 10
"""Blocks of one archive: what is larger unpacked (16 GiB) is none, and reading it would never end."""


class HttpSources(Sources):
    """Fetches into `folder`, which is made when it is needed. `base` is where repositories lie."""

    def __init__(self, downloads: Callable[[], Downloads], folder: Path, base: str) -> None:
        self._downloads, self._folder, self._base = downloads, folder, base.rstrip("/")

    def commit(self, repo: str, commit: str, sha256: str, told: Told) -> Fetched:
        url = f"{self._base}/{repo}/archive/{commit}.tar.gz"
        path = self._made(url, f"{repo.replace('/', '-')}-{commit}.tar.gz", f"{repo}@{commit[:8]}", sha256, told)
        found = commit_of(path)
        if found != commit:
            path.unlink(missing_ok=True)
            raise Malformed(teaching.fork_not_this_commit(repo, commit, found), "fork")
        return _fetched(path)

    def release(self, repo: str, tag: str, sha256: str, told: Told) -> Fetched:
        url = f"{self._base}/{repo}/archive/refs/tags/{quote(tag, safe='')}.tar.gz"
        file = _KEPT.sub("-", f"{repo}-{tag}.tar.gz")
        return _fetched(self._made(url, file, f"{repo}@{tag}", sha256, told))

    def _made(self, url: str, file: str, name: str, sha256: str, told: Told) -> Path:
        """An archive that its host makes: whole, or not at all. One that lies here already is what a build that failed left."""
        path = self._folder / file
        if not sha256 and is_whole(path):
            return path
        self._fetched(url, file, name, sha256, told)
        # Where no length was told, a connection that broke off looks like one that has no more to say.
        if not sha256 and not is_whole(path):
            path.unlink(missing_ok=True)
            raise RegistryTrouble(teaching.source_not_whole(name, urlsplit(self._base).netloc))
        return path

    def asset(self, url: str, sha256: str, told: Told) -> str:
        name = _KEPT.sub("-", url.partition("?")[0].rsplit("/", 1)[-1])[-100:].lstrip(".-") or "archive"
        # Of two lanes with files of one name each has its own.
        return str(self._fetched(url, f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{name}", name, sha256, told))

    def drop(self, path: str) -> None:
        discard(Path(path))

    def _fetched(self, url: str, file: str, name: str, sha256: str, told: Told) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / file
        self._downloads().fetch(Wanted(url, str(path), name, sha256=sha256), told)
        return path


def _fetched(path: Path) -> Fetched:
    with path.open("rb") as file:
        return Fetched(str(path), hashlib.file_digest(file, "sha256").hexdigest())


def is_whole(archive: Path) -> bool:
    """Whether it is a gzip file to its last byte, which is where its checksum is."""
    try:
        with gzip.open(archive) as file:
            return any(not file.read(_BLOCK) for _ in range(MOST_BLOCKS))
    except (OSError, EOFError, ValueError, zlib.error):
        return False


def commit_of(archive: Path) -> str:
    """The commit that an archive says it is of; "" where it says none. Reads the first headers, not the files."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            tar.next()
            said = tar.pax_headers.get("comment", "")
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return ""
    return said if _COMMIT.fullmatch(said) else ""
