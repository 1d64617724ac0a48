"""The capability registry and the sources of mainstream releases, over HTTP: small texts, bounded in bytes and seconds.

What was fetched is kept on disk with its `etag`, so that routing asks no network and an unchanged list is not sent twice. A list
that cannot be read replaces none that could.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from blazar.adapters.net.places import FILES, ours_of
from blazar.application.ports.capability import ArchitectureSource, CapabilityRegistry
from blazar.domain import arch_table, capability, teaching
from blazar.domain.capability import LaneList, read_list
from blazar.domain.errors import BlazarError, Malformed, RegistryTrouble

if TYPE_CHECKING:
    from blazar.adapters.net.web import Web

WHOLE_SECS = 10.0
"""A request and its answer (architecture document): who waits for more is a person before a terminal."""
_RELEASE = re.compile(r"b\d{3,9}")
_ETAG = re.compile(r"[\x21-\x7e]{1,200}")


class HttpCapabilityRegistry(CapabilityRegistry):
    """The list at `url()` ("": none), kept in `file`."""

    def __init__(self, url: Callable[[], str], file: Path, *, whole_secs: float = WHOLE_SECS) -> None:
        self._url, self._file, self._whole_secs = url, file, whole_secs
        self._memory: tuple[str, LaneList] | None = None

    @property
    def configured(self) -> bool:
        return bool(self._url())

    def fetch(self) -> LaneList:
        url = self._url()
        if not url:
            return LaneList()
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in capability.LOOPBACK:
            raise RegistryTrouble(teaching.registry_insecure(url))
        before = self._read(url)
        headers = {"if-none-match": before["etag"]} if before and before.get("etag") else {}
        web = _opened(url, self._whole_secs)
        try:
            with web.get(url, teaching.registry_name(), headers) as answer:
                if answer.status_code == 304 and before:
                    return self._remember(url, read_list(before["list"], host=before["host"]))
                body = _bounded(web, web.parts(answer))
                etag, host = answer.headers.get("etag", ""), answer.url.host  # where a redirect led, if there was one
        finally:
            web.close()
        found = _decoded(web, body)
        lanes = read_list(found, host=host)
        self._write({"url": url, "host": host, "etag": etag if _ETAG.fullmatch(etag) else "", "list": found})
        return self._remember(url, lanes)

    def kept(self) -> LaneList:
        url = self._url()
        if self._memory is None or self._memory[0] != url:
            lanes = LaneList()
            if before := self._read(url):
                with suppress(Malformed):  # an older Blazar's, or somebody's hand
                    lanes = read_list(before["list"], host=before["host"])
            self._remember(url, lanes)
        return self._memory[1] if self._memory else LaneList()

    def _remember(self, url: str, lanes: LaneList) -> LaneList:
        self._memory = (url, lanes)
        return lanes

    def _read(self, url: str) -> dict[str, Any]:
        """What was kept of this very address; empty where there is nothing that can be read."""
        with suppress(OSError, ValueError, RecursionError):
            if url and self._file.stat().st_size <= 2 * capability.LARGEST:
                kept = json.loads(self._file.read_bytes())
                if isinstance(kept, dict) and kept.get("url") == url and "list" in kept:
                    etag, host = kept.get("etag"), kept.get("host")
                    known = isinstance(etag, str) and isinstance(host, str) and _ETAG.fullmatch(etag)
                    return {**kept, "etag": etag if known else "", "host": host if isinstance(host, str) else ""}
        return {}

    def _write(self, kept: dict[str, Any]) -> None:
        """A list that cannot be kept is fetched again: no reason to fail."""
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{self._file.name}-", dir=self._file.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(kept, file)
                Path(name).replace(self._file)
            finally:
                Path(name).unlink(missing_ok=True)  # where it was not moved


class HttpArchitectureSource(ArchitectureSource):
    """llama.cpp's repository under `base`."""

    def __init__(self, base: str, repository: str, *, whole_secs: float = WHOLE_SECS) -> None:
        self._base, self._repository, self._whole_secs = base.rstrip("/"), repository, whole_secs

    def architectures(self, release: str) -> tuple[str, ...]:
        """ODD: whatever goes wrong is an empty answer: nobody asked for it, and without one forks are merely tried later."""
        if not _RELEASE.fullmatch(release):
            return ()
        url = f"{self._base}/{self._repository}/raw/{release}/{arch_table.PATH}"
        try:
            web = _opened(self._base, self._whole_secs)
            try:
                with web.get(url, release) as answer:
                    raw = _bounded(web, web.parts(answer))
            finally:
                web.close()
        except BlazarError:
            return ()
        return arch_table.architectures_in(raw.decode("utf-8", "replace"))


def _opened(base: str, secs: float) -> "Web":
    from blazar.adapters.net.web import (
        Web,
    )  # brings the HTTP client, 5 MB: a daemon that nobody gave a list need not hold it

    web = Web(base, read_secs=secs, whole_secs=secs, plain=True)
    web.ours = ours_of((base,) if base != FILES else (), "")
    return web


def _bounded(web: "Web", parts: Any) -> bytes:
    """A body of at most 1 MiB: a list, or a source file."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > capability.LARGEST:
            raise RegistryTrouble(teaching.registry_too_large(web.host, capability.LARGEST))
    return bytes(body)


def _decoded(web: "Web", body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise web.no_json(body) from None
