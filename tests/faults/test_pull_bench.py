"""The bench's rows of pulls: measured of a whole daemon as well, and shown against their bounds. Speed is judged by the bench alone (D27)."""

import shutil
from pathlib import Path

from bench.pulling import pulled
from bench.table import Row, Table

SIZE = 128 << 20
"""Twice the bound on memory: who holds a file is seen."""
MOST_MIB = 64.0


def rows_of(facts: dict[str, float]) -> dict[str, Row]:
    """What the table says of them, by the unit and the bound."""
    rows = Table({}, {name: [value] for name, value in facts.items()}).rows()
    return {row.name: row for row in rows if "pull" in row.name}


def test_a_daemon_that_pulls_is_measured_as_a_whole(tmp_path: Path) -> None:
    """Its speed, its memory and its loop, each beside the same of a transfer alone; memory does not grow with what is pulled."""
    facts = pulled(tmp_path, SIZE)
    kinds = {"rate", "mib", "block_ms"} | ({"ratio"} if shutil.which("curl") and shutil.which("sha256sum") else set())
    assert set(facts) == {f"{what}_{kind}" for what in ("pull", "whole_pull") for kind in kinds}
    assert all(value > 0 for value in facts.values())
    assert facts["whole_pull_mib"] < MOST_MIB


def test_both_kinds_of_pull_have_the_same_bounds() -> None:
    """What one row promises of a transfer, another promises of the daemon that makes it."""
    values = {"ratio": 1.0, "mib": 1.0, "block_ms": 1.0}
    rows = rows_of({f"{what}_{kind}": value for what in ("pull", "whole_pull") for kind, value in values.items()})
    bounds = [(row.unit, row.least, row.most) for row in rows.values() if row.target]
    assert sorted(bounds, key=str) == sorted(
        2 * [("×", 0.85, None), ("MiB", None, MOST_MIB), ("ms", None, 20)], key=str
    )
    assert {row.verdict for row in rows.values() if row.target} == {"reached"}
