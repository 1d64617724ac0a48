"""`pull`: a reference becomes files that are verified, and those a model. Knows no protocol and no disk; what came is never lost.

Everything that can be refused is refused before the first byte: a name that is another's, a disk that is too small.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, NamedTuple

from blazar.application.models.arrivals import KEY, Arriving, Shipment, artefact_of_parcel, files_of, mark_of
from blazar.application.models.placing import Order, PlaceModel
from blazar.application.models.placing_adapter import PlaceAdapter
from blazar.application.models.pulling import (
    DONE,
    FILE,
    MANIFEST,
    VERIFYING,
    WRITING,
    OnePull,
    Pulled,
    Step,
    Told,
    Wish,
)
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.downloads import Downloads
from blazar.application.ports.landing import Landing
from blazar.application.ports.remote import RemoteModels
from blazar.domain import teaching
from blazar.domain.diffusion_sets import ROLES, role_of
from blazar.domain.draft_pairs import draft_for
from blazar.domain.errors import BlazarError, Malformed, NoRoom, NotFound
from blazar.domain.names import check_name
from blazar.domain.parcels import Role, artefact_of
from blazar.domain.references import RemoteRef, candidates, catalog_name, pull_reference
from blazar.domain.weight_names import SUFFIX

AUTO: Final = "auto"
DRAFT: Final = "draft"


class Transport(NamedTuple):
    """How files come. `open` gives the registry that a reference belongs to; `hosts` are those that are configured besides the usual."""

    open: Callable[[RemoteRef], RemoteModels]
    hosts: Callable[[], Collection[str]]
    downloads: Downloads
    disk: DiskSpace
    landing: Landing


class _Teller:
    """Steps in ollama's words. Of one file what was told never becomes less."""

    def __init__(self, told: Told) -> None:
        self._told, self._most = told, dict[str, int]()
        self.notes: list[str] = []

    def say(self, status: str) -> None:
        self._told(Step(status))

    def note(self, status: str, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)
            self._told(Step(status, note=sentence))

    def file(self, one: Arriving, done: int, total: int) -> None:
        file = one.part.file
        digits = file.sha256 or artefact_of([(file.name, mark_of(file))])
        done = self._most[digits] = max(done, self._most.get(digits, 0))
        self._told(Step(f"{FILE} {digits[:12]}", f"sha256:{digits}", max(total, done), done, file.name))


