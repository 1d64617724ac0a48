"""A server on loopback: canned answers, files served by ranges (or not), redirects, and faults switched on by path.

`tests/support/model_registry.py` speaks the two protocols on top of it, `registry_faults.py` has the switches.
"""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from blazar.application.ports.remote import Offer, RemoteFile
from tests.support.gguf_files import Gguf
from tests.support.outflow import Outflow
from tests.support.registry_faults import Faults, Serving, Stored

WATCHDOG = 60.0


class Asked(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    method: str = "GET"


class Blob:
    """A file. `size` may be larger than `front`: what follows is zeros, made as they are sent."""

    def __init__(self, front: bytes, size: int | None = None, *, ranges: bool = True) -> None:
        self.front, self.size, self.ranges = front, len(front) if size is None else size, ranges
        self.out = Outflow()

    @property
    def sent(self) -> int:
        return self.out.total

    def part(self, start: int, end: int) -> bytes:
        piece = self.front[start:end]
        return piece + bytes(end - start - len(piece))


class Answer(NamedTuple):
    """Status, headers and body of a canned answer; a body that is no bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class Drip(NamedTuple):
    """An answer that is never done: a byte at a time, of its body or already of its head, until the registry closes."""

    head: bool = False


Given = Answer | Blob | Drip | Stored | Callable[[Asked], Answer]


class Registry:
    """Answers by path, without its query; anything else is 404. `asked` holds every request in order.

    `faults.set(path, Fault(…))` spoils what is answered there.
    """

    def __init__(self) -> None:
        self.given: dict[str, Given] = {}
        self.asked: list[Asked] = []
        self.tunnels: list[str] = []
        self.faults = Faults()
        self.closed = threading.Event()
        self._came = threading.Condition()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry._handle(self)

            def do_HEAD(self) -> None:
                registry._handle(self)

            def do_CONNECT(self) -> None:
                """As a proxy that refuses would; who asked for a tunnel is remembered."""
                registry.tunnels.append(self.path)
                self.send_error(403)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign] # a reader that leaves is no news
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.closed.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def heard(self, count: int) -> list[str]:
        """The same, once so many have come: who gave up on an answer may be done before its question was read."""
        with self._came:
            self._came.wait_for(lambda: len(self.asked) >= count, WATCHDOG)
            return self.paths()

    def find(self, asked: Asked) -> Given:
        """What is answered; subclasses know more."""
        path = unquote(urlsplit(asked.path).path)
        return self.given.get(asked.path) or self.given.get(path) or Answer({"error": "not found"}, 404)

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        asked = Asked(
            request.path, {name.lower(): value for name, value in request.headers.items()}, request.command or "GET"
        )
        with self._came:
            self.asked.append(asked)
            self._came.notify_all()
        fault = self.faults.take(unquote(urlsplit(asked.path).path))
        if fault is not None and (fault.status or fault.redirect):
            location = (("location", fault.redirect),) if fault.redirect else ()
            _send(request, Answer(b"", fault.status or 302, (*fault.headers, *location)))
            return
        given = self.find(asked)
        if isinstance(given, Drip):
            self._drip(request, given)
            return
        if isinstance(given, Blob):
            _send_blob(request, asked, given)
            return
        if isinstance(given, Stored):
            Serving(request, given, self.faults, self.closed).serve(fault)
            return
        answer = given if isinstance(given, Answer) else given(asked)
        if fault is not None and answer.status == 200:
            given = Stored(_body(answer), None, answer.headers)
            Serving(request, given, self.faults, self.closed).serve(fault)
            return
        _send(request, answer)

    def _drip(self, request: BaseHTTPRequestHandler, given: Drip) -> None:
        head = b"HTTP/1.1 200 OK\r\n"
        request.wfile.write(head + b"x-slow: " if given.head else head + b"content-length: 100000\r\n\r\n")
        while not self.closed.wait(0.01):
            request.wfile.write(b"1")


def _body(answer: Answer) -> bytes:
    return answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()


def _send(request: BaseHTTPRequestHandler, answer: Answer) -> None:
    data = _body(answer)
    request.send_response(answer.status)
    names = {name.lower() for name, _ in answer.headers}
    for name, value in answer.headers:
        request.send_header(name, value)
    if "content-length" not in names:
        request.send_header("content-length", str(len(data)))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(data)


def _send_blob(request: BaseHTTPRequestHandler, asked: Asked, blob: Blob) -> None:
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.headers.get("range", ""))
    start, end = 0, blob.size
    if match and blob.ranges:
        start, end = int(match[1]), min(int(match[2]) + 1, blob.size)
        request.send_response(206)
        request.send_header("content-range", f"bytes {start}-{end - 1}/{blob.size}")
    else:
        request.send_response(200)
    request.send_header("content-length", str(end - start))
    request.end_headers()
    for at in range(start, end, 1 << 16):
        blob.out.send(request.connection, blob.part(at, min(at + (1 << 16), end)))


def weights(file: Gguf, name: str = "m.gguf") -> tuple[RemoteFile, Blob]:
    """A file of a registry, and how it is served."""
    data = file.build()
    return RemoteFile(name, len(data), f"/{name}"), Blob(data)


def hub_rows(*files: tuple[str, int]) -> list[dict[str, Any]]:
    """A page of Hugging Face's tree, in the shape in which it is answered: weights with their `lfs` entry, folders apart."""
    rows: list[dict[str, Any]] = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": "sub"}]
    for path, size in files:
        row: dict[str, Any] = {"type": "file", "oid": "a" * 40, "size": size, "path": path}
        if path.endswith(".gguf"):
            row["lfs"] = {"oid": "b" * 64, "size": size, "pointerSize": 135}
        rows.append(row)
    return rows


def manifest(size: int, digest: str = "c" * 64, *, projector: tuple[int, str] | None = None) -> dict[str, Any]:
    """A manifest as ollama's registry answers it."""
    layers = [
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": size},
        {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{'d' * 64}", "size": 120},
        {"mediaType": "application/vnd.ollama.image.license", "digest": f"sha256:{'e' * 64}", "size": 11000},
    ]
    if projector:
        kind = "application/vnd.ollama.image.projector"
        layers.append({"mediaType": kind, "digest": f"sha256:{projector[1]}", "size": projector[0]})
    config = {
        "mediaType": "application/vnd.docker.container.image.v1+json",
        "digest": f"sha256:{'f' * 64}",
        "size": 488,
    }
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    return {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}


def offer(
    quant: str, size: int, *, family: str = "m", missing: int = 0, projectors: tuple[RemoteFile, ...] = ()
) -> Offer:
    """An offer of one file."""
    return Offer(quant, family, (RemoteFile(f"{family}-{quant}.gguf", size, f"/{quant}"),), missing, projectors)
