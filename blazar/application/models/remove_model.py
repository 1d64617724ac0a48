"""Taking a model out of the catalog, and its links off the disk."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from blazar.application.models.find import only_model
from blazar.application.models.laid_adapters import adapters_of, ours_alone
from blazar.application.models.name_turns import AwaitedTurns, unclaimed
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.views import Supervising
from blazar.domain.errors import BlazarError
from blazar.domain.records import Model


@dataclass(frozen=True, slots=True)
class RemoveModel:
    """Evict, delete our links, delete the row and what was laid over it. A file that is only referred to is never deleted (D36).

    The row goes last: where something fails in between, the model is still listed and `rm` can be repeated.
    `supervising` is None where no daemon runs.
    """

    catalog: ModelCatalog
    weights: WeightFiles
    supervising: Supervising | None
    overlays: Overlays | None = None
    turns: AwaitedTurns = unclaimed

    async def __call__(self, name: str, *, force: bool = False) -> Model:
        model = only_model(self.catalog, name)
        await asyncio.to_thread(self._check, model.name)
        await self.evict(model.name, force=force)
        async with self.turns(model.name):
            # Another process may hold the catalog for seconds; the daemon's loop must not wait for it.
            return await asyncio.to_thread(self._removed, model)

    async def evict(self, name: str, *, force: bool = False) -> None:
        """What runs under the name."""
        if self.supervising is not None:
            await self.supervising.evict(name, force=force, cause="removed")

    def replaced(self, before: Model, enter: Callable[[], Model]) -> Model:
        """Have `enter` put another row in the place of that one, then delete what only the one before had. Evict first, off the loop."""
        laid = adapters_of(self.overlays, before.name)
        row = enter()
        if before.owned:
            gone = set(laid) - set(adapters_of(self.overlays, row.name))
            now = {*row.files, row.draft}
            files = (*set(self._in_no_row(before)) - now, *ours_alone(gone, row.name, self.catalog, self.overlays))
            with suppress(BlazarError):  # the model is there: what could not be deleted takes room and does no harm
                self.weights.unlink(files, before.folder)
        return row

    def _check(self, name: str) -> None:
        """Before anything is deleted: a configuration that cannot be read now keeps the model's words, and so the model."""
        if self.overlays is not None:
            self.overlays.check_forgettable(name)

    def _removed(self, found: Model) -> Model:
        """What that name is when its turn is ours: a pull may have entered another version meanwhile."""
        if (model := self.catalog.find_model(found.name)) is not None:
            self._check(model.name)
            self.delete(model)
        return model or found

    def delete(self, model: Model) -> None:
        """Off the loop; what runs was evicted, and the turn is the caller's."""
        if model.owned:
            laid = ours_alone(adapters_of(self.overlays, model.name), model.name, self.catalog, self.overlays)
            self.weights.unlink((*self._in_no_row(model), *laid), model.folder)
        # A full disk, on which no turn can be had, keeps nobody from entering another version.
        now = self.catalog.find_model(model.name)
        if self.overlays is not None and now is not None and now.is_entry(model):
            self.overlays.forget(model.name)
        self.catalog.remove_model(model.name, model)

    def _in_no_row(self, model: Model) -> tuple[str, ...]:
        """Its files without those that another row refers to: a copy does where a further hardlink was impossible (EMLINK)."""
        rows = [row for row in self.catalog.list_models() if not row.is_entry(model)]
        others = {file for row in rows for file in (*row.files, row.draft)}
        return tuple(file for file in (*model.files, model.draft) if file and file not in others)
