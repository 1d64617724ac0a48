"""A copy by a client of ollama's API: where the name is taken it takes that model's place, as `create` does. Links nothing itself."""

import asyncio
from dataclasses import dataclass
from functools import partial

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.enrol import spelled
from blazar.application.models.find import get_model
from blazar.application.models.name_turns import AwaitedTurns, unclaimed
from blazar.application.models.remove_model import RemoveModel
from blazar.domain.names import check_name
from blazar.domain.records import Model


@dataclass(frozen=True, slots=True)
class CopyOver:
    """What was there goes when the copy and its words are there; what runs under the name is evicted, for it is about other weights."""

    copy: CopyModel
    remove: RemoveModel
    turns: AwaitedTurns = unclaimed
    """`copy` and `remove` claim none themselves: these are had from the first look to the new row."""

    async def __call__(self, source: str, target: str, *, overwrite: bool = True) -> Model:
        """Onto itself it changes nothing. Without `overwrite` a name that is taken is a `Conflict`, as for `cp`."""
        check_name(target)
        catalog = self.copy.catalog
        name = (await asyncio.to_thread(get_model, catalog, source)).name
        async with self.turns(*sorted({name, target})):
            model = await asyncio.to_thread(get_model, catalog, name, self.copy.weights)
            present = await asyncio.to_thread(self._present, target)
            if present is None or not overwrite:
                return await asyncio.to_thread(self.copy, model.name, target)
            if present.name == model.name:
                return model
            await self.remove.evict(present.name)
            return await asyncio.to_thread(self.remove.replaced, present, partial(self.copy.over, model.name, present))

    def _present(self, target: str) -> Model | None:
        return self.copy.catalog.find_model(spelled(self.copy.catalog, target))
