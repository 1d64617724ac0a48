"""What was pulled becomes a model: links, draft, overlay and row, all of them or none. Downloads nothing.

The row comes last: a process that is killed in between leaves no row, and what it left is taken up by the next pull of the same.
"""

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from blazar.application.models.arrivals import KEY, Shipment
from blazar.application.models.create_model import TEMPLATE_KEY
from blazar.application.models.enrol import enrol
from blazar.application.models.import_model import row_of
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import FileFacts, WeightFiles
from blazar.domain import teaching
from blazar.domain.diffusion_sets import MAIN
from blazar.domain.draft_pairs import SIMPLE, at_odds, family_of, link_name
from blazar.domain.errors import BlazarError, Conflict
from blazar.domain.kinds import Weights
from blazar.domain.overlay import settings_of
from blazar.domain.parcels import Origin, Role
from blazar.domain.records import Model
from blazar.domain.registry_words import laid

_NEWER: Final = "@"
"""Between a name and its artefact in what a newer version's links are called; no model's name holds it."""


class Order(NamedTuple):
    """Everything that one model is made of. `present` is the row that it takes the place of."""

    name: str
    main: Shipment
    parts: tuple[Shipment, ...] = ()
    draft: Shipment | None = None
    present: Model | None = None

    @property
    def shipments(self) -> tuple[Shipment, ...]:
        return (self.main, *self.parts, *([self.draft] if self.draft else []))


class Placed(NamedTuple):
    """The row, and sentences for whoever pulls."""

    model: Model
    notes: tuple[str, ...] = ()


