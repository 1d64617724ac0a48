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
from tests.support.gguf_files import Gguf, tiny
from tests.support.model_registry import ModelRegistry
from tests.support.safetensors_files import MLX, model_folder

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


def _adapter(mark: int) -> bytes:
    pairs = [("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora"), ("mark", mark)]
    return Gguf(pairs, tiny().rows).build()


def test_an_adapter_that_is_pulled_anew_is_taken_by_who_has_it_loaded(rig: Rig) -> None:
    """Neither its path nor any row or setting changes: the next request gets the new one all the same. One that is no newer evicts nobody."""
    rig.pull()
    rig.registry.publish_hub("acme/lora-GGUF", {"lora-F16.gguf": _adapter(1)})
    assert "pulled the adapter" in rig.daemon.must("pull", "acme/lora-GGUF")
    (path,) = (rig.daemon.data / "models" / "adapters").glob("*.gguf")
    rig.daemon.must("config", "set", "model_overrides.team/scripted.loras", json.dumps([str(path)]))
    assert rig.chat() == 200
    assert "is there already" in rig.daemon.must("pull", "acme/lora-GGUF")
    assert rig.chat() == 200
    rig.registry.publish_hub("acme/lora-GGUF", {"lora-F16.gguf": _adapter(2)})
    rig.daemon.must("pull", "acme/lora-GGUF")
    assert path.read_bytes() == _adapter(2)
    assert rig.chat() == 200
    first, second, third = (row["pid"] for row in rig.chats())
    assert first == second != third


def test_a_copy_is_what_its_source_is(rig: Rig) -> None:
    """What the registry says, what a person set instead, and what they took out; and `show` says what the registry said."""
    rig.pull()
    rig.daemon.must("config", "set", "model_overrides.team/scripted.ctx", "1024")
    rig.daemon.must("config", "unset", "model_overrides.team/scripted.extra_args")
    rig.daemon.must("cp", rig.name, "mine")
    overrides = tomllib.loads(rig.daemon.config_file.read_text())["model_overrides"]
    assert overrides == {"team/scripted": {"ctx": 1024}, "mine": {"ctx": 1024}}
    said = json.loads(rig.daemon.must("show", "mine", "--json"))["overlay"]
    assert said["parameters"] == {"num_ctx": 512, "seed": 1}
    rig.daemon.must("rm", "mine")
    assert set(tomllib.loads(rig.daemon.config_file.read_text())["model_overrides"]) == {"team/scripted"}


def test_what_nothing_serves_is_not_recommended(rig: Rig, tmp_path: Path) -> None:
    """By the daemon's engines: it came, and the sentence says how to get the engine that it needs."""
    folder = model_folder(tmp_path / "tiny-mlx", MLX)
    rig.registry.publish_hub("acme/mlx", {file.name: file.read_bytes() for file in folder.iterdir()})
    ran = rig.daemon.cli("pull", "acme/mlx")
    assert "note: nothing here serves mlx yet: only mlx-lm" in ran.stderr, "before it comes"
    said = ran.stdout
    assert "blazar engine install --kind mlx" in said
    assert "blazar run" not in said
    assert (
        "blazar engine install --kind mlx"
        in rig.daemon.ask("POST", "/api/pull", {"model": "acme/mlx", "stream": False}).json()["unserved"]
    )
