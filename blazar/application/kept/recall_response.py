"""Finds responses that were kept, alone or with the conversation that they end. Somebody else's is not there (A29)."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from blazar.application.ports.saved import Change, Keeping, SavedStore
from blazar.domain import teaching
from blazar.domain.errors import Malformed, NotFound
from blazar.domain.wire.responses_items import response_of
from blazar.domain.wire.responses_kept import UNFINISHED, KeptResponse, lost, packed, turns, unpacked

MOST_TURNS: Final = 2000
"""Responses of one conversation. Nobody talks that long, and a chain that leads back to itself must end."""


class RecallResponse:
    """Blocking: call it off the loop. `running` tells the ids of responses that are being worked on."""

    def __init__(self, store: SavedStore, running: Callable[[], Collection[str]] = tuple) -> None:
        self._store, self._running = store, running

    def find(self, id_: str, owner: str) -> KeptResponse:
        """Raises `NotFound`. One that nobody works on any more has failed."""
        saved = self._store.find(Keeping.RESPONSE, id_, owner)
        if saved is None:
            raise NotFound(teaching.response_not_kept(id_))
        kept = unpacked(saved.body)
        if saved.status in UNFINISHED and id_ not in self._running():
            kept = kept._replace(response=lost(kept.response))
            self._store.change(Keeping.RESPONSE, id_, Change("failed", body=packed(kept)), expected=UNFINISHED)
        return kept

    def chain(self, id_: str, owner: str) -> list[KeptResponse]:
        """It and all before it, newest first. Raises `NotFound` where one of them is gone."""
        found = [self.find(id_, owner)]
        while found[-1].previous:
            if len(found) >= MOST_TURNS:
                raise Malformed(teaching.conversation_too_long(MOST_TURNS), "previous_response_id")
            found.append(self.find(found[-1].previous, owner))
        return found

    def history(self, id_: str, owner: str) -> list[dict[str, Any]]:
        """The items of the conversation that a new response goes on with."""
        found = self.chain(id_, owner)
        if found[0].response.get("status") in UNFINISHED:
            raise Malformed(teaching.response_unfinished(id_), "previous_response_id")
        return turns(found)

    def input_of(self, id_: str, owner: str) -> list[dict[str, Any]]:
        """What a response was made from: the conversation before it and its own input; oldest first."""
        newest, *before = self.chain(id_, owner)
        return [*turns(before), *newest.items]

    def items(self, ids: Sequence[str], owner: str) -> dict[str, dict[str, Any]]:
        """Items by their ids. Raises `NotFound` for the first that is not there."""
        found: dict[str, dict[str, Any]] = {}
        for id_ in ids:
            home = self._store.find(Keeping.RESPONSE, response_of(id_), owner)
            kept = unpacked(home.body) if home is not None else KeptResponse({})
            for item in (*kept.items, *kept.response.get("output", ())):
                found[str(item.get("id"))] = item
            if id_ not in found:
                raise NotFound(teaching.item_not_kept(id_))
        return found

    def remove(self, id_: str, owner: str) -> None:
        """Raises `NotFound`."""
        if not self._store.remove(Keeping.RESPONSE, id_, owner):
            raise NotFound(teaching.response_not_kept(id_))
