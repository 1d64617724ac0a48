"""What clients had kept, in memory."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count

from blazar.application.ports.saved import Change, Keeping, Saved, SavedStore
from blazar.domain.wire.paging import Page


class MemorySaved(SavedStore):
    """Insertion order is age."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Keeping, str], tuple[int, Saved]] = {}
        self._next = count()

    def add(self, saved: Saved) -> None:
        self._rows[saved.kind, saved.id] = (next(self._next), saved)

    def find(self, kind: Keeping, id_: str, owner: str) -> Saved | None:
        found = self._rows.get((kind, id_))
        return found[1] if found and found[1].owner == owner else None

    def page(self, kind: Keeping, owner: str, page: Page) -> Sequence[Saved]:
        mine = [row for _, row in self._aged(kind) if row.owner == owner]
        mine = mine if page.ascending else mine[::-1]
        if page.after:
            ids = [row.id for row in mine]
            mine = mine[ids.index(page.after) + 1 :] if page.after in ids else []
        return [replace(row, body=b"") for row in mine[: page.limit]]

    def change(self, kind: Keeping, id_: str, change: Change, expected: Collection[str] = ()) -> bool:
        if (kind, id_) not in self._rows:
            return False
        age, row = self._rows[kind, id_]
        if expected and row.status not in expected:
            return False
        wanted = {name: value for name, value in change._asdict().items() if value is not None}
        self._rows[kind, id_] = (age, replace(row, **wanted))
        return True

    def remove(self, kind: Keeping, id_: str, owner: str) -> bool:
        return self.find(kind, id_, owner) is not None and self._rows.pop((kind, id_)) is not None

    def with_status(self, kind: Keeping, statuses: Collection[str]) -> Sequence[Saved]:
        return [row for _, row in self._aged(kind) if row.status in statuses]

    def trim(self, kind: Keeping, most_bytes: int, now: float, spared: Collection[str] = ()) -> Sequence[str]:
        gone, held = [], 0
        for _, row in reversed(self._aged(kind)):
            over = held + row.size > most_bytes or 0 < row.expires_at <= now
            if over and row.status not in spared:
                gone.append(row.id)
                del self._rows[kind, row.id]
            else:
                held += row.size
        return gone

    def _aged(self, kind: Keeping) -> list[tuple[int, Saved]]:
        return sorted((pair for (of, _), pair in self._rows.items() if of is kind), key=lambda pair: pair[0])
