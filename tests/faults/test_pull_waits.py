"""A registry that has to be waited for, as a verb and an API client see it; and addresses with a secret, which nobody may find again."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from blazar.domain import teaching
from tests.support.daemon import WATCHDOG, Daemon, in_time, wait_until
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry
from tests.support.registry_faults import Fault, Stored

HUB = "hf.co/me/Tiny-GGUF:F16"
TREE = "/api/models/me/Tiny-GGUF/tree/main"
SECRET = "s3cretsignature"
SIZE = 8 << 20
SOON = 5.0
"""Far less than a dial may take, and more than a start of a verb's process does."""
TABLE = Path("/proc/net/tcp")


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    with closing(ModelRegistry()) as registry:
        registry.publish_hub("me/Tiny-GGUF", {"Tiny-F16.gguf": tiny().build()})
        yield registry


@pytest.fixture
def daemon(tmp_path: Path, registry: ModelRegistry) -> Iterator[Daemon]:
    """Not started yet."""
    made = Daemon(tmp_path, "", {"BLAZAR_REGISTRY_BASE": registry.url})
    yield made
    made.__exit__(None, None, None)


def waits_in(registry: ModelRegistry, text: str) -> bool:
    """Whether the two pauses of `busy` are said, in their order."""
    host, why = registry.url.removeprefix("http://"), teaching.remote_was_crowded()
    said = [
        teaching.remote_asked_again(host, why, "me/Tiny-GGUF", 1.5, teaching.remote_try(number, 5)) for number in (2, 3)
    ]
    return -1 < text.find(said[0]) < text.find(said[1])


def busy(registry: ModelRegistry) -> None:
    registry.faults.set(TREE, Fault(status=429, headers=(("retry-after", "1"),), times=2))


def test_a_client_is_told_that_a_registry_is_waited_for(daemon: Daemon, registry: ModelRegistry) -> None:
    """In a status that it knows; all of them in ollama's order, and it ends well."""
    busy(registry)
    daemon.start()
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in daemon.ask("POST", "/api/pull", {"model": HUB}).body.splitlines()
    ]
    assert [line["status"] for line in lines[:3]] == ["pulling manifest"] * 3
    assert waits_in(registry, "\n".join(line.get("note", "") for line in lines))
    words = [line["status"] for line in lines if "digest" not in line]
    assert list(dict.fromkeys(words)) == [
        "pulling manifest",
        "verifying sha256 digest",
        "writing manifest",
        "success",
    ]
    assert lines[-1].get("notes") is None, "what was waited for is no outcome"


@pytest.mark.parametrize("served", [False, True], ids=["alone", "daemon"])
def test_a_verb_shows_that_a_registry_is_waited_for(daemon: Daemon, registry: ModelRegistry, served: bool) -> None:
    """By itself and by a daemon."""
    busy(registry)
    if served:
        daemon.start()
    done = daemon.cli("pull", HUB)
    assert done.returncode == 0, done.stderr
    assert waits_in(registry, done.stderr)


