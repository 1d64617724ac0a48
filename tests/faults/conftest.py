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


@pytest.fixture(scope="session")
def case_daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Daemon]]:
    """A daemon per configuration, kept for the whole session: starting one costs more than most cases."""
    made: dict[str, Daemon] = {}

    def daemon_with(config: str) -> Daemon:
        if config not in made:
            made[config] = _case_daemon(tmp_path_factory.mktemp("cases"), config)
        return made[config].start() if made[config].process is None else made[config]

    yield daemon_with
    for daemon in made.values():
        daemon.__exit__(None, None, None)


@pytest.fixture
def cases(case_daemons: Callable[[str], Daemon], request: pytest.FixtureRequest) -> Daemon:
    """The daemon of a module of cases; its CONFIG is the module's.

    Models: `m`, `other` and `third` (window 512), `small` (64), `deaf` (ignores SIGTERM), and the embedding model `e` (16).
    """
    return case_daemons(getattr(request.module, "CONFIG", ""))


def _case_daemon(folder: Path, config: str) -> Daemon:
    engine = stub_server(folder / "bin", record=str(folder / "record.jsonl"))
    daemon = Daemon(folder, f"spawn_mem_guard = false\n{config}", {"BLAZAR_ENGINE_PATH": str(engine)})
    extras: dict[str, dict[str, Any]] = {"m": {}, "other": {}, "third": {}, "small": {"llama.context_length": 64}}
    extras["deaf"] = {"general.description": "STUB{ignore_term=1}"}
    extras["e"] = {"llama.context_length": 16, "llama.pooling_type": 1}
    for name, extra in extras.items():
        file = replace(tiny(extra=extra), noise=len(name)).save(folder / f"{name}.gguf")
        daemon.must("import", str(file), "--name", name)
    return daemon


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
