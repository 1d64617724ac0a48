"""What the last look for newer engine builds found, in a small file that the verbs and the daemon share.

A cache: what cannot be read was never looked up, what cannot be written is looked up again. Nothing here fails a look.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from blazar.adapters.files.bounded import read_object_if_there
from blazar.application.engines.check_currency import Currency, Memory, currency_row
from blazar.domain.kinds import EngineKind

NAME: Final = "engine-updates.json"
"""Beside the capability registry's list, in the data folder."""
_SAID: Final = ("active", "newest", "stable", "newest_stable", "trouble")
_NEVER: Final = 1e11
"""A moment that no clock shows (the year 5138)."""
_IS: Final = ("available", "back", "same", "pinned")


class KeptLookups:
    """One row a kind, in `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> tuple[Currency, ...]:
        """Empty before the first look."""
        rows = read_object_if_there(str(self._file)).get("updates")
        return tuple(_readable(rows)) if isinstance(rows, list) else ()

    def write(self, rows: Sequence[Currency]) -> None:
        """In place of what was there."""
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{self._file.name}-", dir=self._file.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"updates": [currency_row(row) for row in rows]}, file)
                Path(name).replace(self._file)
            finally:
                Path(name).unlink(missing_ok=True)  # where it was not moved


def kept_in(data: Path) -> Memory:
    """Of the data folder `data`."""
    kept = KeptLookups(data / NAME)
    return Memory(kept.read, kept.write)


def _readable(rows: Sequence[Any]) -> Iterator[Currency]:
    """Rows of this very form: another version's, or somebody's hand, says nothing."""
    for row in rows:
        if not isinstance(row, dict) or set(row) != set(Currency._fields):
            continue
        right = all(isinstance(row[name], str) for name in _SAID) and all(type(row[name]) is bool for name in _IS)
        at = row["checked_at"]
        if right and row["kind"] in [*EngineKind] and type(at) in (int, float) and 0 <= at < _NEVER:
            yield Currency(**{**row, "kind": EngineKind(row["kind"])})
