"""Taking a model out of the catalog, and its links off the disk."""

import asyncio
from dataclasses import dataclass

from blazar.application.models.find import only_model
from blazar.application.models.laid_adapters import adapters_of, ours_alone
from blazar.application.models.name_turns import Turns, unclaimed
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.views import Supervising
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
    turns: Turns = unclaimed

    async def __call__(self, name: str, *, force: bool = False) -> Model:
        model = only_model(self.catalog, name)
        if self.supervising is not None:
            await self.supervising.evict(model.name, force=force, cause="removed")
        # Another process may hold the catalog for seconds; the daemon's loop must not wait for it.
        return await asyncio.to_thread(self._removed, model)

    def _removed(self, found: Model) -> Model:
        """What that name is when its turn is ours: a pull may have entered another version meanwhile."""
        with self.turns(found.name):
            if (model := self.catalog.find_model(found.name)) is not None:
                self._delete(model)
        return model or found

    def _delete(self, model: Model) -> None:
        if model.owned:
            laid = ours_alone(adapters_of(self.overlays, model.name), model.name, self.catalog, self.overlays)
            self.weights.unlink((*self._ours_alone(model), *laid), model.folder)
        if self.catalog.remove_model(model.name, model) and self.overlays is not None:
            self.overlays.forget(model.name)

    def _ours_alone(self, model: Model) -> tuple[str, ...]:
        """Without files that another row refers to: a copy does where a further hardlink was impossible (EMLINK)."""
        rows = self.catalog.list_models()
        others = {file for other in rows if other.name != model.name for file in (*other.files, other.draft)}
        return tuple(file for file in (*model.files, model.draft) if file and file not in others)
