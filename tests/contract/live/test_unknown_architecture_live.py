"""A real llama-server and an architecture that it does not know: the refusal once and for all, and the fork that knows better.

Needs no gateway: a daemon of its own with the release archive beside the checkout.
"""

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.store.catalog import SqliteEngineCatalog
from blazar.adapters.store.database import Database
from blazar.domain import teaching
from blazar.domain.kinds import Provenance
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.registry import Answer, Registry
from tests.support.shared import shared

TAG = "b11434"
CHAT = {"model": "new", "max_tokens": 2, "messages": [{"role": "user", "content": "hi"}]}


def renamed(to: Path) -> Path:
    """tiny-llama under another architecture. Of the same length, so that no offset moves; its keys are renamed with it."""
    raw = shared("models/tiny-llama.gguf").read_bytes()
    name = struct.pack("<Q", 5) + b"llama"
    assert raw.index(name) < 100  # the first one is the architecture, another one the kind of its tokens
    to.write_bytes(raw.replace(name, struct.pack("<Q", 5) + b"nosuc", 1).replace(b"llama.", b"nosuc."))
    return to


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """With the archive's build, and the model that it does not know."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    made = Daemon(tmp_path, ONE_THREAD, env={"BLAZAR_ENGINE_PATH": ""})
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    made.must("engine", "install", str(archive), "--sha256", digest, "--tag", TAG)
    made.must("engine", "use", TAG)
    made.must("import", str(renamed(tmp_path / "new.gguf")), "--name", "new")
    with made:
        yield made


@pytest.fixture
def registry() -> Iterator[Registry]:
    """With one lane, for that architecture."""
    host = Registry()
    lane = {"name": "nosuc-lane", "kind": "llamacpp", "repo": "owner/fork", "commit": "0" * 40, "license": "MIT"}
    lane |= {"architectures": ["nosuc"], "build": "cmake"}
    host.given["/lanes.json"] = Answer({"version": 1, "lanes": [lane]})
    yield host
    host.close()


def told(body: Any) -> str:
    return str(body["error"] if isinstance(body["error"], str) else body["error"]["message"])


def test_the_refusal_is_the_same_everywhere_and_starts_nothing_again(daemon: Daemon) -> None:
    """502 on every API and one line on stderr; the second request is refused without a child."""
    first = daemon.ask("POST", "/v1/chat/completions", CHAT)
    assert first.status == 502, first.body
    roster = [engine["tag"] for engine in daemon.ask("GET", "/api/engines").json()["engines"]]
    sentence = teaching.architecture_unserved("nosuc", [TAG], roster, ())
    assert told(first.json()) == sentence
    for path in ("/api/chat", "/v1/messages"):
        again = daemon.ask("POST", path, CHAT)
        assert (again.status, told(again.json())) == (502, sentence)
    said = daemon.cli("load", "new")
    assert (said.returncode, said.stderr) == (1, f"error: {sentence}\n")
    crashes = [
        line for line in daemon.ask("GET", "/metrics").body.decode().splitlines() if "crash" in line and "new" in line
    ]
    assert [line.split()[-1] for line in crashes] == ["1"]
    explained = daemon.ask("GET", "/api/explain?model=new").json()
    assert explained["refusal"] == sentence
    assert teaching.lane_died_over(TAG, "nosuc") in [lane["reason"] for lane in explained["rejected"]]


def test_the_refusal_names_the_build_command_and_the_registrys_lane(daemon: Daemon, registry: Registry) -> None:
    """Both ways out in one body (architecture document), by the list as it was fetched before; nobody waits for the registry."""
    daemon.stop()
    daemon.config_file.write_text(f'{ONE_THREAD}capability_registry_url = "{registry.url}/lanes.json"\n')
    daemon.must("engine", "list", "--available")
    asked = len(registry.asked)
    daemon.start()
    answer = daemon.ask("POST", "/v1/chat/completions", CHAT)
    assert answer.status == 502, answer.body
    said = told(answer.json())
    assert "blazar engine install --fork REPO@SHA --arch nosuc" in said
    assert "blazar engine install --lane nosuc-lane" in said
    assert len(registry.asked) == asked
    daemon.config_file.write_text(f'{ONE_THREAD}capability_registry_url = ""\n')
    assert daemon.cli("engine", "list", "--available").returncode != 0
    assert len(registry.asked) == asked  # "" asks nobody, whatever was fetched before


def test_who_waits_is_served_by_the_fork(daemon: Daemon, tmp_path: Path) -> None:
    """A program that takes the model back to what it was, and then is the real server: started once the other one has died."""
    rows = SqliteEngineCatalog(Database(daemon.data / "blazar.db"))
    build = next(engine for engine in rows.list_engines() if engine.tag == TAG)
    fork = tmp_path / "fork-server"
    fork.write_text(
        "#!/bin/sh\n"
        f'args=$(printf "%s\\n" "$@" | sed "s|.*/new\\.gguf$|{shared("models/tiny-llama.gguf")}|")\n'
        'IFS="\n"\n'
        f"exec {build.server_path} $args\n"
    )
    fork.chmod(0o755)
    rows.add_engine(
        replace(
            build,
            tag="fork-nosuc",
            provenance=Provenance.FORK,
            server_path=str(fork),
            command=(),
            architectures=("nosuc",),
            active=False,
        )
    )
    answer = daemon.ask("POST", "/v1/chat/completions", CHAT)
    assert answer.status == 200, answer.body
    rows_shown = json.loads(daemon.ask("GET", "/api/ps").body)["models"]
    assert [row["engine"] for row in rows_shown] == ["fork-nosuc"]
