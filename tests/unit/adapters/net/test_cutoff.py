"""Ending what waits in a socket."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.net.cutoff import Cutoff
from blazar.domain.errors import BlazarError, Busy, RegistryTrouble

CONNECTED = "connection.connect_tcp.complete"


class Stream:
    """As much of the HTTP client's stream as is looked at."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected

    def get_extra_info(self, name: str) -> Any:
        return {"socket": self._connected}[name]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    yield ours, theirs
    ours.close()
    theirs.close()


def late(seconds: float) -> BlazarError:
    return RegistryTrouble(f"late after {seconds:g} s")


def test_a_blocked_read_ends(pair: tuple[socket.socket, socket.socket]) -> None:
    """It returns as if the other side had closed; `check` says why."""
    cutoff, why = Cutoff(60, late), Busy("stopping")
    cutoff.check()
    cutoff.trace(CONNECTED, {"return_value": Stream(pair[0])})
    threading.Timer(0.05, cutoff.end, [why]).start()
    assert pair[0].recv(1) == b""
    with pytest.raises(Busy) as raised:
        cutoff.check()
    assert raised.value is why
    cutoff.close()


def test_a_connection_that_comes_after_the_end_is_shut(pair: tuple[socket.socket, socket.socket]) -> None:
    """A dial is left to itself (dialling.py); one that came about in the same moment is of no use."""
    cutoff = Cutoff(60, late)
    cutoff.end(Busy("stopping"))
    cutoff.trace(CONNECTED, {"return_value": Stream(pair[0])})
    assert pair[0].recv(1) == b""


def test_its_time_runs_from_the_first_question(pair: tuple[socket.socket, socket.socket]) -> None:
    """Not while nothing is asked."""
    cutoff = Cutoff(0.05, late)
    cutoff.trace("connection.start_tls.complete", {"return_value": Stream(pair[0])})
    cutoff.check()
    assert pair[0].recv(1) == b""
    with pytest.raises(RegistryTrouble, match=r"late after 0\.05 s"):
        cutoff.check()


def test_the_first_reason_counts(pair: tuple[socket.socket, socket.socket]) -> None:
    """Closed sockets and other events disturb nothing."""
    cutoff = Cutoff(60, late)
    cutoff.trace(CONNECTED, {"return_value": Stream(pair[0])})
    cutoff.trace("http11.receive_response_headers.complete", {"return_value": (b"HTTP/1.1", 200)})
    pair[0].close()
    first = Busy("first")
    for why in (first, Busy("second")):
        cutoff.end(why)
    with pytest.raises(Busy) as raised:
        cutoff.check()
    assert raised.value is first
    cutoff.close()


def test_a_rest_is_not_counted_and_ends_with_it() -> None:
    """Who waits for a registry waits for its sake; a stop wakes them with its reason."""
    cutoff = Cutoff(1.0, lambda _: Busy("late", 1))
    cutoff.check()
    cutoff.rest(1.5)
    cutoff.check()
    cutoff.end(Busy("stopped", 1))
    with pytest.raises(Busy, match="stopped"):
        cutoff.rest(60.0)
    cutoff.close()
