"""GitHub's API as far as releases of engines need it. Downloads nothing that is installed.

Facts of the API: `GET /repos/OWNER/NAME/releases?per_page=N` lists releases, `…/releases/latest` is the newest that is no
prerelease, `…/releases/tags/TAG` one of them. A release has `tag_name`, `prerelease`, `draft`, `published_at`, `body` and
`assets`, each with `name`, `size`, `browser_download_url` and, since 2025, `digest` ("sha256:…"). An address that asked too
often (60 times an hour without an account) gets 403 or 429 with `x-ratelimit-remaining: 0` and, in `x-ratelimit-reset`, the
Unix time from which it may ask again.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from blazar.adapters.net.places import API, BASE_VARIABLE, FILES, FILES_VARIABLE, ours_of
from blazar.adapters.net.web import READ_SECS, Web, checked_base
from blazar.application.ports.releases import ReleaseFeed
from blazar.domain import teaching
from blazar.domain.addresses import is_inside
from blazar.domain.errors import BlazarError, Busy, NotFound, RegistryTrouble
from blazar.domain.releases import MARKER, Asset, Release, stamped_by, stamped_in

LISTED = 30
"""Releases of one listing: llama.cpp makes up to twenty a day, and its stable ones stand between them."""
LARGEST = 2**40
LONGEST_TEXT = 1 << 20
_HEX = frozenset("0123456789abcdef")


class _Api(Web):
    """What GitHub means by its refusals."""

    def _judge(self, answer: httpx.Response, what: str) -> None:
        if answer.status_code in (403, 429) and "x-ratelimit-reset" in answer.headers:
            raise _limited(self.host, answer.headers)
        super()._judge(answer, what)

    def _offline(self, why: str) -> str:
        return teaching.release_feed_offline(self.host, why, BASE_VARIABLE)


class GithubReleases(ReleaseFeed):
    """`base` serves the API and, under `/OWNER/NAME/releases/download/TAG/NAME`, files; unset, each has a host of its own.

    `files` is another place of files, which lie there as `TAG/NAME`.
    """

    def __init__(self, base: str = "", files: str = "", *, read_secs: float = READ_SECS) -> None:
        self._own = base.rstrip("/")
        self._files = files.rstrip("/")
        self._web = _Api(self._own or API, read_secs=read_secs)
        self._web.ours = ours_of((self._own, self._files), BASE_VARIABLE)

    def listing(self, repository: str) -> tuple[Release, ...]:
        rows = self._json(f"/repos/{repository}/releases?per_page={LISTED}", repository)
        if not isinstance(rows, list):
            raise self._web.garbled("its listing is no list")
        return tuple(self._release(row, repository) for row in rows if _usable(row))

    def stable(self, repository: str) -> Release:
        try:
            return self._one(f"/repos/{repository}/releases/latest", repository, repository)
        except NotFound:
            raise NotFound(teaching.no_stable_release(repository)) from None

    def tagged(self, repository: str, tag: str) -> Release:
        path = f"/repos/{repository}/releases/tags/{quote(tag, safe='')}"
        try:
            return self._one(path, repository, f"release '{tag}' of {repository}")
        except NotFound:
            raise NotFound(teaching.no_release_tag(repository, tag)) from None

    def text(self, asset: Asset) -> str:
        raw = bytearray()
        with self._web.get(asset.url, asset.name) as answer:
            for part in self._web.parts(answer):
                raw += part
                if len(raw) > LONGEST_TEXT:
                    raise self._web.garbled(f"{asset.name} is longer than 1 MiB")
        return raw.decode("utf-8", "replace")

    def stop(self, why: BlazarError) -> None:
        self._web.stop(why)

    def close(self) -> None:
        self._web.close()

    def _json(self, path: str, what: str) -> Any:
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
        return self._web.json(self._web.base + path, what, headers)[0]

    def _one(self, path: str, repository: str, what: str) -> Release:
        row = self._json(path, what)
        if not _usable(row):
            raise self._web.garbled("it is no release")
        found = self._release(row, repository)
        marker = None if found.prerelease or found.stamps else found.asset(MARKER)
        return found if marker is None else found._replace(stamps=stamped_by(self.text(marker)))

    def _release(self, row: Mapping[str, Any], repository: str) -> Release:
        tag, body = row["tag_name"], row.get("body")
        rows = row.get("assets")
        assets = [self._asset(one, repository, tag) for one in rows if isinstance(one, dict)] if rows else []
        return Release(
            tag,
            row.get("prerelease") is True,
            str(row.get("published_at") or ""),
            tuple(asset for asset in assets if asset is not None),
            stamped_in(body) if isinstance(body, str) else "",
        )

    def _asset(self, row: Mapping[str, Any], repository: str, tag: str) -> Asset | None:
        name, url, size = row.get("name"), row.get("browser_download_url"), row.get("size")
        if not isinstance(name, str) or not isinstance(url, str) or not _is_file_name(name):
            return None
        if row.get("state", "uploaded") != "uploaded":  # its upload has not ended
            return None
        if not self._own and is_inside(urlsplit(url).hostname or ""):
            return None  # only a mirror that somebody named lies in this network
        known = size if type(size) is int and 0 <= size <= LARGEST else 0
        return Asset(name, self._place(url, repository, tag, name), known, _digest(row.get("digest")))

    def _place(self, url: str, repository: str, tag: str, name: str) -> str:
        """Where a file is fetched. A mirror may repeat GitHub's answers as they are: its files lie at the mirror then."""
        if self._files:
            return f"{self._files}/{quote(tag, safe='')}/{quote(name)}"
        if self._own and urlsplit(url).hostname == urlsplit(FILES).hostname:
            return f"{self._own}/{repository}/releases/download/{quote(tag, safe='')}/{quote(name)}"
        return url


def open_feed(env: Mapping[str, str], *, read_secs: float = READ_SECS) -> GithubReleases:
    """The host that the environment names; asks nothing yet. Raises `RegistryTrouble` for what is no address."""
    base, files = env.get(BASE_VARIABLE, ""), env.get(FILES_VARIABLE, "")
    for variable, value in ((BASE_VARIABLE, base), (FILES_VARIABLE, files)):
        if value:
            checked_base(variable, value)
    return GithubReleases(base, files, read_secs=read_secs)


def _usable(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("tag_name"), str) and row.get("draft") is not True


def _is_file_name(name: str) -> bool:
    return (
        0 < len(name) <= 200 and not set(name) & set('/\\:*?"<>|') and name.isprintable() and not name.startswith(".")
    )


def _digest(told: Any) -> str:
    """The hex SHA-256 of a `digest`; "" where it is missing or another algorithm's."""
    text = told.lower().removeprefix("sha256:") if isinstance(told, str) else ""
    return text if len(text) == 64 and set(text) <= _HEX else ""


def _limited(host: str, headers: Mapping[str, str]) -> BlazarError:
    text = headers.get("x-ratelimit-reset", "")
    now = datetime.now(UTC).timestamp()
    until = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else int(now) + 3600
    moment = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if headers.get("x-ratelimit-remaining", "0") != "0":
        return RegistryTrouble(teaching.remote_said(host, 403))
    return Busy(teaching.release_feed_limited(host, moment), max(1.0, until - now))
