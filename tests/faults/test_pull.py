"""Pulls of a real daemon and of a real verb: shared, left, killed, stopped, and told why they ended."""

import hashlib
import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from blazar.domain import teaching
from tests.support.daemon import WATCHDOG, Daemon, in_time, wait_until
from tests.support.gguf_files import save_shards, tiny
from tests.support.model_registry import ModelRegistry
from tests.support.registry_faults import Fault, Stored

SIZE = 12 << 20
SLOW = 12 << 20
"""Bytes a second: a second for all of it."""
LONG = SLOW // 4
"""Bytes a second where somebody has to come or to go meanwhile, also on a machine that is busy."""
SOON = 2.0
"""Seconds in which Ctrl-C has ended a pull (case H9)."""
HUB = "hf.co/me/Tiny-GGUF:Q4_0"
NAME = "Tiny-Q4_0.gguf"


def large_weights() -> bytes:
    """A GGUF file whose end is noise: what lies behind its tensors is read by nobody."""
    front = tiny().build()
    return front + random.Random(8).randbytes(SIZE - len(front))


@pytest.fixture(scope="module")
def data() -> bytes:
    return large_weights()


class Rig:
    """A registry with one model, and a daemon that asks no other."""

    def __init__(self, home: Path, data: bytes) -> None:
        self.registry = ModelRegistry()
        self.repo = self.registry.publish_hub("me/Tiny-GGUF", {NAME: data})
        self.digest = hashlib.sha256(data).hexdigest()
        self.daemon = Daemon(home, "", {"BLAZAR_REGISTRY_BASE": self.registry.url})
        self.spoil(Fault(rate=SLOW))

    @property
    def stored(self) -> Stored:
        """The file, and what was asked of it."""
        return self.repo.files[NAME].stored

    def spoil(self, *faults: Fault) -> None:
        self.registry.spoil(self.digest, *faults)

    def models(self) -> list[str]:
        return [row["name"] for row in self.daemon.ask("GET", "/api/tags").json()["models"]]


@pytest.fixture
def rig(tmp_path: Path, data: bytes) -> Iterator[Rig]:
    made = Rig(tmp_path, data)
    try:
        with made.daemon:
            yield made
    finally:
        made.registry.close()


class Client:
    """One `POST /api/pull` that is read in a thread; `leave` closes it as a program that is ended does."""

    def __init__(self, daemon: Daemon, **more: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.at: list[float] = []
        self.status = 0
        self.begun = threading.Event()
        self.asked = time.monotonic()
        """Before anything was told: a reader that is late makes no line come sooner after this."""
        self._connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=WATCHDOG)
        self._connection.request("POST", "/api/pull", json.dumps({"model": HUB, **more}))
        self._socket = self._connection.sock
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with closing(self._connection):
            try:
                with self._connection.getresponse() as answer:
                    self.status = answer.status
                    for line in answer:
                        self.lines.append(json.loads(line))
                        self.at.append(time.monotonic())
                        if self.lines[-1].get("completed"):
                            self.begun.set()
            except (OSError, http.client.HTTPException, ValueError):
                return

    def leave(self) -> None:
        self._socket.shutdown(2)
        self._thread.join(WATCHDOG)

    def end(self) -> list[dict[str, Any]]:
        self._thread.join(WATCHDOG)
        assert not self._thread.is_alive()
        return self.lines


def test_two_clients_share_one_transfer(rig: Rig) -> None:
    """Each byte is asked for once; whoever comes later hears where it is, and both hear the end."""
    rig.spoil(Fault(rate=LONG))
    first = Client(rig.daemon)
    assert first.begun.wait(WATCHDOG)
    second = Client(rig.daemon)
    for client in (first, second):
        lines = client.end()
        assert client.status == 200
        assert lines[-1] == {"status": "success", "fresh": True, "model": HUB}
    assert rig.stored.sent == SIZE
    assert second.lines[0] == {"status": "pulling manifest"}
    joined = next(line["completed"] for line in second.lines if "completed" in line)
    assert joined > 0
    assert rig.models() == [HUB]


