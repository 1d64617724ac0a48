"""`blazar pull`, and a daemon that pulls, killed anywhere: the next one ends with the right bytes, and hardly any of them come twice."""

import hashlib
import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.conftest import CHAOS
from tests.support.daemon import WATCHDOG, Daemon, wait_until
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry
from tests.support.registry_faults import Fault, Stored

CONNECTIONS = 8
"""As many as by default. What has come and was not read yet is in the kernel, some MiB of each where the disk is slow: as good as not sent."""
SPEED = 32 << 20
"""Bytes a second of all connections, where the file is so small that what a kernel holds of them would be much of it."""
HELD = 1 << 16
"""Bytes that the host's kernel may hold of a connection: they were never sent, and are counted. Without a bound that is 4 MiB."""
LOST = 0.05
"""Of the file: the most that one kill may cost."""
SEED = 88
HUB = "hf.co/me/Big-GGUF:Q4_0"
NAME = "Big-Q4_0.gguf"


def written(path: Path, size: int) -> str:
    """A GGUF file, of whose end no two MiB are equal; its digest. Nobody reads what lies behind its tensors."""
    front, block, digest = tiny().build(), os.urandom(1 << 20), hashlib.sha256()
    with path.open("wb") as file:
        for number in range(size >> 20):
            head = front if number == 0 else number.to_bytes(8)
            data = head + block[len(head) :]
            file.write(data)
            digest.update(data)
    return digest.hexdigest()


class Rig:
    """A large model on a loopback hub, and a data folder to have it in."""

    def __init__(self, home: Path, size: int) -> None:
        self.home, self.size = home, size
        self.source = home / "source.gguf"
        self.sha256 = written(self.source, size)
        self.registry = ModelRegistry()
        # Accepted sockets inherit it.
        self.registry.network.server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, HELD)
        self.stored: Stored = self.registry.publish_hub("me/Big-GGUF", {NAME: self.source}).files[NAME].stored
        config = f"download_connections = {CONNECTIONS}\n"
        self.daemon = Daemon(home, config, {"BLAZAR_REGISTRY_BASE": self.registry.url})

    def close(self) -> None:
        self.daemon.__exit__(None, None, None)
        self.registry.close()
        self.source.unlink()

    def spoil(self, *faults: Fault) -> None:
        self.registry.spoil(self.sha256, *faults)

    def reached(self, sent: int, still: Callable[[], bool]) -> None:
        """When so many bytes have gone out, or nobody asks for more."""
        assert wait_until(lambda: self.stored.sent >= sent or not still(), WATCHDOG)

    def verb_killed_at(self, sent: int) -> None:
        """A process of its own that does all of it."""
        with subprocess.Popen(
            [sys.executable, "-m", "blazar", "pull", HUB, "--quiet"],
            env=self.daemon.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as verb:
            try:
                self.reached(sent, lambda: verb.poll() is None)
            finally:
                verb.kill()

    def daemon_killed_at(self, sent: int) -> None:
        """While a client reads its lines."""
        self.daemon.start()
        process = self.daemon.process
        assert process is not None
        with closing(http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=WATCHDOG)) as client:
            client.request("POST", "/api/pull", json.dumps({"model": HUB}))
            try:
                self.reached(sent, lambda: process.poll() is None)
            finally:
                self.daemon.kill()

    def verb_finishes(self) -> None:
        """The next one ends well."""
        self.daemon.must("pull", HUB)

    def daemon_finishes(self) -> None:
        """The same of the daemon that comes after it."""
        self.daemon.start()
        answer = self.daemon.ask("POST", "/api/pull", {"model": HUB, "stream": False})
        assert (answer.status, answer.json().get("status")) == (200, "success"), answer.json()
        assert self.daemon.stop() == 0

    def check(self) -> None:
        """One file with the right bytes, and nothing beside it."""
        (file,) = (self.daemon.data / "models").iterdir()
        with file.open("rb") as read:
            assert hashlib.file_digest(read, "sha256").hexdigest() == self.sha256
        assert list((self.daemon.data / "downloads").iterdir()) == []

    def way(self, name: str) -> tuple[Callable[[int], None], Callable[[], None]]:
        """How one is killed, and how the next one ends."""
        if name == "verb":
            return self.verb_killed_at, self.verb_finishes
        return self.daemon_killed_at, self.daemon_finishes


@pytest.fixture
def rig(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    with closing(Rig(tmp_path, request.param)) as made:
        yield made


@pytest.mark.parametrize("rig", [64 << 20], indirect=True)
@pytest.mark.parametrize(("way", "kills"), [("verb", 3), ("daemon", 2)])
def test_h9_a_kill_of_who_pulls_costs_next_to_nothing(rig: Rig, way: str, kills: int) -> None:
    """Some of them in one file, anywhere: each time less than a twentieth of it is fetched again."""
    killed_at, finishes = rig.way(way)
    rig.spoil(Fault(rate=SPEED // CONNECTIONS))
    dice = random.Random(SEED)
    for number in range(kills):
        at = int(rig.size * (number + dice.uniform(0.1, 0.9)) / kills)
        print(f"seed {SEED}, kill {number + 1} at {at}")
        killed_at(max(at, rig.stored.sent + 1))
        assert not list((rig.daemon.data / "models").glob("*")), "no model is there before all of it is"
    rig.spoil()
    finishes()
    rig.check()
    lost = (rig.stored.sent - rig.size) / rig.size
    print(f"{lost:.2%} came again")
    assert lost < kills * LOST, f"seed {SEED}: {lost:.2%} of it came again"


@pytest.mark.skipif(not CHAOS, reason="forty gigabytes; make chaos runs it")
@pytest.mark.parametrize("rig", [1 << 30], indirect=True)
@pytest.mark.parametrize("way", ["verb", "daemon"])
def test_twenty_kills_of_who_pulls_a_gigabyte(rig: Rig, way: str) -> None:
    """At full speed, anywhere: the next one always ends with the right bytes, and fetches less than a twentieth again."""
    killed_at, finishes = rig.way(way)
    dice, lost = random.Random(SEED), list[float]()
    for number in range(20):
        before = rig.stored.sent
        at = int(rig.size * dice.uniform(0.01, 0.95))
        killed_at(before + at)
        finishes()
        rig.check()
        lost.append((rig.stored.sent - before - rig.size) / rig.size)
        print(f"seed {SEED}, kill {number + 1} at {at}: {lost[-1]:.2%} fetched again")
        shutil.rmtree(rig.daemon.data)
    print(f"mean {sum(lost) / len(lost):.2%}, most {max(lost):.2%}")
    assert max(lost) < LOST
