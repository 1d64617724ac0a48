"""The proxies of this shell are none of a test's; one that relays is here, with TLS behind it."""

import select
import socket
import ssl
import threading
from contextlib import closing
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from tests.support.registry import Registry


def forget_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the rest of the test, in both spellings that there are of each."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def behind_tls(registry: Registry, cert: Path, key: Path) -> int:
    """It speaks TLS from now on; its port. Each connection is greeted in its own thread."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    registry.server.socket = context.wrap_socket(
        registry.server.socket, server_side=True, do_handshake_on_connect=False
    )
    return registry.server.server_port


class Relay:
    """A proxy on loopback that brings whoever asks for a tunnel, whatever its name, to one port here."""

    def __init__(self, port: int) -> None:
        self.tunnels: list[str] = []
        self.relayed = 0
        """Bytes that came from behind it."""
        self._counting = threading.Lock()
        relay = self

        class Handler(StreamRequestHandler):
            def handle(self) -> None:
                word, place, _ = self.rfile.readline().decode().split(" ", 2)
                while self.rfile.readline().strip():
                    pass
                if word != "CONNECT":
                    self.wfile.write(b"HTTP/1.1 405 Tunnels only\r\ncontent-length: 0\r\n\r\n")
                    return
                relay.tunnels.append(place)
                with closing(socket.create_connection(("127.0.0.1", port), 10)) as behind:
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    relay._pass(self.connection, behind)

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _pass(self, front: socket.socket, behind: socket.socket) -> None:
        """Both ways, until one of them ends."""
        while True:
            for ready in select.select([front, behind], [], [])[0]:
                data = ready.recv(1 << 16)
                if not data:
                    return
                if ready is behind:
                    with self._counting:  # several tunnels at once
                        self.relayed += len(data)
                (front if ready is behind else behind).sendall(data)
