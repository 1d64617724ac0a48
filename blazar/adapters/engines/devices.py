"""Which devices an engine build would compute on, by its own `--list-devices`. Loads no model.

The rows are those of llama.cpp b11434 (common/arg.cpp, common_print_available_devices), which leaves processors out; other
engines' lists have rows without memory, and rows for the processor.
"""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from blazar.adapters.engines.asking import ask
from blazar.adapters.engines.environment import engine_env
from blazar.application.ports.drivers import FlagProbe
from blazar.application.ports.hardware import DeviceLister, ListedDevice
from blazar.domain.records import Engine

FLAG: Final = "--list-devices"
WORKERS: Final = "--rpc"

ANSWER_SECS = 30.0
"""A cold disk and the start of CUDA on many cards; more is a hang."""

WORKERS_SECS: Final = 10.0
"""With workers: a machine that is switched off answers no connection, and a load waits for the list."""

CUDA_ORDER: Final = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
"""What makes CUDA number cards as the driver and the census do; children need the same, or CUDA0 is another card here and there."""

QUIETLY: Final = ("GGML_NO_BACKTRACE", "1")
"""One that ends itself would start a debugger to tell where (ggml/src/ggml.c)."""

_HEAD = "Available devices:"
_ROW = re.compile(r"\s+(?P<name>\S+): (?P<label>.*?)(?: \((?P<total>\d+) MiB, (?P<free>\d+) MiB free\))?\s*")
# The processor is no accelerator, and what runs on it (BLAS) neither: once a CUDA build was told `--device CPU` (contract).
_PROCESSOR = re.compile(r"(CPU|BLAS|ACCEL)\d*", re.IGNORECASE)
_MIB = 2**20

_Key = tuple[tuple[str, ...], str, int, int]


def devices_in(text: str) -> tuple[ListedDevice, ...] | None:
    """The rows of a list, in its order; None where there is no list in the text."""
    lines = iter(text.splitlines())
    if not any(line.strip() == _HEAD for line in lines):
        return None
    rows = (match for line in lines if (match := _ROW.fullmatch(line)))
    return tuple(
        ListedDevice(row["name"], row["label"].strip(), int(row["total"] or 0) * _MIB, int(row["free"] or 0) * _MIB)
        for row in rows
        if not _PROCESSOR.fullmatch(row["name"])
    )


class EngineDevices(DeviceLister):
    """Runs builds that know the flag, in the environment that their children will have; remembers until `invalidate`.

    An empty list stays: what computes on the processor will not find a card because a model was loaded. `reachable` picks the
    workers that serve now out of several: told of a dead one, a build lists nothing, and of a busy one it waits for ever.
    """

    def __init__(
        self,
        flags: FlagProbe,
        scrubbed: tuple[str, ...] = (),
        extra: Mapping[str, str] | None = None,
        reachable: Callable[[str], str] = str,
    ) -> None:
        self._flags, self._scrubbed, self._reachable = flags, scrubbed, reachable
        self._extra = extra if extra is not None else {}  # not copied: configuration may change it
        self._known: dict[_Key, tuple[ListedDevice, ...] | None] = {}

    def list_devices(self, engine: Engine, workers: str = "") -> tuple[ListedDevice, ...] | None:
        try:
            facts = Path(engine.server_path).stat()
        except OSError:
            return None
        key = (engine.words, workers, facts.st_size, facts.st_mtime_ns)
        known = self._known  # what is asked before an `invalidate` and answered after it goes with the old ones
        if key not in known:
            if workers and (there := self._reachable(workers)) != workers:
                return self.list_devices(engine, there)
            listed = self._ask(engine, workers)
            if listed is None and workers:
                # It ends itself over a worker that is not there. Not remembered: it may be there the next time.
                return self.list_devices(engine)
            known[key] = listed
        return known[key]

    def invalidate(self) -> None:
        self._known = {key: rows for key, rows in self._known.items() if rows == ()}

    def forget(self) -> None:
        """The environment is another one: it may show or hide any device."""
        self._known = {}

    def _ask(self, engine: Engine, workers: str) -> tuple[ListedDevice, ...] | None:
        known = self._flags.manifest(engine)
        if FLAG not in known or (workers and WORKERS not in known):
            return None
        return self._run((*engine.words, *((WORKERS, workers) if workers else ()), FLAG), workers)

    def _run(self, words: tuple[str, ...], workers: str) -> tuple[ListedDevice, ...] | None:
        try:
            done = ask(
                words,
                dict([QUIETLY]) | _ordered(engine_env(self._scrubbed, self._extra.items())),
                WORKERS_SECS if workers else ANSWER_SECS,
                both=False,  # backends tell on stderr what they load
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return devices_in(done.text) if done.code == 0 else None


def _ordered(env: Mapping[str, str]) -> dict[str, str]:
    """With cards in PCI order, unless the user has chosen another."""
    return dict([CUDA_ORDER]) | dict(env)
