"""Apple's GPU, by `sysctl`: one device whose memory is the machine's, up to what Metal lets it wire."""

import sys

from blazar.adapters.hardware.commands import Runner, run
from blazar.adapters.hardware.figures import whole
from blazar.adapters.hardware.probing import ProbeFailed
from blazar.domain import teaching
from blazar.domain.records import Gpu

_ARM, _NAME, _MEMORY, _LIMIT = (
    "hw.optional.arm64",
    "machdep.cpu.brand_string",
    "hw.memsize",
    "iogpu.wired_limit_mb",
)
_LARGE = 32 * 2**30
_MIB = 2**20


def apple_gpus_if_any(run: Runner = run) -> tuple[Gpu, ...]:
    """Nothing outside macOS."""
    return apple_gpus(run) if sys.platform == "darwin" else ()


def apple_gpus(run: Runner = run) -> tuple[Gpu, ...]:
    """The one GPU of Apple silicon; nothing on Intel Macs, whose cards no engine build of ours uses.

    An older system does not know the last name and says so on a line of its own: the others still hold.
    """
    said = run(("sysctl", _ARM, _NAME, _MEMORY, _LIMIT))
    rows = dict(line.split(": ", 1) for line in said.text.splitlines() if ": " in line)
    if rows.get(_ARM, "0").strip() != "1":
        return ()
    memory = whole(rows.get(_MEMORY, "").strip())
    if memory is None or memory < 0:
        raise ProbeFailed(teaching.ended_with(said.code))
    limit = whole(rows.get(_LIMIT, "").strip()) or 0
    budget = metal_budget(memory, max(0, limit))
    name = rows.get(_NAME, "Apple GPU").strip()
    return (Gpu(0, name, "apple", budget, budget, "metal", "metal", shared=True),)


def metal_budget(memory: int, limit_mb: int) -> int:
    """Bytes that Metal recommends as the largest working set; `limit_mb` 0 is the system's own choice.

    That choice is not documented. Values that engines logged: two thirds of the memory up to 32 GiB (10922 of 16384 MiB, 21845
    of 32768) and three quarters above (49152 of 65536, 73728 of 98304); newer systems go higher on large machines (llama.cpp
    issues 1870 and 3213, ollama issue 434).
    """
    if limit_mb:
        return min(limit_mb * _MIB, memory)
    return memory * 3 // 4 if memory > _LARGE else memory * 2 // 3