def files_with(secret: str, folder: Path) -> list[Path]:
    """By name or by content."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if secret in str(path) or secret.encode() in path.read_bytes()]


@pytest.mark.parametrize(("served", "tag"), [(False, None), (True, '"v1"')], ids=["alone", "daemon"])
def test_no_secret_of_an_address_is_written_down(
    daemon: Daemon, registry: ModelRegistry, served: bool, tag: str | None
) -> None:
    """In no name, note, row, log or event: while it comes, after a kill, and when it is there. The same address is known again."""
    data = tiny().build()
    stored = registry.network.given["/m.gguf"] = Stored(data + bytes(SIZE - len(data)), tag)
    address = f"{registry.network.url}/m.gguf?X-Amz-Signature={SECRET}"
    registry.network.faults.set("/m.gguf", Fault(rate=SIZE))
    if served:
        daemon.start()
    with subprocess.Popen(
        [sys.executable, "-m", "blazar", "pull", address],
        env=daemon.env,
        cwd=daemon.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as verb:
        notes = daemon.data / "downloads"
        assert wait_until(lambda: stored.sent > SIZE // 3 and list(notes.rglob("*.part.json")), WATCHDOG)
        assert files_with(SECRET, daemon.home) == []
        verb.kill()
    if served:
        daemon.kill()
        daemon.start()
    registry.network.faults.set("/m.gguf")
    daemon.must("pull", address)
    assert files_with(SECRET, daemon.home) == []
    assert daemon.must("pull", address) == f"{teaching.pulled_already('m', teaching.use_text('m'))}\n"
    registry.network.given["/m.gguf"] = Stored(tiny(blocks=3).build(), '"v2"')
    assert daemon.must("pull", address).startswith("pulled"), "an update of the same address is no conflict"
    assert SECRET not in daemon.must("show", "m", "--json") + daemon.must("list", "--json")
    assert files_with(SECRET, daemon.home) == []


def test_two_pulls_of_one_signed_address_share_one_transfer(daemon: Daemon, registry: ModelRegistry) -> None:
    """Whoever signed it: the host's tag says that it is the same file."""
    data = tiny().build()
    stored = registry.network.given["/m.gguf"] = Stored(data + bytes(SIZE - len(data)), '"v1"')
    registry.network.faults.set("/m.gguf", Fault(rate=SIZE))
    words = [sys.executable, "-m", "blazar", "pull"]
    with (
        subprocess.Popen([*words, f"{registry.network.url}/m.gguf?sig=1"], env=daemon.env, cwd=daemon.home) as one,
        subprocess.Popen([*words, f"{registry.network.url}/m.gguf?sig=2"], env=daemon.env, cwd=daemon.home) as other,
    ):
        assert [one.wait(WATCHDOG), other.wait(WATCHDOG)] == [0, 0]
    assert SIZE <= stored.sent < SIZE * 1.5, "only headers are asked for twice"


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port on which nobody takes a connection up, as behind a firewall that drops what comes: its queue is full."""
    if not TABLE.exists():
        pytest.skip("needs Linux: its queues, and its table of connections")
    with ExitStack() as held:
        server = held.enter_context(closing(socket.socket()))
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            filling = held.enter_context(closing(socket.socket()))
            filling.setblocking(False)
            filling.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def dials_to(port: int) -> int:
    """Those that are still unanswered (SYN_SENT)."""
    rows = [line.split() for line in TABLE.read_text().splitlines()[1:]]
    return sum(row[2].endswith(f":{port:04X}") and row[3] == "02" for row in rows)


@pytest.mark.parametrize("pulls", [1, 4], ids=["alone", "daemon"])
def test_h9_ctrl_c_reaches_who_is_connecting(daemon: Daemon, deaf: int, pulls: int) -> None:
    """To a host that lets nobody in; a daemon's four places are free at once for what has something to fetch."""
    if pulls > 1:
        daemon.start()
    before = dials_to(deaf)
    words = [sys.executable, "-m", "blazar", "pull"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with ExitStack() as running:
        verbs = [
            running.enter_context(
                subprocess.Popen([*words, f"http://127.0.0.1:{deaf}/{name}.gguf"], env=daemon.env, **pipes)
            )
            for name in "abcd"[:pulls]
        ]
        assert wait_until(lambda: dials_to(deaf) == before + len(verbs), WATCHDOG)
        began = time.monotonic()
        for verb in verbs:
            verb.send_signal(signal.SIGINT)
        for verb in verbs:
            said, _ = verb.communicate(timeout=WATCHDOG)
            assert (verb.returncode, "Traceback" in said) == (130, False), said
    assert in_time(time.monotonic() - began, SOON)
    daemon.must("pull", HUB)
    assert in_time(time.monotonic() - began, 2 * SOON)
