"""What a loopback server says it has sent."""

import socket
import threading
from pathlib import Path

import pytest

from tests.support.outflow import Outflow

SIZE = 8 << 20


@pytest.mark.parametrize("from_file", [False, True])
def test_who_has_a_byte_finds_it_counted(tmp_path: Path, from_file: bool) -> None:
    """However little of it was read, and although the sender waits for room most of the time."""
    data = tmp_path / "data"
    data.write_bytes(bytes(SIZE))
    out, (ours, theirs) = Outflow(), socket.socketpair()

    def send() -> None:
        with ours, data.open("rb") as file:
            if from_file:
                out.send_file(ours, file, 0, SIZE)
            else:
                out.send(ours, file.read())

    sender = threading.Thread(target=send)
    sender.start()
    got = 0
    with theirs:
        while piece := theirs.recv(1 << 16):
            got += len(piece)
            assert out.total >= got
    sender.join()
    assert out.total == got == SIZE


@pytest.mark.parametrize("from_file", [False, True])
def test_what_a_leaver_never_got_room_for_is_not_counted(tmp_path: Path, from_file: bool) -> None:
    """A reader that goes ends the sending with the socket's error."""
    data = tmp_path / "data"
    data.write_bytes(bytes(SIZE))
    out, (ours, theirs) = Outflow(), socket.socketpair()
    with ours, theirs, data.open("rb") as file:
        threading.Thread(target=lambda: (theirs.recv(1), theirs.close())).start()
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            out.send_file(ours, file, 0, SIZE) if from_file else out.send(ours, file.read())
    assert 0 < out.total < SIZE


def test_a_file_that_became_shorter_ends_the_answer(tmp_path: Path) -> None:
    """As a server that breaks off would."""
    data = tmp_path / "data"
    data.write_bytes(b"abc")
    out, (ours, theirs) = Outflow(), socket.socketpair()
    with ours, theirs, data.open("rb") as file, pytest.raises(ConnectionAbortedError):
        out.send_file(ours, file, 0, 5)
    assert out.total == 3
