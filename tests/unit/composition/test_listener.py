"""Binding the address, once."""

import errno
import socket

import pytest

from blazar.composition.listener import bind, reaches_others, url_of, would_reach_others
from blazar.domain.errors import BindConflict, Malformed, Refusal


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


@pytest.mark.parametrize(("host", "others"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_a_listener_for_other_machines_is_known_as_one(host: str, others: bool) -> None:
    """Without keys, that is worth a warning."""
    with bind(host, 0) as listener:
        assert reaches_others(listener) is others


def test_a_port_that_needs_privileges_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has taken it, so it is no conflict (exit 3): another port helps, waiting does not."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(Refusal, match=r"127\.0\.0\.1:80 needs privileges") as refused:
        bind("127.0.0.1", 80)
    assert not isinstance(refused.value, BindConflict)
    assert "above 1023" in str(refused.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost", "box.lan", "::1%lo"])
def test_an_address_that_stays_here_is_known_before_it_is_bound(host: str) -> None:
    """A name is not looked up: that may take long."""
    assert not would_reach_others(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "*", "192.168.1.2"])
def test_an_address_that_reaches_others_is_known_before_it_is_bound(host: str) -> None:
    """As `reaches_others` says of the bound one."""
    assert would_reach_others(host)
