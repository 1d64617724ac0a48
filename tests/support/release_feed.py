"""A host of releases on loopback in GitHub's JSON shape, whose files can be cut, spoilt, held back, redirected and rate-limited."""

import hashlib
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.registry import Answer, Asked, Registry

REPOSITORY = "ggml-org/llama.cpp"


@dataclass
class Served:
    """One file and how badly it is served. `asked` are its ranges in the order of arrival."""

    data: bytes
    ranges: bool = True
    etag: str = '"v1"'
    spoil: int = 0
    """How many answers begin with a wrong byte."""
    stop_after: int = 0
    """Bytes after which each of `cuts` answers is cut off."""
    cuts: int = 0
    stall: bool = False
    """Sends nothing after the head, or, with `stall_head`, nothing at all."""
    stall_head: bool = False
    length: int | None = None
    """What it says its length is, and how much of it is sent."""
    chunked: bool = False
    redirect: str = ""
    status: int = 200
    pace: float = 0.0
    """Seconds between two blocks of 64 KiB."""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)


class ReleaseHost(Registry):
    """`files` by path; the JSON of releases stands in `given`, as in any `Registry`."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        super().__init__()

    def add(self, path: str, served: Served | bytes) -> str:
        """Serve a file; its address."""
        self.files[path] = served if isinstance(served, Served) else Served(served)
        return self.url + path

    def publish(self, releases: list[dict[str, Any]], repository: str = REPOSITORY) -> None:
        """Answer for a repository, newest release first, as the host lists them."""
        base = f"/repos/{repository}/releases"
        self.given[base] = Answer(releases)
        stable = [one for one in releases if not one["prerelease"]]
        self.given[f"{base}/latest"] = Answer(stable[0]) if stable else Answer({"message": "Not Found"}, 404)
        for one in releases:
            self.given[f"{base}/tags/{one['tag_name']}"] = Answer(one)

    def limit(self, repository: str = REPOSITORY, *, reset: int = 4_102_444_800) -> None:
        """Refuse everything, as the host does to an address that asked too often."""
        headers = (("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", str(reset)))
        base = f"/repos/{repository}/releases"
        for path in (base, f"{base}/latest"):
            self.given[path] = Answer({"message": "API rate limit exceeded"}, 403, headers)

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        served = self.files.get(request.path)
        if served is None:
            super()._handle(request)
            return
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append(Asked(request.path, headers))
        served.headers.append(headers)
        served.asked.append(headers.get("range", ""))
        try:
            self._serve(request, served, headers)
        except OSError:  # who asked has left
            request.close_connection = True

    def _serve(self, request: BaseHTTPRequestHandler, served: Served, headers: dict[str, str]) -> None:
        if served.redirect:
            request.send_response(302)
            request.send_header("location", served.redirect)
            request.send_header("content-length", "0")
            request.end_headers()
            return
        if served.stall_head:
            served.started.set()
            self.closed.wait()
            request.close_connection = True
            return
        start, end = self._head(request, served, headers)
        served.started.set()
        if served.stall:
            self.closed.wait()
            request.close_connection = True
            return
        self._send(request, served, start, end)

    def _head(self, request: BaseHTTPRequestHandler, served: Served, headers: dict[str, str]) -> tuple[int, int]:
        size = len(served.data)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        told = headers.get("if-range", served.etag)
        start, end = 0, size
        if match and served.ranges and told == served.etag:
            start, end = int(match[1]), min(int(match[2] or size - 1) + 1, size)
            if start >= size:
                request.send_response(416)
                request.send_header("content-length", "0")
                request.end_headers()
                return 0, 0
            request.send_response(206)
            request.send_header("content-range", f"bytes {start}-{end - 1}/{size}")
        else:
            request.send_response(served.status)
        if served.etag:
            request.send_header("etag", served.etag)
        if served.length is not None:
            end = min(end, served.length)
        if served.chunked:
            request.close_connection = True
            request.send_header("connection", "close")
        else:
            request.send_header("content-length", str(end - start))
        request.end_headers()
        return start, end

    def _send(self, request: BaseHTTPRequestHandler, served: Served, start: int, end: int) -> None:
        cut = end
        if served.cuts and served.stop_after:
            served.cuts -= 1
            cut = min(end, start + served.stop_after)
        for at in range(start, cut, 1 << 16):
            piece = served.data[at : min(at + (1 << 16), cut)]
            if served.spoil and at == start:
                served.spoil -= 1
                piece = bytes([piece[0] ^ 1]) + piece[1:]
            request.wfile.write(piece)
            if served.pace and self.closed.wait(served.pace):
                break
        if cut < end:
            request.close_connection = True


def asset(name: str, url: str, data: bytes, **changes: Any) -> dict[str, Any]:
    """A file of a release as the host tells of it."""
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    row = {"name": name, "browser_download_url": url, "size": len(data), "digest": digest, "state": "uploaded"}
    return {**row, **changes}


def release(tag: str, *assets: dict[str, Any], prerelease: bool = True, day: int = 1, body: str = "") -> dict[str, Any]:
    """A release as the host tells of it; `day` orders them."""
    published = f"2026-11-{day:02d}T00:00:00Z"
    return {
        "tag_name": tag,
        "draft": False,
        "prerelease": prerelease,
        "published_at": published,
        "body": body,
        "assets": list(assets),
    }
