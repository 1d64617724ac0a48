"""A copy by a client of ollama's API: where the name is taken it takes that model's place, as `create` does. Links nothing itself."""

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.enrol import spelled
from blazar.application.models.find import get_model
from blazar.application.models.name_turns import Turns, unclaimed
from blazar.application.models.remove_model import RemoveModel
from blazar.domain.names import check_name
from blazar.domain.records import Model


@dataclass(frozen=True, slots=True)
class CopyOver:
    """What can be refused is refused before anything is taken away; what runs under the name is evicted, for it is about other weights."""

    copy: CopyModel
    remove: RemoveModel
    turns: Turns = unclaimed
    """`copy` and `remove` claim none themselves: these are had from the first look to the new row."""

    async def __call__(self, source: str, target: str, *, overwrite: bool = True) -> Model:
        """Onto itself it changes nothing. Without `overwrite` a name that is taken is a `Conflict`, as for `cp`."""
        check_name(target)
        catalog = self.copy.catalog
        name = (await asyncio.to_thread(get_model, catalog, source)).name
        turn = await asyncio.to_thread(_entered, self.turns(*sorted({name, target})))
        try:
            model = await asyncio.to_thread(get_model, catalog, name, self.copy.weights)
            present = await asyncio.to_thread(catalog.find_model, spelled(catalog, target))
            if present is not None and overwrite:
                if present.name == model.name:
                    return model
                await self.remove(present.name)
                target = present.name
            return await asyncio.to_thread(self.copy, model.name, target)
        finally:
            await asyncio.to_thread(turn.__exit__, None, None, None)


def _entered(turn: AbstractContextManager[None]) -> AbstractContextManager[None]:
    turn.__enter__()
    return turn
