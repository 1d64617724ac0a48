"""A client that keeps its socket, so that a test can see every byte, leave at any moment, and never be helped by a library."""

import json
import socket
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Self

from tests.support.daemon import WATCHDOG

PATHS = {"openai": "/v1/chat/completions", "ollama": "/api/chat", "anthropic": "/v1/messages"}


def body_for(text: str, *, stream: bool = True, model: str = "m") -> dict[str, Any]:
    """A chat that all three dialects understand."""
    return {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream, "max_tokens": 100000}


class RawClient:
    """One request on one connection."""

    def __init__(
        self, port: int, path: str, body: Any, headers: Mapping[str, str] = MappingProxyType({}), method: str = "POST"
    ) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WATCHDOG)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"{head}content-length: {len(data)}\r\nconnection: close\r\n\r\n".encode() + data)
        self.seen = b""

    def read_until(self, mark: bytes) -> bytes:
        """Read until `mark` has been seen; fails when the connection ends first."""
        while mark not in self.seen:
            data = self.socket.recv(65536)
            assert data, f"the connection ended before {mark!r}: {self.seen[-500:]!r}"
            self.seen += data
        return self.seen

    def read_all(self) -> bytes:
        """Read to the end of the connection."""
        while data := self.socket.recv(65536):
            self.seen += data
        return self.seen

    @property
    def status(self) -> int:
        return int(self.seen.split(b" ", 2)[1])

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
