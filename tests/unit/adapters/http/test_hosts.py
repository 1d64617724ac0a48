"""What this machine is called."""

import socket
from ipaddress import ip_address

import pytest

from blazar.adapters.http import hosts
from blazar.adapters.http.hosts import machine_names


def test_loopback_and_the_host_name_are_among_them() -> None:
    """Read from this machine."""
    names = machine_names()
    assert "127.0.0.1" in names
    assert socket.gethostname().lower() in names
    assert all(name == name.lower() and "%" not in name for name in names)


def test_the_name_comes_in_three_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full, short and mDNS; addresses are normalised."""
    monkeypatch.setattr(socket, "gethostname", lambda: "Box.Example.org")
    names = machine_names()
    assert {"box.example.org", "box", "box.local"} <= names
    for name in names - {"box.example.org", "box", "box.local"}:
        assert str(ip_address(name)) == name
    assert hosts.__doc__
