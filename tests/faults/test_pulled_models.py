"""What was pulled by a real daemon: found by the name that it was pulled by, fetched once, renewed without losing what a person set."""

import json
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import ONE_THREAD, WATCHDOG, Daemon, wait_until
from tests.support.engine import recorded, stub_server
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry

HELLO = [{"role": "user", "content": "hi"}]


class Rig:
    """A registry that is configured by its host and is the hub as well, and a daemon whose engine is the stub."""

    def __init__(self, home: Path) -> None:
        self.registry = ModelRegistry()
        self.host = self.registry.url.partition("://")[2]
        self.name = f"{self.host}/team/scripted"
        self.record = home / "record.jsonl"
        engine = stub_server(home / "bin", record=str(self.record))
        env = {"BLAZAR_REGISTRY_BASE": self.registry.url, "BLAZAR_ENGINE_PATH": str(engine)}
        self.daemon = Daemon(home, f'spawn_mem_guard = false\nmodel_registries = ["{self.host}"]\n{ONE_THREAD}', env)
        self.publish(2, num_ctx=512, seed=1)

    def publish(self, blocks: int, **parameters: int) -> None:
        """Another version each time."""
        words = json.dumps(parameters).encode()
        self.registry.publish("team/scripted", "latest", [("model", tiny(blocks=blocks).build()), ("params", words)])

    def pull(self) -> list[str]:
        """The notes."""
        answer = self.daemon.ask("POST", "/api/pull", {"model": self.name, "stream": False})
        assert answer.status == 200, answer.body
        return list(answer.json().get("notes") or [])

    def chats(self) -> list[Any]:
        """What children were asked."""
        return [row for row in recorded(self.record, "request") if row["path"].endswith("/chat/completions")]

    def chat(self, text: str = "hi") -> int:
        body = {"model": self.name, "messages": [{"role": "user", "content": text}], "stream": False}
        return self.daemon.ask("POST", "/api/chat", body).status


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    try:
        with made.daemon:
            yield made
    finally:
        made.registry.close()


def test_every_dialect_finds_a_model_by_what_it_was_pulled_by(rig: Rig) -> None:
    """A host with a port is no name of the catalog, and ollama's clients ask for what they pulled."""
    rig.pull()
    ask = rig.daemon.ask
    assert ask("POST", "/api/show", {"model": rig.name}).status == 200
    for name in (rig.name, f"{rig.name}:latest", f"http://{rig.name}"):
        assert ask("POST", "/api/chat", {"model": name, "messages": HELLO, "stream": False}).status == 200
        assert ask("POST", "/v1/chat/completions", {"model": name, "messages": HELLO}).status == 200
        assert ask("POST", "/v1/messages", {"model": name, "messages": HELLO, "max_tokens": 5}).status == 200
    assert ask("GET", f"/v1/models/{rig.name}").status == 200
    assert "team/scripted" in rig.daemon.must("explain", rig.name)
    assert ask("DELETE", "/api/delete", {"model": rig.name}).status == 200
    assert ask("GET", "/api/tags").json()["models"] == []


def test_run_fetches_what_pull_takes_and_only_once(rig: Rig) -> None:
    """The second time no registry is asked: it need not even be there."""
    rig.registry.publish_hub("org/scripted-GGUF", {"scripted-F16.gguf": tiny(blocks=3).build()})
    for reference in (rig.name, "org/scripted-GGUF"):
        assert "is not here: downloading it" in rig.daemon.cli("run", reference, "hi").stderr
    asked = len(rig.registry.asked)
    rig.registry.close()
    for reference in (rig.name, "org/scripted-GGUF", "hf.co/org/scripted-gguf:f16"):
        said = rig.daemon.cli("run", reference, "hi")
        assert (said.returncode, said.stderr) == (0, "")
    assert len(rig.registry.asked) == asked


def test_an_update_leaves_what_a_person_set(rig: Rig) -> None:
    """And says so."""
    rig.pull()
    rig.daemon.must("config", "set", "model_overrides.team/scripted.ctx", "1024")
    rig.publish(2, num_ctx=2048, seed=2)
    (note,) = rig.pull()
    assert note.startswith('kept as you set it in [model_overrides."team/scripted"]: ctx;')
    (override,) = tomllib.loads(rig.daemon.config_file.read_text())["model_overrides"].values()
    assert override == {"ctx": 1024, "extra_args": ["--seed", "2"]}
    rig.daemon.must("rm", rig.name)
    (override,) = tomllib.loads(rig.daemon.config_file.read_text())["model_overrides"].values()
    assert override == {"ctx": 1024}


def test_who_asks_behind_an_update_gets_the_new_weights(rig: Rig) -> None:
    """While a long answer of the old ones goes on to its end."""
    rig.pull()
    assert rig.chat() == 200
    long: list[int] = []
    asking = threading.Thread(target=lambda: long.append(rig.chat("stub:tokens=40 stub:interval_ms=100")))
    asking.start()
    try:
        assert wait_until(lambda: len(rig.chats()) > 1, WATCHDOG)
        rig.publish(3, num_ctx=512, seed=1)
        rig.pull()
        assert rig.chat() == 200
    finally:
        asking.join(WATCHDOG)
    assert long == [200]
    children = [row["pid"] for row in rig.chats()]
    assert children[0] == children[1] != children[2]
