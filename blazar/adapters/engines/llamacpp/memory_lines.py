"""What llama-server says that it allocated, out of its own log at verbosity 4. Pure: reads no file and keeps no text.

Every buffer is announced once, in MiB rounded to 0.01, by the function that made it (llama.cpp b11434: llama-model.cpp,
llama-kv-cache*.cpp, llama-memory-recurrent.cpp, llama-context.cpp, llama-adapter.cpp, clip.cpp).
"""

import re

from blazar.application.ports.children import HOST, MAPPED, REPACKED, Buffer

MIB = 2**20
LONGEST_LINE = 4096
"""Of an unfinished line: memory lines are short, and a template printed in one line must not pile up."""

_LINE = re.compile(
    r"(?:^|\s)(?P<maker>\w+): +(?P<place>\S+) +(?:DSV4 \S+ state|(?P<what>model|KV|RS|compute|output|LoRA)) "
    r"buffer size = +(?P<mib>\d+\.\d+) MiB\s*$"
)
_NEW_CONTEXT = "constructing llama_context"
_WAKES = "server is exiting sleeping state"
"""From here on everything is announced anew; asleep, the engine keeps nothing and will want all of it back."""
_WHAT = {"model": "weights", "KV": "kv", "RS": "recurrent", "compute": "compute", "output": "output", "LoRA": "lora"}
_STATE = "recurrent"
"""A DeepSeek V4 compressor's state is announced with a ratio in its name; it is state all the same."""
_HOST_WEIGHTS = {"CPU_Mapped": MAPPED, "CPU_REPACK": REPACKED}
"""Buffer types whose weights are told apart: with both, the file's pages of what was repacked are no longer read."""
_VARIANT = re.compile(r"_(Mapped|Private|Split)$")
"""Kinds of buffer on one and the same device."""


def device_of(place: str) -> str:
    """The device that a buffer type's memory comes from: `CUDA_Host`, `CPU_Mapped` and the like lie in main memory."""
    if place.startswith("CPU") or place.endswith("_Host"):
        return HOST
    return _VARIANT.sub("", place)


class MemoryLines:
    """Adds up what is announced. Feed it the log in pieces, in order, cut anywhere."""

    def __init__(self) -> None:
        self._rest = ""
        self._context = 0
        self._sums: dict[tuple[str, str], int] = {}
        self._replaced: dict[tuple[int, str, str, str], int] = {}
        self._before: dict[tuple[str, str], int] = {}

    def feed(self, text: str) -> None:
        """The next piece."""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[:LONGEST_LINE]
        for line in lines:
            self._read(line)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """What lies where by now. Of one that sleeps or wakes up: as much as it had."""
        now = self._totals()
        sums = {key: max(now.get(key, 0), self._before.get(key, 0)) for key in {*now, *self._before}}
        return tuple(Buffer(device, what, size) for (device, what), size in sorted(sums.items()))

    def _totals(self) -> dict[tuple[str, str], int]:
        sums = dict(self._sums)
        for (_, _, device, what), size in self._replaced.items():
            sums[device, what] = sums.get((device, what), 0) + size
        return sums

    def _read(self, line: str) -> None:
        if "buffer size" not in line:
            self._context += _NEW_CONTEXT in line
            if _WAKES in line:
                self._before, self._sums, self._replaced = self._totals(), {}, {}
            return
        if (found := _LINE.search(line)) is None:
            return
        maker, place, word, mib = found["maker"], found["place"], found["what"], found["mib"]
        what, device, size = _WHAT.get(word or "", _STATE), device_of(place), round(float(mib) * MIB)
        if what in ("compute", "output"):
            # Announced anew whenever a context's graph is laid out again: the last one counts.
            self._replaced[self._context, f"{maker} {place}", device, what] = size
        else:
            what = _HOST_WEIGHTS.get(place, what) if what == "weights" else what
            self._sums[device, what] = self._sums.get((device, what), 0) + size
