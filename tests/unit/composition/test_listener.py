"""Binding the address, once."""

import socket

import pytest

from blazar.composition.listener import bind, url_of
from blazar.domain.errors import BindConflict, Malformed


def test_port_zero_takes_a_free_port() -> None:
    """The real port is in the URL that clients are told."""
    with bind("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_taken_port_is_a_bind_conflict_that_names_it() -> None:
    """A second daemon is refused at once (exit 3), with the address in the sentence (G15)."""
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(BindConflict, match=f"127.0.0.1:{port} is taken"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_refused_with_a_sentence(host: str) -> None:
    """Neither a traceback nor exit 3: waiting for the port to become free would not help."""
    with pytest.raises(Malformed, match="address of this machine"):
        bind(host, 0)


def test_a_wildcard_address_is_reached_by_loopback() -> None:
    """The note for the command line names an address that can be connected to."""
    with bind("0.0.0.0", 0) as listener:
        assert url_of(listener).startswith("http://127.0.0.1:")


def test_small_writes_do_not_wait_for_acknowledgements() -> None:
    """Accepted connections inherit TCP_NODELAY from the listener; a server handed a socket does not set it."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
