"""NVIDIA cards by `nvidia-smi`, for where the library cannot be loaded or is silent. Reads text, judges nothing.

Columns and the words for "no figure" are those of `nvidia-smi --help-query-gpu`; memory is in MiB under `nounits`.
"""

from typing import Final

from blazar.adapters.hardware.commands import Runner, run
from blazar.adapters.hardware.figures import whole
from blazar.adapters.hardware.nvml import NvidiaReport
from blazar.adapters.hardware.probing import ProbeFailed
from blazar.domain import teaching
from blazar.domain.records import Gpu

COLUMNS: Final[tuple[str, ...]] = ("index", "pci.bus_id", "name", "memory.total", "memory.free", "driver_version")
YOUNGER: Final[tuple[str, ...]] = ("compute_cap", "mig.mode.current")
"""Columns that drivers before 510 and 450 refuse, and the whole query with them."""

_UNKNOWN_COLUMN = "is not a valid field"
_NO_CARD = "No devices were found"
_UNSUPPORTED = ("[n/a]", "[not supported]")
_MIB = 2**20


def read_smi(run: Runner = run) -> NvidiaReport:
    """All cards in PCI order; raises `NotHere` without the program, `ProbeFailed` when it fails or hangs.

    Slices of a card in MIG mode have no memory figure here, and the card's own is not theirs: it counts as memory-less.
    """
    columns = COLUMNS + YOUNGER
    said = run(_query(columns))
    if said.code != 0 and _UNKNOWN_COLUMN in said.text:
        columns = COLUMNS
        said = run(_query(columns))
    if _NO_CARD in said.text:
        return NvidiaReport()
    if said.code != 0:
        lines = said.text.split("\n")
        raise ProbeFailed(lines[0].strip() or teaching.ended_with(said.code))
    gpus = [gpu for line in said.text.splitlines() if (gpu := _gpu(line, len(columns))) is not None]
    gpus.sort(key=lambda gpu: gpu.address)
    return NvidiaReport(
        tuple(gpu._replace(ordinal=ordinal) for ordinal, gpu in enumerate(gpus)),
        addresses=frozenset(gpu.address for gpu in gpus),
    )


def _query(columns: tuple[str, ...]) -> tuple[str, ...]:
    return "nvidia-smi", f"--query-gpu={','.join(columns)}", "--format=csv,noheader,nounits"


def _gpu(line: str, columns: int) -> Gpu | None:
    """One row; a name may hold commas, so it is what the other columns leave over."""
    words = [word.strip() for word in line.split(",")]
    after = columns - 3
    if len(words) < columns or not words[0].isdigit():
        return None  # a warning, or a blank line
    total, free, driver, capability, mig = (*words[-after:], "", "")[:5]
    name = ",".join(line.split(",")[2:-after]).strip()
    domain, mark, rest = words[1].lower().partition(":")
    sliced = mig.lower() == "enabled"
    return Gpu(
        0,
        name,
        "nvidia",
        0 if sliced else _bytes(total),
        0 if sliced else min(_bytes(free), _bytes(total)),
        _word(driver),
        "cuda",
        f"{domain[-4:]}{mark}{rest}",
        _word(capability),
        shared=total.lower() in _UNSUPPORTED,
    )


def _bytes(word: str) -> int:
    return max(0, whole(word) or 0) * _MIB


def _word(word: str) -> str:
    return "" if word.startswith("[") else word