@dataclass(slots=True)
class PullModel(OnePull):
    """For one wish, called once: a stop is final."""

    transport: Transport
    place: PlaceModel
    place_adapter: PlaceAdapter
    _opened: dict[tuple[str, str], RemoteModels] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    _why: BlazarError | None = field(default=None, init=False)

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        """Raises what registries, downloads and the catalog raise, `Conflict` for a name that is taken, `NoRoom` for a full disk."""
        if wish.name:
            check_name(wish.name)  # before anybody is asked: a wrong name is told at once
        try:
            return self._pull(wish, _Teller(told))
        finally:
            for registry in self._opened.values():
                registry.close()

    def stop(self, why: BlazarError) -> None:
        with self._lock:
            self._why = self._why or why
            opened = list(self._opened.values())
        self.transport.downloads.stop(why)
        for registry in opened:
            registry.stop(why)

    def _check(self) -> None:
        if self._why is not None:
            raise self._why

    def _pull(self, wish: Wish, teller: _Teller) -> Pulled:
        teller.say(MANIFEST)
        main = self._ordered("", wish.reference)
        name = check_name(wish.name or self._called(wish.reference, main.parcel.ref))
        for sentence in main.parcel.notes:
            teller.note(MANIFEST, sentence)
        adapts = main.is_adapter or self.place_adapter.knows(name, main)
        if adapts:
            self.place_adapter.present(name, main)
            order = Order(name, main)
        else:
            present = self.place.present(name, main)
            parts = tuple(self._part(role, reference) for role, reference in wish.parts)
            order = Order(name, main, parts, self._draft(wish.draft, name, main, teller), present)
        keys = [shipment.key for shipment in order.shipments]

        def waiting() -> None:
            self._check()
            teller.note(MANIFEST, teaching.pull_waits(name))

        with self.transport.landing.claim(keys, waiting):
            pulled = self._adapter(order, teller) if adapts else self._model(order, teller)
            for shipment in order.shipments:
                self.transport.landing.clear(shipment.folder)
        teller.say(DONE)
        return pulled

    def _called(self, reference: str, ref: RemoteRef) -> str:
        """A shortname is kept as it was written: `qwen3-0.6b` is found as `qwen3:0.6b` too, and not the other way round."""
        tries = candidates(pull_reference(reference, self.transport.hosts()))
        return catalog_name(tries[-1]) if len(tries) > 1 else catalog_name(ref, ref.tag)

    def _model(self, order: Order, teller: _Teller) -> Pulled:
        # Again, now that nobody else works on it: another process may have brought it meanwhile.
        order = order._replace(present=self.place.present(order.name, order.main))
        if self.place.is_complete(order):
            self._told_whole(order, teller)
            return Pulled(order.present, fresh=False, notes=tuple(teller.notes))
        self._bring(order, teller)
        if self.place_adapter.is_one(order.main):
            return self._placed_adapter(order, teller)
        placed = self.place(order)
        for sentence in placed.notes:
            teller.note(WRITING, sentence)
        return Pulled(placed.model, fresh=True, notes=tuple(teller.notes))

    def _adapter(self, order: Order, teller: _Teller) -> Pulled:
        if path := self.place_adapter.present(order.name, order.main):
            self._told_whole(order, teller)
            return Pulled(None, fresh=False, path=path, notes=(*teller.notes, teaching.adapter_pulled(path)))
        self._bring(order, teller)
        return self._placed_adapter(order, teller)

    def _placed_adapter(self, order: Order, teller: _Teller) -> Pulled:
        self.place_adapter.present(order.name, order.main)  # only now it may have turned out to be one
        path = self.place_adapter(order.name, order.main)
        teller.note(WRITING, teaching.adapter_pulled(path))
        return Pulled(None, fresh=True, path=path, notes=tuple(teller.notes))

    def _ordered(self, role: str, reference: str) -> Shipment:
        """What a reference brings: the first of its spellings that there is."""
        tries = candidates(pull_reference(reference, self.transport.hosts()))
        for ref in tries[:-1]:
            with suppress(NotFound):
                return self._shipment(role, self._registry(ref), ref)
        return self._shipment(role, self._registry(tries[-1]), tries[-1])

    def _shipment(self, role: str, registry: RemoteModels, ref: RemoteRef) -> Shipment:
        parcel = registry.parcel(ref)
        self._check()
        artefact = artefact_of_parcel(parcel)
        folder = self.transport.landing.folder(artefact[:KEY])
        return Shipment(role, parcel, registry, artefact, folder, files_of(parcel, folder))

    def _registry(self, ref: RemoteRef) -> RemoteModels:
        at = (ref.registry, ref.host)
        if at not in self._opened:
            registry = self.transport.open(ref)
            with self._lock:
                self._opened[at] = registry
        self._check()
        return self._opened[at]

    def _part(self, word: str, reference: str) -> Shipment:
        role = role_of(word)
        if not role:
            raise Malformed(teaching.part_role_unknown(word, ROLES), "with")
        found = self._ordered(role, reference)
        if not found.single:
            raise Malformed(teaching.pull_part_is_no_file(reference), "with")
        return found

    def _draft(self, wish: str, name: str, main: Shipment, teller: _Teller) -> Shipment | None:
        """With `auto` nothing about a draft keeps the model from coming."""
        if not wish:
            return None
        weights = main.of(Role.WEIGHTS)
        if not weights or not weights[0].at.lower().endswith(SUFFIX):
            raise Malformed(teaching.pull_draft_for_gguf(name), "draft")
        reference = draft_for(main.parcel.ref.repo) if wish == AUTO else wish
        if not reference:
            teller.note(MANIFEST, teaching.pull_draft_unknown(name))
            return None
        try:
            found = self._ordered(DRAFT, reference)
            if not found.single.lower().endswith(SUFFIX):
                raise Malformed(teaching.pull_draft_is_no_file(reference), "draft")
        except BlazarError as why:
            self._check()
            if wish != AUTO:
                raise
            teller.note(MANIFEST, teaching.pull_draft_unavailable(name, reference, str(why)))
            return None
        if found.size >= main.size:
            teller.note(MANIFEST, teaching.pull_draft_no_smaller(name, reference))
            return None
        return found

    def _told_whole(self, order: Order, teller: _Teller) -> None:
        """Everything was there: the same steps, as a client expects them."""
        for shipment in order.shipments:
            for one in shipment.files:
                teller.file(one, one.part.file.size, one.part.file.size)
        teller.say(VERIFYING)
        teller.say(WRITING)

    def _bring(self, order: Order, teller: _Teller) -> None:
        known = self.place.known()
        todo = list[tuple[Shipment, Arriving]]()
        for shipment in order.shipments:
            for one in shipment.files:
                if self._is_there(one, known.get(one.mark, "")):
                    teller.file(one, one.part.file.size, one.part.file.size)
                else:
                    todo.append((shipment, one))
        self._check_room([one for _, one in todo], order.main.folder)
        for _, one in todo:  # whoever draws it knows from now on how much it is in all
            teller.file(one, 0, one.part.file.size)
        for shipment, one in todo:
            self._check()
            self._fetch(shipment, one, teller)
        self._check()
        teller.say(VERIFYING)
        teller.say(WRITING)

    def _fetch(self, shipment: Shipment, one: Arriving, teller: _Teller) -> None:
        size = one.part.file.size

        def told(done: int, total: int) -> None:
            teller.file(one, done, total or size)

        self.transport.downloads.fetch(shipment.registry.wanted(one.part.file, one.at), told)
        whole = max(size, self.transport.landing.size(one.at))
        teller.file(one, whole, whole)

    def _is_there(self, one: Arriving, elsewhere: str) -> bool:
        """Whole and verified: only such files are published under their name. What a model has already is linked (cases H5, H11)."""
        landing, size = self.transport.landing, one.part.file.size
        if (found := landing.size(one.at)) >= 0 and (not size or found == size):
            return True
        if not elsewhere or (size and landing.size(elsewhere) != size):
            return False
        return landing.adopt(elsewhere, one.at)

    def _check_room(self, files: Collection[Arriving], folder: str) -> None:
        """For all that is missing, before the first byte (case H8)."""
        landing = self.transport.landing
        needed = sum(max(0, one.part.file.size - landing.held(one.at)) for one in files)
        with suppress(OSError):  # a file system that does not say is left to refuse by itself
            free = self.transport.disk.free(folder)
            if needed > free:
                raise NoRoom(teaching.download_no_room(folder, needed, free))