class _Linked(NamedTuple):
    """Where everything lies now. `marks` as `Origin` has them."""

    facts: FileFacts
    files: tuple[str, ...]
    draft: str
    projector: str
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceModel:
    """One model of what was ordered. `enrol` keeps the promise where a name is taken in the last moment."""

    catalog: ModelCatalog
    weights: WeightFiles
    overlays: Overlays
    clock: Clock

    def present(self, name: str, main: Shipment) -> Model | None:
        """The row of that name, if it is what an earlier pull of this made of it. Raises `Conflict` where it is another model.

        Several references may lead to the very same files: a quantisation, and the file itself.
        """
        row = self.catalog.find_model(name)
        if row is None:
            return None
        reference, origin = str(main.parcel.ref), row.origin
        if origin is None or (origin.reference.lower() != reference.lower() and origin.artefact != main.artefact):
            raise Conflict(teaching.pull_name_taken(name, reference))
        return row

    def is_complete(self, order: Order) -> bool:
        """Whether that row is all that was ordered, with all its files."""
        row = order.present
        if row is None or row.origin is None or row.origin.artefact != order.main.artefact:
            return False
        lie = self._lie(row)
        have = {mark for path, mark in lie.items() if not self.weights.missing((path,))}
        wanted = [one.mark for part in order.parts for one in part.files]
        projector = row.origin.marks[len(row.files) + 1 :]
        if order.draft is not None:
            wanted += [one.mark for one in order.draft.files]
        return (
            not self.weights.missing(row.files) and have.issuperset(wanted) and have.issuperset(filter(None, projector))
        )

    def known(self) -> dict[str, str]:
        """Where a file of each mark lies that some model has already."""
        return {mark: path for row in self.catalog.list_models() for path, mark in self._lie(row).items()}

    def _lie(self, row: Model) -> dict[str, str]:
        """The marks of a row's files, by path."""
        marks = row.origin.marks if row.origin is not None else ()
        if len(marks) != len(row.files) + 2:
            return {}
        projector = self._projector(row.files) if marks[-1] else ""
        found = zip((*row.files, row.draft, projector), marks, strict=True)
        return {path: mark for path, mark in found if path and mark}

    def _projector(self, files: tuple[str, ...]) -> str:
        with suppress(BlazarError):
            return self.weights.projector_file(files)
        return ""

    def __call__(self, order: Order) -> Placed:
        """Raises what inspecting, linking and writing raise; then everything is as before."""
        notes = list[str]()
        with ExitStack() as undo:
            linked = self._link(order, notes, undo)
            row = self._row(order, linked)
            self._lay(order, row, notes, undo)
            if order.present is None:
                row = enrol(self.catalog, self.weights, row)
            else:
                self.catalog.replace_model(row)
            undo.pop_all()
        if order.present is not None:
            self._withdraw(order.present)
        return Placed(row, tuple(notes))

    def _row(self, order: Order, linked: _Linked) -> Model:
        parcel, at = order.main.parcel, self.clock.wall()
        origin = Origin(str(parcel.ref), order.main.artefact, parcel.words.licence, at, linked.marks)
        row = row_of(order.name, linked.facts, linked.files, owned=True, at=at)
        return replace(row, draft=linked.draft, origin=origin)

    def _link(self, order: Order, notes: list[str], undo: ExitStack) -> _Linked:
        marks = {one.at: one.mark for one in (one for shipment in order.shipments for one in shipment.files)}
        parts = [(part.role, part.single) for part in order.parts]
        if order.present is not None:
            lie = self._lie(order.present)
            kept = self._kept(order)
            marks |= {path: lie.get(path, "") for _, path in kept}
            parts += kept
        facts = self.weights.inspect(order.main.model_path, parts)
        files = self._take(order, facts)
        self._undo_links(order, files, facts, undo)
        draft, mark = self._draft(order, facts, notes, undo)
        projector = self._projector(files)
        came = order.main.of(Role.PROJECTOR)
        if came and not projector:
            notes.append(teaching.pull_projector_left(order.name))
        told = [*(marks.get(file, "") for file in facts.files), mark, came[0].mark if came and projector else ""]
        return _Linked(facts, files, draft, projector, tuple(told))

    def _kept(self, order: Order) -> list[tuple[str, str]]:
        """Parts that an earlier pull brought for the set and this one says nothing of."""
        row = order.present
        if row is None or row.weights is not Weights.DIFFUSION:
            return []
        said = {part.role for part in order.parts} | set(MAIN)
        return [(role, path) for role, path in row.components if role not in said and not self.weights.missing((path,))]

    def _take(self, order: Order, facts: FileFacts) -> tuple[str, ...]:
        """Links of a newer version lie beside those of the older one, which a child may be reading, until the row has changed."""
        newer = f"{order.name}{_NEWER}{order.main.artefact[:KEY]}"
        row = order.present
        if row is None or (row.origin is not None and row.origin.artefact == order.main.artefact):
            with suppress(Conflict):  # what lies there in the way is nobody's row
                return self.weights.take(order.name, facts.files, facts.names)
        return self.weights.take(newer, facts.files, facts.names)

    def _undo_links(self, order: Order, files: tuple[str, ...], facts: FileFacts, undo: ExitStack) -> None:
        kept = set(order.present.files) if order.present is not None else set[str]()
        folder = files[0].removesuffix(facts.names[0]).rstrip("/\\") if facts.names else ""
        undo.callback(self.weights.unlink, tuple(file for file in files if file not in kept), folder)

    def _draft(self, order: Order, facts: FileFacts, notes: list[str], undo: ExitStack) -> tuple[str, str]:
        """The path of the draft's link and its mark. One that cannot guess for the model is told of and left out."""
        if order.draft is None:
            return self._draft_before(order)
        came = order.draft.files[0]
        theirs = self.weights.metadata(came.at)
        family = family_of(str(theirs.get("general.architecture", "")))
        ref = str(order.draft.parcel.ref)
        if family == SIMPLE:
            tokens = (self._tokens(facts.files), self._tokens((came.at,)))
            word = at_odds(self.weights.metadata(facts.files[0]), theirs, tokens)
            if word:
                notes.append(teaching.pull_draft_at_odds(order.name, ref, word))
                return self._draft_before(order)
        (link,) = self.weights.take(link_name(order.name, family, came.mark), (came.at,))
        if order.present is None or link != order.present.draft:
            undo.callback(self.weights.unlink, (link,))
        return link, came.mark

    def _tokens(self, files: tuple[str, ...]) -> int:
        with suppress(BlazarError):
            return self.weights.shape(files).vocabulary
        return 0

    def _draft_before(self, order: Order) -> tuple[str, str]:
        row = order.present
        if row is None or row.origin is None or not row.draft or self.weights.missing((row.draft,)):
            return "", ""
        return row.draft, self._lie(row).get(row.draft, "")

    def _lay(self, order: Order, row: Model, notes: list[str], undo: ExitStack) -> None:
        """Before the row: an overlay of a model that is not there yet changes nothing. Words that say nothing leave a person's own alone."""
        words = order.main.parcel.words
        if row.weights is not Weights.GGUF:
            return
        said = laid(words, self._template(row.files[0]))
        notes += said.notes
        if said.overlay is None:
            return
        before = self.overlays.find(order.name)
        if before is None:
            undo.callback(self._forget, order.name)
        elif order.present is not None:
            settings = settings_of(before, self._template(order.present.files[0]))
            undo.callback(self.overlays.keep, order.name, before, settings)
        self.overlays.keep(order.name, said.overlay, said.settings)

    def _forget(self, name: str) -> None:
        with suppress(BlazarError):  # it is the first trouble that a person has to hear of
            self.overlays.forget(name)

    def _template(self, file: str) -> str:
        with suppress(BlazarError):
            found = self.weights.metadata(file).get(TEMPLATE_KEY)
            return found if isinstance(found, str) else ""
        return ""

    def _withdraw(self, before: Model) -> None:
        """Take away what only the row before had."""
        if not before.owned:
            return
        rows = self.catalog.list_models()
        used = {file for row in rows for file in (*row.files, row.draft)}
        left = tuple(file for file in (*before.files, before.draft) if file and file not in used)
        with suppress(BlazarError):  # the model is there: what could not be deleted takes room and does no harm
            self.weights.unlink(left, before.folder)
