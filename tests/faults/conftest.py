"""A real daemon whose engine is the stub: everything is real but the arithmetic."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.engine import stub_server
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


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """What the stub wrote down."""
    return tmp_path / "record.jsonl"
