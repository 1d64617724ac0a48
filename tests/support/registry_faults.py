"""How a path of a loopback registry misbehaves, and files that are sent by the kernel: a gigabyte a second and more."""

import os
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.support.outflow import Outflow

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_MOST = 1 << 22
"""Bytes of one piece where no rate is set."""


@dataclass
class Fault:
    """Switches of one path. It holds for `times` requests (-1: all) after the first `skip`; then all is well again.

    A flipped byte counts only when it is sent: with several ranges it is one of them that is spoilt.
    """

    status: int = 0
    """Answers this instead, with `headers` (`retry-after`, `location`, `x-error-code`)."""
    headers: tuple[tuple[str, str], ...] = ()
    redirect: str = ""
    """Sends the asker there (302)."""
    flip: int = -1
    """The byte that is spoilt, counted from the beginning of the file."""
    cut: int = -1
    """Bytes of a body after which the connection is closed."""
    stall: str = ""
    """Falls silent: "before" the head, in the "head", or in the "body" after `after` bytes of it."""
    after: int = 0
    ranges: bool = True
    """False: a range is answered with everything."""
    shift: int = 0
    """Answers a range that begins so many bytes further."""
    length: int | None = None
    """What the head says its length is; as much is sent, at most what there is."""
    rate: int = 0
    """Bytes a second."""
    times: int = -1
    skip: int = 0


@dataclass
class Stored:
    """A file as it is served. `asked` are its ranges as they were asked for, `sent` the bytes of bodies that went out."""

    data: bytes | Path
    etag: str | None = '"v1"'
    headers: tuple[tuple[str, str], ...] = ()
    asked: list[str] = field(default_factory=list)
    out: Outflow = field(default_factory=Outflow)
    began: threading.Event = field(default_factory=threading.Event)
    """Set when the first body begins."""

    @property
    def sent(self) -> int:
        return self.out.total

    @property
    def size(self) -> int:
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size


class Faults:
    """All that is switched on, by path; counts what was used up. Any thread."""

    def __init__(self) -> None:
        self._by_path: dict[str, list[Fault]] = {}
        self._lock = threading.Lock()

    def set(self, path: str, *faults: Fault) -> None:
        """From now on these, the first that holds; none: all is well."""
        with self._lock:
            self._by_path[path] = list(faults)

    def take(self, path: str) -> Fault | None:
        """The one for a request that has come; one that spoils a byte is used up by `spoils`."""
        with self._lock:
            for fault in self._by_path.get(path, ()):
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                if fault.times:
                    fault.times -= 1 if fault.times > 0 and fault.flip < 0 else 0
                    return fault
        return None

    def spoils(self, fault: Fault, start: int, end: int) -> bool:
        """Whether the byte that it flips goes out now."""
        with self._lock:
            if not start <= fault.flip < end or not fault.times:
                return False
            fault.times -= 1 if fault.times > 0 else 0
            return True


class Serving:
    """One answer with the bytes of a file."""

    def __init__(
        self, request: BaseHTTPRequestHandler, stored: Stored, faults: Faults, closed: threading.Event
    ) -> None:
        self._request, self._stored, self._faults, self._closed = request, stored, faults, closed
        self._socket = request.connection

    def serve(self, fault: Fault | None) -> None:
        """Who asked may leave at any moment."""
        try:
            self._serve(fault or Fault())
        except OSError:
            self._request.close_connection = True

    def _serve(self, fault: Fault) -> None:
        told = self._request.headers.get("range", "")
        self._stored.asked.append(told)
        if self._silent(fault):
            return
        span = self._head(fault, told)
        if span is None or self._request.command == "HEAD":
            return
        self._stored.began.set()
        start, end = span
        if fault.stall == "body":
            self._send(fault, start, min(start + fault.after, end))
            self._hang()
            return
        stop = end if fault.cut < 0 else min(end, start + fault.cut)
        self._send(fault, start, stop)
        if stop < end:
            self._leave()

    def _silent(self, fault: Fault) -> bool:
        if fault.stall not in ("before", "head"):
            return False
        if fault.stall == "head":
            self._socket.sendall(b"HTTP/1.1 200 OK\r\nx-slow: ")
        self._hang()
        return True

    def _head(self, fault: Fault, told: str) -> tuple[int, int] | None:
        """The span that is sent; None where there is no body."""
        request, stored = self._request, self._stored
        size, match = stored.size, _RANGE.fullmatch(told)
        unchanged = request.headers.get("if-range", stored.etag) == stored.etag
        start, end = 0, size
        if match and fault.ranges and unchanged:
            start, end = int(match[1]), min(int(match[2] or size - 1) + 1, size)
            if start >= size:
                request.send_response(416)
                request.send_header("content-range", f"bytes */{size}")
                request.send_header("content-length", "0")
                request.end_headers()
                return None
            start = min(start + fault.shift, end - 1)
            request.send_response(206)
            request.send_header("content-range", f"bytes {start}-{end - 1}/{size}")
        else:
            request.send_response(200)
        length = end - start if fault.length is None else fault.length
        for name, value in (*stored.headers, *fault.headers):
            request.send_header(name, value)
        if stored.etag:
            request.send_header("etag", stored.etag)
        request.send_header("accept-ranges", "bytes" if fault.ranges else "none")
        request.send_header("content-length", str(length))
        request.end_headers()
        if length > end - start:
            self._request.close_connection = True
        return start, min(end, start + length)

    def _send(self, fault: Fault, start: int, end: int) -> None:
        if fault.flip >= 0 and self._faults.spoils(fault, start, end):
            self._pieces(fault, start, fault.flip)
            (byte,) = self._read(fault.flip, fault.flip + 1)
            self._stored.out.send(self._socket, bytes([byte ^ 1]))
            start = fault.flip + 1
        self._pieces(fault, start, end)

    def _pieces(self, fault: Fault, start: int, end: int) -> None:
        """At its rate: ten pieces a second, else as large as they go."""
        step = max(fault.rate // 10, 1) if fault.rate else _MOST
        for at in range(start, end, step):
            until = min(at + step, end)
            self._piece(at, until)
            if fault.rate and self._closed.wait((until - at) / fault.rate):
                raise ConnectionAbortedError

    def _piece(self, start: int, end: int) -> None:
        if isinstance(self._stored.data, bytes):
            self._stored.out.send(self._socket, memoryview(self._stored.data)[start:end])
            return
        with self._stored.data.open("rb") as file:
            self._stored.out.send_file(self._socket, file, start, end)

    def _read(self, start: int, end: int) -> bytes:
        if isinstance(self._stored.data, bytes):
            return self._stored.data[start:end]
        with self._stored.data.open("rb") as file:
            return os.pread(file.fileno(), end - start, start)

    def _hang(self) -> None:
        """Until the registry closes, or the asker does."""
        self._stored.began.set()
        self._socket.settimeout(0.02)
        while not self._closed.is_set():
            try:
                if not self._socket.recv(1):
                    break
            except TimeoutError:
                continue
        self._request.close_connection = True

    def _leave(self) -> None:
        self._request.close_connection = True
