"""Clients over HTTP/2 that ask for an answer and do not take it: what they held is free within a second of their going (cases K1, K6)."""

import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest

from tests.faults.streams import PATHS, body_for
from tests.faults.test_tls import Secure, configured
from tests.support.certificates import pair
from tests.support.daemon import WATCHDOG, Daemon, wait_until
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny

KEYS = """
spawn_mem_guard = false
slots = 1
[[keys]]
name = "owner"
key = "plm_the-owners-own-secret"
[[keys]]
name = "single"
key = "plm_one-at-a-time-secret"
max_concurrent = 1
"""
OWNER, SINGLE = {"x-api-key": "plm_the-owners-own-secret"}, {"x-api-key": "plm_one-at-a-time-secret"}
PROMPTLY = 1.0
"""Seconds from a client's going to its places (the audit's figure); the bound of the test adds what a busy machine needs."""


@pytest.fixture(scope="module", params=["clear", "tls"])
def daemon(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One slot, a key with one place, and a model that never stops talking."""
    home = tmp_path_factory.mktemp("leavers")
    secure = request.param == "tls"
    config = (configured(*pair(home / "tls")) if secure else "") + KEYS
    made = (Secure if secure else Daemon)(home, config, {"BLAZAR_ENGINE_PATH": str(stub_server(home / "bin"))})
    made.must("import", str(replace(tiny(), noise=1).save(home / "m.gguf")), "--name", "m")
    with made:
        made.must("load", "m")
        yield made


class H2Client:
    """A connection whose every frame a test decides on."""

    def __init__(self, daemon: Daemon, **settings: int) -> None:
        self.socket: socket.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=WATCHDOG)
        if isinstance(daemon, Secure):
            trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            trusting.set_alpn_protocols(["h2"])
            self.socket = trusting.wrap_socket(self.socket)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(validate_outbound_headers=False))
        codes = {h2.settings.SettingCodes[name.upper()]: value for name, value in settings.items()}
        self.h2.local_settings = h2.settings.Settings(client=True, initial_values=codes)
        self.h2.initiate_connection()
        self.status: dict[int, int] = {}
        self.got: dict[int, bytes] = {}
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> int:
        """Send a request; its stream."""
        stream = self.h2.get_next_available_stream_id()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        pseudo = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "localhost")]
        self.h2.send_headers(stream, [*pseudo, *headers.items()], end_stream=not data)
        if data:
            self.h2.send_data(stream, data, end_stream=True)
        self.flush()
        return stream

    def read_until(self, done: Callable[[], bool]) -> None:
        """Read frames, and open no window."""
        while not done():
            data = self.socket.recv(65536)
            assert data, f"the connection ended: {self.status} {self.got}"
            for event in self.h2.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    head = {bytes(name): value for name, value in event.headers}
                    self.status[event.stream_id] = int(head[b":status"])
                elif isinstance(event, h2.events.DataReceived):
                    self.got[event.stream_id] = self.got.get(event.stream_id, b"") + event.data
            self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def free(daemon: Daemon) -> bool:
    """Nothing is worked on, nothing waits, and the counters say so."""
    rows = daemon.ask("GET", "/api/ps", headers=OWNER).json()["models"]
    counted = daemon.ask("GET", "/metrics", headers=OWNER).body.decode()
    working = [line for line in counted.splitlines() if line.startswith("blazar_child_in_flight{")]
    return all(not row["in_flight"] and not row["waiting"] for row in rows) and all(
        line.endswith(" 0") for line in working
    )


def freed_promptly(daemon: Daemon) -> None:
    """The slot and the key's only place."""
    began = time.monotonic()
    assert wait_until(lambda: free(daemon), WATCHDOG)
    asked = {**body_for("stub:tokens=1", stream=False), "max_tokens": 2}
    assert wait_until(lambda: daemon.ask("POST", PATHS["openai"], asked, SINGLE).status == 200, WATCHDOG)
    assert time.monotonic() - began < 3 * PROMPTLY


def begin(client: H2Client, **more: Any) -> int:
    """An answer that fills whatever there is to fill."""
    stream = client.ask("POST", PATHS["openai"], {**body_for("stub:tokens=1000000"), **more}, SINGLE)
    client.read_until(lambda: stream in client.status)
    return stream


def held(daemon: Daemon) -> None:
    """Its places are taken, and it is refused a second one."""
    assert wait_until(lambda: not free(daemon), WATCHDOG)
    assert daemon.ask("POST", PATHS["openai"], body_for("no"), SINGLE).status == 429


def leave_by_reset(client: H2Client, stream: int) -> None:
    client.h2.reset_stream(stream)
    client.flush()


def leave_by_goaway(client: H2Client, stream: int) -> None:
    client.h2.close_connection()
    client.flush()


def leave_by_closing(client: H2Client, stream: int) -> None:
    client.socket.close()


def leave_by_half_closing(client: H2Client, stream: int) -> None:
    client.socket.shutdown(socket.SHUT_WR)


LEAVING = [leave_by_reset, leave_by_goaway, leave_by_closing, leave_by_half_closing]


@pytest.mark.parametrize("leave", LEAVING)
def test_an_answer_that_is_not_read_is_given_up_with_its_client(
    daemon: Daemon, leave: Callable[[H2Client, int], None]
) -> None:
    """The window is full; however the client goes, nobody waits for it any longer."""
    with H2Client(daemon) as client:
        stream = begin(client)
        client.read_until(lambda: len(client.got.get(stream, b"")) >= 65535)
        held(daemon)
        leave(client, stream)
        freed_promptly(daemon)


@pytest.mark.parametrize("leave", LEAVING)
def test_a_client_that_reads_no_byte_is_given_up_when_it_goes(
    daemon: Daemon, leave: Callable[[H2Client, int], None]
) -> None:
    """Its windows are as large as they can be, so that it is the socket which is full."""
    with H2Client(daemon, initial_window_size=2**31 - 1) as client:
        client.h2.increment_flow_control_window(2**30)
        stream = begin(client)
        held(daemon)
        leave(client, stream)
        freed_promptly(daemon)


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("stream", [False, True])
def test_a_window_of_nothing_holds_a_tiny_answer_no_longer_than_its_client_stays(
    daemon: Daemon, leave: Callable[[H2Client, int], None], stream: bool
) -> None:
    """SETTINGS_INITIAL_WINDOW_SIZE = 0: the head arrives, and not one byte of the body may leave."""
    with H2Client(daemon, initial_window_size=0) as client:
        asked = {**body_for("stub:tokens=1", stream=stream), "max_tokens": 2}
        number = client.ask("POST", PATHS["openai"], asked, SINGLE)
        client.read_until(lambda: number in client.status)
        assert daemon.ask("POST", PATHS["openai"], body_for("no"), SINGLE).status == 429
        leave(client, number)
        freed_promptly(daemon)


def test_other_streams_of_a_connection_go_on(daemon: Daemon) -> None:
    """One that is reset, one refused while its body still comes, and then one that is served, on the same connection."""
    with H2Client(daemon) as client:
        stream = begin(client)
        leave_by_reset(client, stream)
        freed_promptly(daemon)
        refused = client.ask("POST", PATHS["openai"], b"x" * 16000, {"x-api-key": "plm_nobodys"})
        client.read_until(lambda: refused in client.status)
        assert client.status[refused] == 401
        served = client.ask("GET", "/api/ps", b"", OWNER)
        client.read_until(lambda: b"models" in client.got.get(served, b""))
        assert client.status[served] == 200


def test_a_body_that_nobody_reads_holds_up_no_connection(daemon: Daemon) -> None:
    """The refusal comes first, and its client goes on sending, in many small pieces: they are dropped."""
    with H2Client(daemon) as client:
        stream = client.h2.get_next_available_stream_id()
        head = [
            (":method", "POST"),
            (":path", "/v1/chat/completions"),
            (":scheme", "http"),
            (":authority", "localhost"),
        ]
        client.h2.send_headers(stream, head)
        for _ in range(200):
            client.h2.send_data(stream, b"x" * 10)
        client.flush()
        client.read_until(lambda: stream in client.status)
        assert client.status[stream] == 401
        served = client.ask("GET", "/health", b"", {})
        client.read_until(lambda: served in client.status)
        assert client.status[served] == 200


@pytest.mark.parametrize("path", ["a:/api/config", "api/config;x", "*", "ftp://localhost/api/config"])
def test_a_path_that_is_none_is_a_400(daemon: Daemon, path: str) -> None:
    """With the sentence that HTTP/1.1 has for it; the connection stays."""
    with H2Client(daemon) as client:
        stream = client.ask("GET", path, b"", SINGLE)
        client.read_until(lambda: stream in client.got)
        assert client.status[stream] == 400
        assert b"begin with /" in client.got[stream]
        served = client.ask("GET", "/health", b"", {})
        client.read_until(lambda: served in client.status)
        assert client.status[served] == 200
    assert "Traceback" not in daemon.errors.read_text()
