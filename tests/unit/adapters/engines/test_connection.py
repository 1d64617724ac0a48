"""One socket, driven by hand. How the pool uses many of them stands in test_pool."""

from typing import Any

import pytest

from blazar.adapters.engines.connection import LONGEST_HEAD, Connection, Flight, Garbled
from blazar.application.ports.upstream import ChildCall, Sink
from blazar.domain.errors import ChildDied

CALL = ChildCall(b"POST", b"/x", b"body")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Wire:
    """A transport on paper."""

    def __init__(self) -> None:
        self.written, self.unsent, self.closed, self.reading = b"", 0, False, True

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Pool:
    """What a connection asks of its pool."""

    model = "tiny"

    def __init__(self) -> None:
        self.back: list[Connection] = []
        self.lost: list[Connection] = []
        self.dialled: list[Flight] = []
        self.retry = True

    def wire(self, call: ChildCall) -> bytes:
        return call.method + b" " + call.path + b"\r\n\r\n"

    def on_connected(self, _: Connection) -> None: ...

    def on_lost(self, connection: Connection) -> None:
        self.lost.append(connection)

    def give_back(self, connection: Connection) -> None:
        self.back.append(connection)

    def may_retry(self) -> bool:
        return self.retry

    def dial(self, flight: Flight) -> None:
        self.dialled.append(flight)

    def closing_fault(self) -> ChildDied:
        return ChildDied("gone")


class Ear(Sink):
    """What was said, in order; `on_next` is called at each word."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.on_next: Any = lambda: None

    def on_head(self, status: int, headers: Any) -> None:
        self.heard.append(status)
        self.on_next()

    def on_body(self, data: bytes) -> None:
        self.heard.append(data)
        self.on_next()

    def on_end(self) -> None:
        self.heard.append("end")

    def on_fault(self, fault: Any) -> None:
        self.heard.append(type(fault))


class Rig:
    """One connection with one request on its way."""

    def __init__(self, *, reused: bool = False, call: ChildCall = CALL) -> None:
        self.pool, self.wire, self.ear = Pool(), Wire(), Ear()
        self.connection = Connection(self.pool)  # type: ignore[arg-type]
        self.connection.connection_made(self.wire)  # type: ignore[arg-type]
        self.flight = Flight(self.pool, call, self.ear)  # type: ignore[arg-type]
        self.connection.carry(self.flight, reused=reused)

    def reads(self, *parts: bytes) -> list[Any]:
        for part in parts:
            self.connection.data_received(part)
        return self.ear.heard


def test_an_answer_in_one_read_is_three_words():
    """Head, body, end; then the connection goes back to the pool."""
    rig = Rig()
    assert rig.wire.written == b"POST /x\r\n\r\nbody"
    assert rig.reads(OK) == [200, b"hi", "end"]
    assert rig.pool.back == [rig.connection]
    assert rig.flight.over


def test_any_cut_tells_the_same():
    """Byte by byte the head still comes once and the body whole."""
    heard = Rig().reads(*(OK[at : at + 1] for at in range(len(OK))))
    assert (heard[0], b"".join(heard[1:-1]), heard[-1]) == (200, b"hi", "end")


def test_the_chunks_of_one_read_are_one_word():
    """That is what keeps a fast stream cheap."""
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
    assert Rig().reads(raw) == [200, b"abc", "end"]


def test_an_informational_answer_is_not_the_answer():
    """100 and 103 come before it and are skipped."""
    assert Rig().reads(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\n" + OK) == [200, b"hi", "end"]


@pytest.mark.parametrize(
    "raw",
    [b"nonsense\r\n\r\n", b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"\x16\x03\x01"],
)
def test_what_is_not_http_closes_it(raw):
    """And its request hears so, once."""
    rig = Rig()
    assert rig.reads(raw) == [Garbled]
    assert rig.wire.closed
    rig.connection.connection_lost(None)
    assert rig.ear.heard == [Garbled]


def test_a_head_without_end_is_cut_off():
    """The parser has no bound of its own."""
    rig = Rig()
    assert rig.reads(b"HTTP/1.1 200 OK\r\nx: ", b"y" * (LONGEST_HEAD + 1)) == [Garbled]


@pytest.mark.parametrize("junk", [b"HTTP/1.1 200 OK\r\n\r\n", b"more"])
def test_bytes_behind_an_answer_end_the_connection(junk):
    """They could be taken for the next request's answer."""
    rig = Rig()
    assert rig.reads(OK + junk) == [200, b"hi", "end"]
    assert rig.pool.back == []
    assert rig.wire.closed


def test_bytes_that_nobody_asked_for_end_it():
    """An idle connection has nothing to say."""
    rig = Rig()
    rig.reads(OK)
    rig.connection.data_received(b"x")
    assert rig.wire.closed


def test_an_answer_before_the_request_was_sent_ends_it():
    """What is still to be written would run into the next request."""
    rig = Rig()
    rig.wire.unsent = 10
    assert rig.reads(OK)[-1] == "end"
    assert (rig.pool.back, rig.wire.closed) == ([], True)


def test_a_body_without_length_ends_with_the_connection():
    """Cleanly closed it is whole; broken off it is not."""
    for error, last in ((None, "end"), (OSError(), ChildDied)):
        rig = Rig()
        rig.reads(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab")
        rig.connection.connection_lost(error)
        assert rig.ear.heard == [200, b"ab", last]


@pytest.mark.parametrize(
    ("reused", "heard", "retry", "dialled"),
    [(True, b"", True, 1), (False, b"", True, 0), (True, b"H", True, 0), (True, b"", False, 0)],
)
def test_only_a_stale_connection_is_retried(reused, heard, retry, dialled):
    """It was idle before, nothing came back, and the pool still may; otherwise the request hears the end."""
    rig = Rig(reused=reused)
    rig.pool.retry = retry
    if heard:
        rig.reads(heard)
    rig.connection.connection_lost(None)
    assert len(rig.pool.dialled) == dialled
    assert rig.ear.heard == ([] if dialled else [ChildDied])


def test_an_abort_inside_a_word_silences_the_rest():
    """The client left while the head was handed on: the socket closes, nothing follows."""
    rig = Rig()
    rig.ear.on_next = rig.flight.abort
    assert rig.reads(OK) == [200]
    assert rig.wire.closed
    rig.flight.abort()
    rig.connection.connection_lost(None)
    assert rig.ear.heard == [200]


def test_a_pause_holds_the_socket_and_a_reuse_lets_it_go():
    """Whoever paused and ended must not leave a deaf connection in the pool."""
    rig = Rig()
    rig.flight.pause()
    assert not rig.wire.reading
    rig.flight.resume()
    assert rig.wire.reading
    rig.flight.pause()
    rig.reads(OK)
    assert rig.wire.reading


def test_a_large_body_is_not_copied_behind_its_head():
    """Two writes, the same bytes."""
    rig = Rig(call=CALL._replace(body=b"x" * 100_000))
    assert rig.wire.written == b"POST /x\r\n\r\n" + b"x" * 100_000
