"""Who listens on a port."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from blazar.adapters.engines import listeners
from blazar.adapters.engines.listeners import listens_alone

SHARER = """
import socket, sys
made = socket.socket()
made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
made.bind(("127.0.0.1", int(sys.argv[1])))
made.listen()
sys.stdout.write("x")
sys.stdout.flush()
sys.stdin.read()
"""


def shared_socket() -> socket.socket:
    """A listener that would let others beside it."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", 0))
    made.listen()
    return made


def test_our_own_port_is_ours() -> None:
    """Of this process yes, of another no, and of nobody no."""
    with shared_socket() as made:
        port = made.getsockname()[1]
        assert listens_alone(os.getpid(), port) is True
        assert listens_alone(os.getppid(), port) is False
    assert listens_alone(os.getpid(), port) is False


def test_one_that_shares_is_not_alone() -> None:
    """Two sockets of two processes on one port: each of them hears half (case G17)."""
    with shared_socket() as made:
        port = made.getsockname()[1]
        words = [sys.executable, "-S", "-c", SHARER, str(port)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.read(1) == b"x"
            assert listens_alone(os.getpid(), port) is False
            other.communicate(timeout=30)
        assert listens_alone(os.getpid(), port) is True


def test_where_nothing_is_told_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tables, or a process that may not be looked into: unknown, which stops nobody."""
    monkeypatch.setattr(listeners, "PROC", tmp_path)
    assert listens_alone(1, 80) is None
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text("head\n")
    assert listens_alone(1, 80) is None
