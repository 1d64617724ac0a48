"""Chat completions that were kept: found, listed by what was attached to them, changed and removed. Each owner sees its own (A29)."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from blazar.application.ports.saved import Change, Keeping, Saved, SavedStore
from blazar.domain import teaching
from blazar.domain.errors import NotFound
from blazar.domain.wire.paging import Page, follows
from blazar.domain.wire.stored_chat import StoredChat, packed_chat, unpacked_chat

_STEP: Final = 200
"""Rows that are looked over at a time."""


class Filters(NamedTuple):
    """Which completions are wanted: of this model ("": any), with all of these attached."""

    model: str = ""
    metadata: Mapping[str, str] = {}

    def match(self, row: Saved) -> bool:
        """Whether a row, which comes without its body, is wanted."""
        if self.model and row.model != self.model:
            return False
        attached = json.loads(row.facts)
        return all(attached.get(key) == value for key, value in self.metadata.items())


class Completions:
    """Blocking: call it off the loop."""

    def __init__(self, store: SavedStore) -> None:
        self._store = store

    def find(self, id_: str, owner: str) -> StoredChat:
        """Raises `NotFound`."""
        saved = self._store.find(Keeping.COMPLETION, id_, owner)
        if saved is None:
            raise NotFound(teaching.completion_not_kept(id_))
        return unpacked_chat(saved.body)

    def page(self, owner: str, paging: Page, filters: Filters) -> tuple[list[dict[str, Any]], bool]:
        """So many of them, and whether there are more. Raises `Malformed` for a page that begins nowhere."""
        if paging.after:
            follows(paging, there=self._store.find(Keeping.COMPLETION, paging.after, owner) is not None)
        ids: list[str] = []
        after = paging.after
        while len(ids) <= paging.limit:
            rows = self._store.page(Keeping.COMPLETION, owner, Page(_STEP, after, paging.ascending))
            ids += [row.id for row in rows if filters.match(row)]
            if len(rows) < _STEP:
                break
            after = rows[-1].id
        found = (self._store.find(Keeping.COMPLETION, id_, owner) for id_ in ids[: paging.limit])
        shown = [unpacked_chat(saved.body).completion for saved in found if saved is not None]
        return shown, len(ids) > paging.limit

    def attach(self, id_: str, owner: str, metadata: Mapping[str, str]) -> dict[str, Any]:
        """Exchange what is attached to one; how it is then. Raises `NotFound`."""
        stored = self.find(id_, owner)
        changed = stored._replace(completion={**stored.completion, "metadata": dict(metadata)})
        change = Change(facts=json.dumps(dict(metadata)), body=packed_chat(changed))
        if not self._store.change(Keeping.COMPLETION, id_, change):
            raise NotFound(teaching.completion_not_kept(id_))
        return changed.completion

    def remove(self, id_: str, owner: str) -> None:
        """Raises `NotFound`."""
        if not self._store.remove(Keeping.COMPLETION, id_, owner):
            raise NotFound(teaching.completion_not_kept(id_))
