"""What was pulled becomes a model: links, draft, overlay and row, all of them or none. Downloads nothing.

The row comes last: a process that is killed in between leaves the row as it was, and a note by which `mending.py` puts the rest right.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from blazar.application.models.arrivals import KEY, KINDS, Shipment, address_of
from blazar.application.models.create_model import TEMPLATE_KEY
from blazar.application.models.enrol import enrol, spelled
from blazar.application.models.import_model import row_of
from blazar.application.models.laid_adapters import are_there, link_adapters, ours_alone
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.placements import Placement, Placements
from blazar.application.ports.weights import FileFacts, WeightFiles
from blazar.domain import teaching
from blazar.domain.diffusion_sets import MAIN
from blazar.domain.draft_pairs import SIMPLE, at_odds, family_of, link_name
from blazar.domain.errors import BlazarError, Conflict
from blazar.domain.kinds import Weights
from blazar.domain.overlay import Overlay, settings_of
from blazar.domain.parcels import Origin, Role, Words
from blazar.domain.records import Model
from blazar.domain.registry_words import laid
from blazar.domain.row_names import rows_of
from blazar.domain.weight_names import came_along

_NEWER: Final = "@"
"""Between a name and its artefact in what a newer version's links are called; no model's name holds it."""


class Order(NamedTuple):
    """Everything that one model is made of. `present` is the row that it takes the place of; `label` what an adapter's file is called."""

    name: str
    main: Shipment
    parts: tuple[Shipment, ...] = ()
    draft: Shipment | None = None
    present: Model | None = None
    label: str = ""

    @property
    def shipments(self) -> tuple[Shipment, ...]:
        return (self.main, *self.parts, *([self.draft] if self.draft else []))

    def mapped(self, change: Callable[[Shipment], Shipment]) -> "Order":
        """With each shipment changed."""
        draft = change(self.draft) if self.draft else None
        return self._replace(main=change(self.main), parts=tuple(map(change, self.parts)), draft=draft)


def _reference(order: Order) -> str:
    """A row keeps the words that it was pulled by first: a quantisation is more than the file that it is in today."""
    ref, row = order.main.parcel.ref, order.present
    same = row is not None and rows_of(ref, [row], address_of(order.main.parcel))
    return row.origin.reference if row is not None and row.origin is not None and same else ref.kept


class Placed(NamedTuple):
    """The row, and sentences for whoever pulls."""

    model: Model
    notes: tuple[str, ...] = ()


