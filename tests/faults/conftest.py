"""A real daemon whose engine is the stub: everything is real but the arithmetic."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.engine import recorded, stub_server
from tests.support.gguf_files import tiny

CHAOS = os.environ.get("BLAZAR_CHAOS") == "1"
"""`make chaos` repeats what is random or slow."""

StubDaemon = Callable[..., Daemon]


@pytest.fixture
def stub_daemon(tmp_path: Path) -> Iterator[StubDaemon]:
    """A maker of daemons: `stub_daemon(load_secs=1, config="slots = 2")`; models `m` and `other` are imported."""
    made: list[Daemon] = []

    def make(config: str = "", **switches: Any) -> Daemon:
        engine = stub_server(tmp_path / "bin", record=str(tmp_path / "record.jsonl"), **switches)
        daemon = Daemon(tmp_path, f"spawn_mem_guard = false\n{config}", {"BLAZAR_ENGINE_PATH": str(engine)})
        for name in ("m", "other"):
            file = replace(tiny(), noise=len(name)).save(tmp_path / f"{name}.gguf")
            daemon.must("import", str(file), "--name", name)
        made.append(daemon)
        return daemon.start()

    yield make
    for daemon in made:
        daemon.__exit__(None, None, None)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """One daemon for a whole module of cases. The module's CONFIG and SWITCHES are its.

    Models: `m` and `other` (window 512), `small` (64), `third` (512), and the embedding model `e` (16).
    """
    folder = tmp_path_factory.mktemp("cases")
    switches = {"record": str(folder / "record.jsonl")} | getattr(request.module, "SWITCHES", {})
    engine = stub_server(folder / "bin", **switches)
    config = f"spawn_mem_guard = false\n{getattr(request.module, 'CONFIG', '')}"
    daemon = Daemon(folder, config, {"BLAZAR_ENGINE_PATH": str(engine)})
    extras: dict[str, dict[str, Any]] = {"m": {}, "other": {}, "third": {}, "small": {"llama.context_length": 64}}
    extras["e"] = {"llama.context_length": 16, "llama.pooling_type": 1}
    for name, extra in extras.items():
        file = replace(tiny(extra=extra), noise=len(name)).save(folder / f"{name}.gguf")
        daemon.must("import", str(file), "--name", name)
    with daemon:
        yield daemon


@pytest.fixture
def calls(cases: Daemon) -> Callable[[str], list[dict[str, Any]]]:
    """The bodies of this test's requests to a path of the stub, as they arrived there."""
    seen = len(recorded(cases.home / "record.jsonl"))

    def since(path: str = "/v1/chat/completions") -> list[dict[str, Any]]:
        rows = recorded(cases.home / "record.jsonl")[seen:]
        return [json.loads(row["body"]) for row in rows if row["event"] == "request" and row["path"] == path]

    return since


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """What the stub wrote down."""
    return tmp_path / "record.jsonl"
