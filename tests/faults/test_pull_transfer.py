"""Processes that die while they download: what came is what the next one goes on with."""

import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.conftest import CHAOS
from tests.support.daemon import WATCHDOG, in_time, wait_until
from tests.support.registry import Registry
from tests.support.registry_faults import Fault, Stored

CONNECTIONS = 8
SPEED = 24 << 20
"""Bytes a second of all connections: what a kernel holds of a connection is nothing beside what came."""
LOST = 0.05
"""Of the file: the most that one kill may cost."""
ROOT = Path(__file__).resolve().parents[2]


class Rig(NamedTuple):
    """A file on a loopback host, and where it is to lie."""

    registry: Registry
    stored: Stored
    size: int
    sha256: str
    target: Path

    def start(self) -> subprocess.Popen[bytes]:
        words = [f"{self.registry.url}/file", self.target, self.size, self.sha256, CONNECTIONS]
        command = [sys.executable, "-m", "tests.support.transfer_child", *map(str, words)]
        return subprocess.Popen(command, cwd=ROOT)

    def finish(self) -> None:
        """The next one ends with the right bytes and leaves nothing beside them."""
        assert ended(self.start()) == 0
        with self.target.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        assert [path.name for path in self.target.parent.iterdir()] == [self.target.name]

    def killed_at(self, sent: int, how: signal.Signals = signal.SIGKILL) -> int:
        """One that is killed when so many bytes have gone out; its exit status."""
        child = self.start()
        try:
            assert wait_until(lambda: self.stored.sent >= sent or child.poll() is not None, WATCHDOG)
        finally:
            child.send_signal(how)
        return child.wait(WATCHDOG)


def ended(child: subprocess.Popen[bytes]) -> int:
    """Its exit status; it does not outlive this."""
    try:
        return child.wait(WATCHDOG)
    finally:
        child.kill()


def written(path: Path, size: int) -> str:
    """A file of which no two MiB are equal; its digest."""
    block, digest = os.urandom(1 << 20), hashlib.sha256()
    with path.open("wb") as file:
        for number in range(size >> 20):
            data = number.to_bytes(8) + block[8:]
            file.write(data)
            digest.update(data)
    return digest.hexdigest()


@pytest.fixture
def rig(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    size: int = getattr(request, "param", 64 << 20)
    sha256 = written(tmp_path / "source", size)
    registry = Registry()
    # What waits in the host's own queue was never sent: without a bound that is 4 MiB of each connection. Accepted sockets inherit it.
    registry.server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    stored = Stored(tmp_path / "source")
    registry.given["/file"] = stored
    (tmp_path / "data").mkdir()
    yield Rig(registry, stored, size, sha256, tmp_path / "data" / "file.bin")
    registry.close()
    (tmp_path / "source").unlink()


def test_h9_a_kill_costs_next_to_nothing(rig: Rig) -> None:
    """Eight of them in one file, anywhere: each time less than a twentieth of it is fetched again."""
    rig.registry.faults.set("/file", Fault(rate=SPEED // CONNECTIONS))
    dice, kills, before = random.Random(8), 8, 0
    for number in range(kills):
        at = int(rig.size * (number + dice.random()) / kills)
        rig.killed_at(max(at, before + 1))
        before = rig.stored.sent
    rig.registry.faults.set("/file")
    rig.finish()
    assert rig.stored.sent - rig.size < kills * LOST * rig.size


def test_h9_ctrl_c_ends_within_a_second(rig: Rig) -> None:
    """The partial stays, the status is 130, and the next one goes on."""
    rig.registry.faults.set("/file", Fault(rate=SPEED // CONNECTIONS))
    child = rig.start()
    assert wait_until(lambda: rig.stored.sent >= rig.size // 4, WATCHDOG)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert ended(child) == 130
    assert in_time(time.monotonic() - began, 1.0)
    names = sorted(path.name for path in rig.target.parent.iterdir())
    assert names == ["file.bin.part", "file.bin.part.json"]
    rig.registry.faults.set("/file")
    rig.finish()
    assert rig.stored.sent - rig.size < LOST * rig.size


def test_two_processes_share_one_transfer(rig: Rig) -> None:
    """The second waits for the first and finds the file; what goes out is one file."""
    rig.registry.faults.set("/file", Fault(rate=SPEED // CONNECTIONS))
    children = [rig.start() for _ in range(2)]
    assert [ended(child) for child in children] == [0, 0]
    assert rig.stored.sent == rig.size


def test_who_waits_goes_on_when_the_first_is_killed(rig: Rig) -> None:
    """The lock ends with its process; the partial does not."""
    rig.registry.faults.set("/file", Fault(rate=SPEED // CONNECTIONS))
    first = rig.start()
    assert wait_until(lambda: rig.stored.sent >= rig.size // 4, WATCHDOG)
    second = rig.start()
    time.sleep(0.3)  # not an ordering: whether the second waits already makes no difference
    first.kill()
    first.wait(WATCHDOG)
    assert ended(second) == 0
    assert rig.stored.sent - rig.size < LOST * rig.size


@pytest.mark.skipif(not CHAOS, reason="ten gigabytes; make chaos runs it")
@pytest.mark.parametrize("rig", [1 << 30], indirect=True)
def test_ten_kills_of_a_gigabyte(rig: Rig) -> None:
    """At full speed, anywhere: the next one always ends with the right bytes, and fetches less than a twentieth again.

    Forty more are of `blazar pull` and of a daemon (`test_pull_verb_kills.py`).
    """
    dice, lost = random.Random(50), []
    for number in range(10):
        rig.target.unlink(missing_ok=True)
        before = rig.stored.sent
        rig.killed_at(before + int(rig.size * dice.uniform(0.01, 0.95)))
        rig.finish()
        lost.append((rig.stored.sent - before - rig.size) / rig.size)
        print(f"kill {number + 1}: {lost[-1]:.2%} fetched again")
    print(f"mean {sum(lost) / len(lost):.2%}, most {max(lost):.2%}")
    assert max(lost) < LOST
