"""The engine catalog in memory, and an engine to put into it."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from blazar.application.ports.engines import EngineCatalog, Judge
from blazar.domain.errors import EngineNotFound
from blazar.domain.kinds import RANK, EngineKind, Provenance
from blazar.domain.records import Engine


def an_engine(tag: str = "b11434", **changes: Any) -> Engine:
    """An unpacked llama.cpp build; `changes` replace fields."""
    engine = Engine(
        tag=tag,
        kind=EngineKind.LLAMACPP,
        provenance=Provenance.ARCHIVE,
        server_path=f"/engines/{tag}/llama-server",
        version=tag,
        active=False,
        installed_at=1_700_000_000.0,
    )
    return replace(engine, **changes)


class MemoryEngineCatalog(EngineCatalog):
    """Rows in a dict; the active tag of each kind beside them, so that two can never be active."""

    def __init__(self, engines: Iterable[Engine] = ()) -> None:
        self._rows: dict[str, Engine] = {}
        self._active: dict[EngineKind, str] = {}
        for engine in engines:
            self.add_engine(engine)

    def find_engine(self, tag: str) -> Engine | None:
        row = self._rows.get(tag)
        return row and self._shown(row)

    def list_engines(self) -> list[Engine]:
        rows = [self._shown(row) for row in self._rows.values()]
        return sorted(rows, key=lambda row: (row.kind, not row.active, -row.installed_at, row.tag))

    def add_engine(self, engine: Engine) -> None:
        before = self._rows.get(engine.tag)
        self._rows[engine.tag] = engine
        if before is not None and before.kind is not engine.kind:
            self._hand_over(before.kind)
        holder = self._rows.get(self._active.get(engine.kind, ""))
        if engine.active or holder is None or RANK[engine.provenance] < RANK[holder.provenance]:
            self._active[engine.kind] = engine.tag

    def set_active(self, kind: EngineKind, tag: str, at: float = 0.0) -> None:
        row = self._rows.get(tag)
        if row is None or row.kind is not kind:
            raise EngineNotFound(tag, self._tags(kind))
        before = self._active.get(kind, tag)
        if at and before != tag:
            self._rows[before] = replace(self._rows[before], used_at=math.nextafter(at, 0.0))
        self._rows[tag] = replace(row, used_at=at or row.used_at)
        self._active[kind] = tag

    def amend_engine(self, tag: str, change: Callable[[Engine], Engine]) -> Engine:
        row = self._rows.get(tag)
        if row is None:
            raise EngineNotFound(tag, sorted(self._rows))
        self._rows[tag] = replace(change(self._shown(row)), tag=tag, kind=row.kind, active=False)
        return self._shown(self._rows[tag])

    def heal_paths(self) -> list[str]:
        return []

    def remove_engine(self, tag: str, judge: Judge | None = None) -> None:
        row = self._rows.get(tag)
        if row is None:
            raise EngineNotFound(tag, sorted(self._rows))
        if judge is not None:
            judge(self.list_engines())
        del self._rows[tag]
        if self._active.get(row.kind) == tag:
            self._hand_over(row.kind)

    def _hand_over(self, kind: EngineKind) -> None:
        heirs = [row for row in self._rows.values() if row.kind is kind]
        heirs.sort(key=lambda row: (RANK[row.provenance], -row.installed_at, row.tag))
        self._active.pop(kind, None)
        if heirs:
            self._active[kind] = heirs[0].tag

    def _tags(self, kind: EngineKind) -> list[str]:
        return sorted(row.tag for row in self._rows.values() if row.kind is kind)

    def _shown(self, row: Engine) -> Engine:
        return replace(row, active=self._active.get(row.kind) == row.tag)
