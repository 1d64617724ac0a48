"""Processes that change one name at the same time: whoever comes first, what is there afterwards is one version, whole, or nothing."""

import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from blazar.adapters.files.landing import DiskLanding
from blazar.application.models.name_turns import NameTurns
from blazar.domain import teaching
from tests.support.daemon import WATCHDOG, Daemon, wait_until
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry

VERSIONS = {number: tiny(extra={"general.name": f"v{number}"}).build() for number in (1, 2)}


class Rig:
    """A model with words, the first version of which is here, and the second in its registry."""

    def __init__(self, home: Path) -> None:
        self.registry = ModelRegistry()
        host = self.registry.url.removeprefix("http://")
        self.reference = f"{host}/library/d:1"
        self.daemon = Daemon(home, f'model_registries = ["{host}"]\n')
        self.config = self.daemon.config_file
        self.publish(1)
        self.daemon.must("pull", self.reference)
        self.publish(2)
        (home / "Modelfile").write_text("FROM d:1\nPARAMETER top_k 5\n")
        self.home = home

    def publish(self, number: int) -> None:
        self.registry.publish("library/d", "1", [("model", VERSIONS[number]), ("system", b"of v%d" % number)])

    def close(self) -> None:
        self.daemon.__exit__(None, None, None)
        self.registry.close()

    def verb(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "blazar", *words],
            env=self.daemon.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def turn(self) -> NameTurns:
        return NameTurns(lambda: DiskLanding(self.daemon.data / "downloads"))

    def version_of(self, name: str) -> int:
        """Whose weights it has; its words are of the same, and it has one link. 0: there is nothing of it."""
        stem = name.replace(":", "%3A")
        links = [path for path in (self.daemon.data / "models").iterdir() if path.name.startswith(stem)]
        says = tomllib.loads(self.config.read_text()).get("model_overrides", {}).get(name)
        if not links:
            assert says is None
            return 0
        (link,) = links
        (number,) = [number for number, data in VERSIONS.items() if data == link.read_bytes()]
        assert f"of v{number}" in str(says)
        return number


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with closing(Rig(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("words", [("rm", "d:1"), ("cp", "d:1", "e"), ("create", "e", "-f", "Modelfile")])
def test_a_name_is_changed_by_one_at_a_time(rig: Rig, words: tuple[str, ...]) -> None:
    """Neither of two that start together fails, nor leaves words of one version over weights of the other, or a link of nobody's."""
    said, lines = threading.Event(), list[str]()
    with ExitStack() as held:
        held.enter_context(rig.turn()("d:1"))  # both get as far as that
        with rig.verb(*words) as other, rig.verb("pull", rig.reference) as pull:
            try:
                assert pull.stdout is not None
                reader = threading.Thread(target=_read, args=(pull.stdout, lines, said))
                reader.start()
                assert wait_until(lambda: said.is_set() or pull.poll() is not None, WATCHDOG)
                held.close()
                out, _ = other.communicate(timeout=WATCHDOG)
                assert (other.returncode, pull.wait(WATCHDOG)) == (0, 0), (out, lines)
                reader.join(WATCHDOG)
            finally:
                other.kill()
                pull.kill()
    assert said.is_set()
    assert rig.version_of("d:1") in ((0, 2) if words[0] == "rm" else (2,))
    assert bool(rig.version_of("e")) is (words[0] != "rm")
    assert list((rig.daemon.data / "downloads").iterdir()) == []


def test_many_copies_of_one_model_at_once_all_come_about(rig: Rig) -> None:
    """More than a daemon has threads: whoever waits for the name leaves those to whoever has it."""
    copies = [f"c{number}" for number in range((os.cpu_count() or 1) + 8)]
    with rig.daemon as daemon, ThreadPoolExecutor(len(copies)) as clients:
        asked = [clients.submit(daemon.ask, "POST", "/api/copy", {"source": "d:1", "destination": to}) for to in copies]
        assert [one.result(WATCHDOG).status for one in asked] == [200] * len(copies)
    assert {rig.version_of(name) for name in copies} == {1}


def test_a_daemon_answers_while_many_wait_for_a_name_that_a_process_has(rig: Rig) -> None:
    """About other models, and copies them; those who wait go on once it is free."""
    rig.daemon.must("cp", "d:1", "e")
    many = (os.cpu_count() or 1) + 8
    with rig.daemon as daemon, ThreadPoolExecutor(many) as clients:
        with rig.turn()("d:1"):
            asked = [clients.submit(daemon.ask, "DELETE", "/api/delete", {"model": "d:1"}) for _ in range(many)]
            asked += [clients.submit(daemon.ask, "POST", "/api/copy", {"source": "d:1", "destination": "f"})]
            assert daemon.ask("POST", "/api/show", {"model": "e"}).status == 200
            assert daemon.ask("POST", "/api/copy", {"source": "e", "destination": "g"}).status == 200
            assert daemon.ask("DELETE", "/api/delete", {"model": "e"}).status == 200
            assert not any(one.done() for one in asked)
        said = [one.result(WATCHDOG).status for one in asked]
    assert 503 not in said
    assert rig.version_of("g") == 1
    assert (rig.version_of("d:1"), rig.version_of("e")) == (0, 0)


def _read(lines: Iterator[str], into: list[str], said: threading.Event) -> None:
    for line in lines:
        into.append(line)
        if teaching.pull_waits_name("d:1") in line:
            said.set()
