"""After a process that died while it entered a model: the words of the version that is there, and no link that no row names.

Decides by the row: it changes last, so that its version tells how far the other one came.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256

from blazar.application.models.arrivals import KEY
from blazar.application.models.create_model import TEMPLATE_KEY
from blazar.application.models.laid_adapters import adapters_of
from blazar.application.models.name_turns import NameTurns
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.landing import Landing
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.placements import Placement, Placements
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy
from blazar.domain.overlay import settings_of
from blazar.domain.records import Model


@contextmanager
def turn(landing: Landing, name: str, waiting: Callable[[], None]) -> Iterator[None]:
    """One at a time enters a model of that name, whatever it is made of. Claimed behind the files, so that nobody waits in a circle."""
    key = sha256(f"name\0{name}".encode("utf-8", "replace")).hexdigest()[:KEY]
    with landing.claim([key], waiting):
        try:
            yield
        finally:
            landing.clear(landing.folder(key))


@dataclass(frozen=True, slots=True)
class MendPlacements:
    """Changes nothing where everything ended as it should."""

    catalog: ModelCatalog
    weights: WeightFiles
    overlays: Overlays
    placements: Placements

    def __call__(self, name: str) -> None:
        """For whoever has the turn of that name. Raises what writing the configuration raises: what is left is mended the next time."""
        note = self.placements.find(name)
        row = self.catalog.find_model(name)
        if note is not None and (row is None or row.origin is None or row.origin.artefact != note.artefact):
            self._lay_back(note, row)
        self._remove(self.placements.left(name))
        self.placements.end(name)

    def all(self, landing: Landing) -> None:
        """Every name that nobody works on. What cannot be put right now is left to the next pull of it, which says why."""
        for name in self.placements.names():
            with suppress(BlazarError), turn(landing, name, _refuse), NameTurns(lambda: landing)(name, waiting=_refuse):
                self(name)

    def _lay_back(self, note: Placement, row: Model | None) -> None:
        if self.overlays.find(note.name) == note.overlay:
            return
        if note.overlay is None or row is None:  # what was removed since has no words either
            self.overlays.forget(note.name)
            return
        template = self._template(row.files[0])
        self.overlays.renew(note.name, note.overlay, settings_of(note.overlay, template))

    def _template(self, file: str) -> str:
        with suppress(BlazarError):
            found = self.weights.metadata(file).get(TEMPLATE_KEY)
            return found if isinstance(found, str) else ""
        return ""

    def _remove(self, left: Iterable[tuple[str, str]]) -> None:
        if not (found := list(left)):
            return
        used = {file for row in self.catalog.list_models() for file in self._used(row)}
        for file, folder in found:
            if file not in used:
                self.weights.unlink((file,), folder)

    def _used(self, row: Model) -> Iterable[str]:
        yield from (*row.files, row.draft, *adapters_of(self.overlays, row.name))
        with suppress(BlazarError):
            yield self.weights.projector_file(row.files)


def _refuse() -> None:
    raise Busy(teaching.pull_waits(""))