class _Linked(NamedTuple):
    """Where everything lies now. `marks` as `Origin` has them."""

    facts: FileFacts
    files: tuple[str, ...]
    draft: str
    draft_ref: str
    projector: str
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceModel:
    """One model of what was ordered. `enrol` keeps the promise where a name is taken in the last moment."""

    catalog: ModelCatalog
    weights: WeightFiles
    overlays: Overlays
    clock: Clock
    placements: Placements

    def spelled(self, name: str) -> str:
        """What the catalog calls it, if it has one of that name in other letters."""
        return spelled(self.catalog, name)

    def present(self, name: str, main: Shipment) -> Model | None:
        """The row of that name, if it is what an earlier pull of this made of it. Raises `Conflict` where it is another model.

        Several references may lead to the very same files: a quantisation, and the file itself.
        """
        row = self.catalog.find_model(name)
        if row is None:
            return None
        origin = row.origin
        if origin is None or not (
            origin.artefact == main.artefact or rows_of(main.parcel.ref, [row], address_of(main.parcel))
        ):
            raise Conflict(teaching.pull_name_taken(name, main.parcel.ref.public))
        return row

    def is_complete(self, order: Order) -> bool:
        """Whether that row is all that was ordered, with all its files. By their sizes: they are not read again."""
        row = order.present
        if not all(shipment.is_vouched for shipment in order.shipments):
            return False
        if row is None or row.origin is None or row.origin.artefact != order.main.artefact:
            return False
        if not are_there(self.weights, self.overlays, order.name, order.main) or self._lacks_words(row, order):
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

    def _lacks_words(self, row: Model, order: Order) -> bool:
        """Whether its registry says something of it and nothing lies over it: what a person laid over it instead is theirs."""
        words = order.main.parcel.words
        if row.weights is not Weights.GGUF or self.overlays.find(order.name) is not None:
            return False
        return words != Words() and laid(words, self._template(row.files[0])).overlay is not None

    def check_writable(self, order: Order) -> None:
        """Raises what entering would, behind all of the download: no byte comes that has no place."""
        self.weights.check_writable()
        self.placements.check_writable()
        if order.main.parcel.words._replace(licence="") != Words() or order.main.of(Role.ADAPTER):
            self.overlays.check_writable(order.name)

    def known(self) -> dict[str, str]:
        """Where a file of each mark lies that some model has already (`mark_of`: what a host merely said is of its own address)."""
        lie = (item for row in self.catalog.list_models() for item in self._lie(row).items())
        return {mark: path for path, mark in lie if mark.startswith(KINDS)}

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
        self._begin(order)
        with ExitStack() as undo:
            undo.callback(self.placements.end, order.name)  # behind everything else
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
        self.placements.end(order.name)
        return Placed(row, tuple(notes))

    def _begin(self, order: Order) -> None:
        """Whatever is linked now or goes later can be told by its file."""
        files = [one.at for shipment in order.shipments for one in shipment.files]
        if (row := order.present) is not None:
            files += [file for file in (*row.files, row.draft, self._projector(row.files)) if file]
        self.placements.begin(Placement(order.name, order.main.artefact, self.overlays.find(order.name)), files)

    def _row(self, order: Order, linked: _Linked) -> Model:
        parcel, at = order.main.parcel, self.clock.wall()
        origin = Origin(
            _reference(order),
            order.main.artefact,
            parcel.words.licence,
            at,
            linked.marks,
            address_of(parcel),
            linked.draft_ref,
        )
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
        draft, mark, draft_ref = self._draft(order, facts, notes, undo)
        projector = self._projector(files)
        came = order.main.of(Role.PROJECTOR)
        if came and not projector:
            notes.append(teaching.pull_projector_left(order.name))
        told = [*(marks.get(file, "") for file in facts.files), mark, came[0].mark if came and projector else ""]
        return _Linked(facts, files, draft, draft_ref, projector, tuple(told))

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

    def _draft(self, order: Order, facts: FileFacts, notes: list[str], undo: ExitStack) -> tuple[str, str, str]:
        """The path of the draft's link, its mark, and what it is pulled by. One that cannot guess for the model is told of and left out."""
        if order.draft is None:
            return self._draft_before(order)
        came = order.draft.files[0]
        theirs = self.weights.metadata(came.at)
        family = family_of(str(theirs.get("general.architecture", "")))
        ref = order.draft.parcel.ref.public
        if family == SIMPLE:
            tokens = (self._tokens(facts.files), self._tokens((came.at,)))
            word = at_odds(self.weights.metadata(facts.files[0]), theirs, tokens)
            if word:
                notes.append(teaching.pull_draft_at_odds(order.name, ref, word))
                return self._draft_before(order)
        (link,) = self.weights.take(link_name(order.name, family, came.mark.rpartition(":")[2]), (came.at,))
        if order.present is None or link != order.present.draft:
            undo.callback(self.weights.unlink, (link,))
        return link, came.mark, order.draft.parcel.ref.kept

    def _tokens(self, files: tuple[str, ...]) -> int:
        with suppress(BlazarError):
            return self.weights.shape(files).vocabulary
        return 0

    def _draft_before(self, order: Order) -> tuple[str, str, str]:
        row = order.present
        if row is None or row.origin is None or not row.draft or self.weights.missing((row.draft,)):
            return "", "", ""
        return row.draft, self._lie(row).get(row.draft, ""), row.origin.draft

    def _lay(self, order: Order, row: Model, notes: list[str], undo: ExitStack) -> None:
        """Before the row: an overlay of a model that is not there yet changes nothing. Words that say nothing leave a person's own alone."""
        words = order.main.parcel.words
        if row.weights is not Weights.GGUF:
            return
        adapters = link_adapters(self.weights, order.name, order.main, row.arch)
        before = self.overlays.find(order.name)
        undo.callback(self.weights.unlink, tuple(set(adapters) - set(before.adapters if before is not None else ())))
        said = laid(words, self._template(row.files[0]), adapters)
        notes += said.notes
        overlay, keys = said.overlay, said.settings
        if overlay is None:
            if before is None or not any(map(came_along, before.adapters)):
                return
            # What came with the version before lies over its weights; every other word of it stays.
            overlay = before._replace(adapters=tuple(path for path in before.adapters if not came_along(path)))
            keys = settings_of(overlay, self._template(row.files[0]))
        if before is None:
            undo.callback(self._forget, order.name)
        elif order.present is not None:
            settings = settings_of(before, self._template(order.present.files[0]))
            undo.callback(self.overlays.renew, order.name, before, settings)
        if kept := self.overlays.renew(order.name, overlay, keys):
            notes.append(teaching.pull_settings_kept(order.name, kept))

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
        if (note := self.placements.find(before.name)) is not None and note.overlay is not None:
            now = self.overlays.find(before.name) or Overlay()
            gone = [path for path in note.overlay.adapters if path not in now.adapters]
            left += ours_alone(gone, before.name, self.catalog, self.overlays)
        with suppress(BlazarError):  # the model is there: what could not be deleted takes room and does no harm
            self.weights.unlink(left, before.folder)