def test_progress_is_told_at_most_ten_times_a_second(rig: Rig) -> None:
    """What is no mere progress comes when it happens."""
    rig.spoil(Fault(rate=SLOW // 2))
    client = Client(rig.daemon)
    client.end()
    moving = [at for at, line in zip(client.at, client.lines, strict=True) if 0 < line.get("completed", 0) < SIZE]
    assert len(moving) > 4
    assert (len(moving) - 1) / (moving[-1] - client.asked) <= 10.5
    told = [line["completed"] for line in client.lines if "completed" in line]
    assert all(a <= b for a, b in pairwise(told))


@pytest.mark.parametrize(("number", "size"), [(3, 3 << 20), (15, 1 << 20)], ids=["three", "many-short"])
def test_progress_of_several_files_is_told_as_seldom(rig: Rig, tmp_path: Path, number: int, size: int) -> None:
    """No file has ten a second of its own, nor is a whole one told beside; in the end each was told to be whole."""
    noise = random.Random(9)
    shards = save_shards(tmp_path, "Big-Q4_0", number)
    whole = {shard.name: shard.read_bytes() + noise.randbytes(size) for shard in shards}
    repo = rig.registry.publish_hub("me/Big-GGUF", whole)
    for file in repo.files.values():
        rig.registry.spoil(file.digest, Fault(rate=SLOW // 2))
    client = Client(rig.daemon, model="hf.co/me/Big-GGUF:Q4_0")
    assert client.end()[-1]["status"] == "success"
    about = [(at, line) for at, line in zip(client.at, client.lines, strict=True) if "file" in line]
    ended = next(at for at, line in zip(client.at, client.lines, strict=True) if line["status"].startswith("verifying"))
    until = ended - 0.25  # what is left comes at once with the status behind it
    paced = [at for at, _ in about if at < until]
    assert len(paced) > 4
    assert len(paced) <= 10.5 * (until - client.asked) + 2
    for name, data in whole.items():
        told = [line["completed"] for _, line in about if line["file"] == name]
        assert all(a <= b for a, b in pairwise(told))
        assert told[-1] == len(data)


def test_the_leave_of_one_keeps_it_for_the_other(rig: Rig) -> None:
    """The transfer goes on as it was."""
    rig.spoil(Fault(rate=LONG))
    first, second = Client(rig.daemon), Client(rig.daemon)
    assert first.begun.wait(WATCHDOG)
    assert second.begun.wait(WATCHDOG)
    first.leave()
    assert second.end()[-1]["status"] == "success"
    assert rig.stored.sent == SIZE


def test_the_leave_of_both_stops_it_and_what_came_is_continued(rig: Rig) -> None:
    """Nothing is sent any more within a second or so; the next pull asks for the rest."""
    rig.spoil(Fault(rate=LONG))
    clients = [Client(rig.daemon), Client(rig.daemon)]
    for client in clients:
        assert client.begun.wait(WATCHDOG)
    for client in clients:
        client.leave()
    log = rig.daemon.run_dir / "daemon.log"
    assert wait_until(lambda: teaching.pull_left() in log.read_text(), WATCHDOG)
    sent = rig.stored.sent
    assert sent < SIZE
    assert rig.models() == []
    rig.spoil()
    assert Client(rig.daemon).end()[-1]["status"] == "success"
    assert rig.stored.sent - SIZE < SIZE // 2, "what had come was not fetched again"


def test_a_daemon_that_was_killed_goes_on_where_it_was(rig: Rig) -> None:
    """By a client of the next one; the right bytes, and no row before."""
    rig.spoil(Fault(rate=LONG))
    client = Client(rig.daemon)
    assert client.begun.wait(WATCHDOG)
    assert wait_until(lambda: rig.stored.sent > SIZE // 3, WATCHDOG)
    rig.daemon.kill()
    client.end()
    rig.daemon.start()
    assert rig.models() == []
    before = rig.stored.sent
    rig.spoil()
    assert Client(rig.daemon).end()[-1]["status"] == "success"
    assert rig.stored.sent - before < SIZE
    shown = rig.daemon.ask("POST", "/api/show", {"model": HUB})
    assert shown.status == 200


def test_a_stop_of_the_daemon_ends_pulls_and_says_so(rig: Rig) -> None:
    """At once, with a sentence for whoever waits: what came is kept, as where a client leaves."""
    rig.spoil(Fault(rate=LONG))
    client = Client(rig.daemon)
    assert client.begun.wait(WATCHDOG)
    began = time.monotonic()
    assert rig.daemon.stop() == 0
    assert in_time(time.monotonic() - began, 10)
    assert client.end()[-1] == {"error": teaching.pull_shutting_down()}


def test_h5_a_set_of_shards_goes_on_at_the_file_that_was_missing(rig: Rig, tmp_path: Path) -> None:
    """A kill behind the second of three: what is whole is not asked for again, and no row is there before."""
    shards = save_shards(tmp_path, "Big-Q4_0", 3)
    repo = rig.registry.publish_hub("me/Big-GGUF", {shard.name: shard.read_bytes() for shard in shards})
    first, second, third = (repo.files[shard.name] for shard in shards)
    rig.registry.spoil(third.digest, Fault(stall="body", after=third.stored.size // 2))
    client = Client(rig.daemon, model="hf.co/me/Big-GGUF:Q4_0")
    assert third.stored.began.wait(WATCHDOG)
    assert wait_until(lambda: any(line.get("file") == shards[2].name for line in client.lines), WATCHDOG)
    rig.daemon.kill()
    client.end()
    told = [line["file"] for line in client.lines if line.get("file")]
    assert list(dict.fromkeys(told)) == [shard.name for shard in shards]
    rig.registry.spoil(third.digest)
    rig.daemon.start()
    assert rig.models() == []
    assert Client(rig.daemon, model="hf.co/me/Big-GGUF:Q4_0").end()[-1]["status"] == "success"
    assert [one.stored.sent for one in (first, second)] == [one.stored.size for one in (first, second)]
    assert rig.models() == ["hf.co/me/Big-GGUF:Q4_0"]


@pytest.mark.parametrize(
    "fault",
    [Fault(status=404), Fault(status=403), Fault(status=416), Fault(redirect="file:///etc/passwd"), Fault(length=0)],
    ids=["gone", "forbidden", "no-range", "astray", "empty"],
)
def test_what_is_wrong_with_a_registry_is_one_sentence_for_both(rig: Rig, fault: Fault) -> None:
    """No trace, no half model; and when all is well again the same pull succeeds."""
    rig.spoil(fault)
    clients = [Client(rig.daemon), Client(rig.daemon)]
    said = {client.end()[-1]["error"] for client in clients}
    assert len(said) == 1
    (sentence,) = said
    assert " " in sentence
    assert "Traceback" not in sentence
    assert rig.models() == []
    rig.spoil()
    assert Client(rig.daemon).end()[-1]["status"] == "success"


def test_a_byte_that_was_flipped_is_never_published(rig: Rig) -> None:
    """Case H1: fetched again by itself, once; flipped for ever it is an error and no model."""
    rig.spoil(Fault(flip=SIZE // 2, times=1))
    assert Client(rig.daemon).end()[-1]["status"] == "success"
    assert rig.daemon.ask("DELETE", "/api/delete", {"model": HUB}).status == 200
    rig.spoil(Fault(flip=SIZE // 2))
    assert "error" in Client(rig.daemon).end()[-1]
    assert rig.models() == []


def test_h9_ctrl_c_on_the_verb_leaves_with_130_and_stops_the_daemon_s_pull(rig: Rig) -> None:
    """It says what is kept and how to go on; the verb goes on from there."""
    rig.spoil(Fault(rate=LONG))
    words = [sys.executable, "-m", "blazar", "pull", f"{HUB}"]
    with subprocess.Popen(
        words, env=rig.daemon.env, cwd=rig.daemon.home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as verb:
        assert wait_until(lambda: rig.stored.sent > SIZE // 4, WATCHDOG)
        began = time.monotonic()
        verb.send_signal(signal.SIGINT)
        _, said = verb.communicate(timeout=WATCHDOG)
        assert in_time(time.monotonic() - began, SOON)
    assert verb.returncode == 130
    assert said.splitlines()[-1] == f"error: {teaching.pull_interrupted(f'blazar pull {HUB}')}"
    log = rig.daemon.run_dir / "daemon.log"
    assert wait_until(lambda: teaching.pull_left() in log.read_text(), WATCHDOG)
    rig.spoil()
    assert rig.daemon.must("pull", HUB).startswith("pulled 'tiny-q4_0'")
    assert rig.stored.sent < 2 * SIZE


@pytest.mark.parametrize("running", [True, False])
def test_h9_an_order_to_end_says_what_is_kept(tmp_path: Path, data: bytes, running: bool) -> None:
    """As Ctrl-C, with the code that shells have for it; the same words go on from there."""
    rig = Rig(tmp_path, data)
    rig.spoil(Fault(rate=LONG))
    try:
        if running:
            rig.daemon.start()
        words = [sys.executable, "-m", "blazar", "pull", HUB]
        with subprocess.Popen(
            words, env=rig.daemon.env, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as verb:
            assert wait_until(lambda: rig.stored.sent > SIZE // 4, WATCHDOG)
            verb.send_signal(signal.SIGTERM)
            _, said = verb.communicate(timeout=WATCHDOG)
        told = f"error: {teaching.pull_interrupted(f'blazar pull {HUB}')}"
        assert (verb.returncode, said.splitlines()[-1]) == (143, told)
        assert wait_until(lambda: "a pull that has not ended left" in rig.daemon.cli("doctor").stdout, WATCHDOG)
        rig.spoil()
        assert rig.daemon.must("pull", HUB).startswith("pulled 'tiny-q4_0'")
        assert rig.stored.sent < 2 * SIZE
        assert "a pull that has not ended left" not in rig.daemon.cli("doctor").stdout
    finally:
        rig.registry.close()
        rig.daemon.stop()


def test_a_verb_whose_daemon_stops_says_what_is_kept(rig: Rig) -> None:
    """Killed or told to: the same words go on from there."""
    rig.spoil(Fault(rate=LONG))
    words = [sys.executable, "-m", "blazar", "pull", HUB]
    with subprocess.Popen(
        words, env=rig.daemon.env, cwd=rig.daemon.home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as verb:
        assert wait_until(lambda: rig.stored.sent > SIZE // 4, WATCHDOG)
        rig.daemon.kill()
        _, said = verb.communicate(timeout=WATCHDOG)
    last = said.splitlines()[-1]
    assert (verb.returncode, f"what came is kept, and blazar pull {HUB} goes on from there" in last) == (1, True)


def test_h9_without_a_daemon_the_verb_does_it(tmp_path: Path, data: bytes) -> None:
    """Ctrl-C within a second or so; a second process that wants the same waits for the first, and finds the file."""
    rig = Rig(tmp_path, data)
    rig.spoil(Fault(rate=LONG))
    try:
        words = [sys.executable, "-m", "blazar", "pull", HUB]
        with subprocess.Popen(
            words, env=rig.daemon.env, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as verb:
            assert wait_until(lambda: rig.stored.sent > SIZE // 4, WATCHDOG)
            began = time.monotonic()
            verb.send_signal(signal.SIGINT)
            _, said = verb.communicate(timeout=WATCHDOG)
        assert in_time(time.monotonic() - began, SOON)
        assert (verb.returncode, said.splitlines()[-1]) == (
            130,
            f"error: {teaching.pull_interrupted(f'blazar pull {HUB}')}",
        )
        sent = rig.stored.sent
        rig.spoil(Fault(rate=SLOW))
        both = [
            subprocess.Popen(
                words, env=rig.daemon.env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for one in both:
            with one:
                out, _ = one.communicate(timeout=WATCHDOG)
            assert (one.returncode, "tiny-q4_0" in out) == (0, True)
        assert rig.stored.sent - sent < SIZE
    finally:
        rig.registry.close()
