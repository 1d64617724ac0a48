"""Engines for tests: the stub as a program of its own, and the outsides that the process adapter needs."""

import asyncio
import json
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.entropy import Entropy

STUB = Path(__file__).resolve().parents[1] / "stubs" / "llama_server.py"
ONE_THREAD = ("--threads", "1", "--threads-batch", "1")
"""Two threads on busy cores make an engine several times slower."""


def stub_server(folder: Path, name: str = "llama-server", **switches: Any) -> Path:
    """An executable that behaves as llama-server, usable as BLAZAR_ENGINE_PATH or inside an archive.

    `switches` are the stub's (see its head): `stub_server(tmp_path, load_secs=2)`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = "".join(f"os.environ.setdefault({'STUB_' + k.upper()!r}, {str(v)!r})\n" for k, v in switches.items())
    program = folder / name
    program.write_text(
        f"#!{sys.executable} -S\nimport os, runpy\n{settings}runpy.run_path({str(STUB)!r}, run_name='__main__')\n"
    )
    program.chmod(0o755)
    return program


def stub_model(path: Path, **switches: Any) -> Path:
    """A file that makes the stub misbehave when it is told to load it."""
    words = ",".join(f"{k}={v}" for k, v in switches.items())
    path.write_bytes(b"GGUF stub STUB{" + words.encode() + b"}")
    return path


def recorded(path: Path, event: str = "") -> list[dict[str, Any]]:
    """What a stub wrote to its `record` file so far. A line without its end is still being written."""
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [row for row in rows if not event or row["event"] == event]


class LoopClock(Clock):
    """Real time."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay)


class RealEntropy(Entropy):
    """The operating system's."""

    def token(self, nbytes: int) -> str:
        return secrets.token_hex(nbytes)


async def until(holds: Callable[[], Any], seconds: float = 30.0) -> None:
    """Poll a condition that no event announces; a watchdog, not a measurement (D27)."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the watchdog ran out"
        await asyncio.sleep(0.01)
