"""`pull`: a reference becomes files that are verified, and those a model. Knows no protocol and no disk; what came is never lost.

Everything that can be refused is refused before the first byte: a name that is another's, a disk that is too small.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Final, NamedTuple

from blazar.application.models.abreast import Abreast, Place
from blazar.application.models.aim import left_behind, row_name, row_of_word, wanted_name
from blazar.application.models.arrivals import KEY, Arriving, Shipment, artefact_of_parcel, files_of, mark_of, sealed
from blazar.application.models.foretelling import Unserved, foretold, nobody_knows
from blazar.application.models.mending import MendPlacements, turn
from blazar.application.models.name_turns import NameTurns
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
from blazar.application.models.slots import UNLIMITED, Slot
from blazar.application.models.vetting import Vetting
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.downloads import Downloads
from blazar.application.ports.landing import Landing
from blazar.application.ports.remote import RemoteModels
from blazar.domain import teaching
from blazar.domain.diffusion_sets import ROLES, role_of
from blazar.domain.draft_pairs import draft_for
from blazar.domain.errors import BlazarError, Malformed, NoRoom, NotFound
from blazar.domain.harmless import public
from blazar.domain.names import check_name
from blazar.domain.parcels import Role, artefact_of
from blazar.domain.references import (
    RemoteRef,
    at_home,
    candidates,
    catalog_name,
    is_kept,
    pull_reference,
)
from blazar.domain.registry_words import sifted
from blazar.domain.row_names import spelled_as_here
from blazar.domain.weight_names import SUFFIX

AUTO: Final = "auto"
DRAFT: Final = "draft"


class Transport(NamedTuple):
    """How files come. `open` gives the registry that a reference belongs to; `hosts` are those that are configured besides the usual.

    `hub` is where Hugging Face's API is asked, if not there.
    """

    open: Callable[[RemoteRef], RemoteModels]
    hosts: Callable[[], Collection[str]]
    downloads: Downloads
    disk: DiskSpace
    landing: Landing
    hub: str = ""

    def meant(self, reference: str) -> tuple[RemoteRef, ...]:
        """What to ask for in turn. Raises `Malformed`."""
        return candidates(pull_reference(at_home(reference, self.hub), self.hosts()))


class _Teller:
    """Steps in ollama's words. Of one file what was told never becomes less."""

    def __init__(self, told: Told) -> None:
        self._told, self._most, self._lock = told, dict[str, int](), Lock()
        self.notes: list[str] = []
        self.also: Told = _nobody
        """Hears of files, too."""

    def say(self, status: str) -> None:
        self._told(Step(status))

    def note(self, status: str, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)
            self._told(Step(status, note=sentence))

    def waits(self, sentence: str) -> None:
        """For a while, before anything comes: none of what a pull came to. From any thread."""
        with self._lock:
            self._told(Step(MANIFEST, note=sentence))

    def file(self, one: Arriving, done: int, total: int) -> None:
        file, digits = one.part.file, _digits(one)
        done = self._most[digits] = max(done, self._most.get(digits, 0))
        step = Step(f"{FILE} {digits[:12]}", f"sha256:{digits}", max(total, done), done, file.name)
        self._told(step)
        self.also(step)

    def follow(self, ahead: Collection[Step], files: Collection[Arriving]) -> None:
        """Those of `files` that another pull brings; each is whole only when it is here."""
        ours = {f"sha256:{_digits(one)}": one for one in files}
        for step in ahead:
            if (one := ours.get(step.digest)) is not None:
                self.file(one, step.completed, step.total)


def _digits(one: Arriving) -> str:
    file = one.part.file
    return file.sha256 or artefact_of([(file.name, mark_of(file))])


def _once(files: Collection[Arriving]) -> Collection[Arriving]:
    """Of files that are the same bytes one: it is fetched once, and linked."""
    return {one.mark: one for one in files}.values()


def _nobody(step: Step) -> None:
    """Nobody else wants to know."""


def _unheard(sentence: str) -> None:
    """Nothing is asked before the call."""


@dataclass(slots=True)
class PullModel(OnePull):
    """For one wish, called once: a stop is final."""

    transport: Transport
    place: PlaceModel
    place_adapter: PlaceAdapter
    mend: MendPlacements
    abreast: Abreast = field(default_factory=Abreast)
    slot: Slot = UNLIMITED
    unserved: Unserved = nobody_knows
    _opened: dict[tuple[str, str], RemoteModels] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    _why: BlazarError | None = field(default=None, init=False)
    _waits: Callable[[str], None] = field(default=_unheard, init=False)

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        """Raises what registries, downloads and the catalog raise, `Conflict` for a name that is taken, `NoRoom` for a full disk."""
        if wish.name:
            check_name(wish.name)  # before anybody is asked: a wrong name is told at once
        for role, _ in wish.parts:
            if not role_of(role):
                raise Malformed(teaching.part_role_unknown(role, ROLES), "with")
        try:
            teller = _Teller(told)
            self._waits = teller.waits
            self.transport.downloads.tells(partial(teller.note, VERIFYING))
            return self._pull(wish, teller)
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

    def _rest(self) -> None:
        """While somebody else has what it wants."""
        self._check()
        self.slot.lend()

    def _pull(self, wish: Wish, teller: _Teller) -> Pulled:
        teller.say(MANIFEST)
        main, name, label = self._aimed(wish)
        for sentence in main.parcel.notes:
            teller.note(MANIFEST, sentence)
        adapts = main.is_adapter or self.place_adapter.knows(label, main)
        if adapts:
            self.place_adapter.present(label, main)
            order = Order(name, main, label=label)
        else:
            present = self.place.present(name, main)
            parts = tuple(self._part(role, reference) for role, reference in wish.parts)
            order = Order(name, main, parts, None, present, label)
            order = order._replace(draft=self._draft(wish.draft, order, teller))
        keys = [shipment.key for shipment in order.shipments]

        with self.abreast.among(keys) as place, self._turn(order, place, teller):
            with turn(self.transport.landing, name, self._rest):
                with self._changing(name, teller):
                    self.mend(name)
                pulled = self._adapter(order, teller) if adapts else self._model(order, teller)
            for shipment in order.shipments:
                self.transport.landing.clear(shipment.folder)
        teller.say(DONE)
        return pulled

    def _aimed(self, wish: Wish) -> tuple[Shipment, str, str]:
        """What comes, the row that it is for, and what it is called where it has none.

        What ollama's clients ask for afterwards is a model's name; an adapter is a file, and called so whoever pulls it.
        """
        rows = self.place.catalog.list_models()
        row = row_of_word(wish, rows)
        if row is not None and row.origin is not None:
            ref = pull_reference(row.origin.reference, self.transport.hosts())
            main = self._shipment("", self._registry(ref), ref)
            name = check_name(wanted_name(wish) or row.name)
            return main, self.place.spelled(name), name
        main = self._ordered("", wish.reference)
        usual = self._called(wish.reference, main.parcel.ref)
        name = check_name(row_name(wish, main.parcel, usual, rows))
        return main, name, name if wanted_name(wish) else check_name(usual)

    @contextmanager
    def _turn(self, order: Order, place: Place, teller: _Teller) -> Iterator[None]:
        """Its folders are ours until the end. What another pull of this process brings meanwhile is ours as well, and seen to come."""
        files = [one for shipment in order.shipments for one in shipment.files]

        def waiting() -> None:
            self._rest()
            ahead = self.abreast.ahead(place)
            if ahead is None:
                teller.note(
                    MANIFEST, teaching.pull_waits(catalog_name(order.main.parcel.ref, order.main.parcel.ref.tag))
                )
            else:
                teller.follow(ahead, files)

        with self.transport.landing.claim(place.keys, waiting):
            place.outside = False
            teller.also = partial(self.abreast.tell, place)
            yield

    @contextmanager
    def _changing(self, name: str, teller: _Teller) -> Iterator[None]:
        """Nobody else removes, copies or creates it until the end: for moments only, since those wait for nothing that is fetched."""
        said = list[str]()

        def waiting() -> None:
            self._rest()
            if not said:
                said.append(teaching.pull_waits_name(name))
                teller.waits(said[0])

        with NameTurns(lambda: self.transport.landing)(name, waiting=waiting):
            yield

    def _called(self, reference: str, ref: RemoteRef) -> str:
        """A shortname is kept as it was written: `qwen3-0.6b` is found as `qwen3:0.6b` too, and not the other way round."""
        tries = self.transport.meant(reference)
        return catalog_name(tries[-1]) if len(tries) > 1 else catalog_name(ref, ref.tag)

    def _model(self, order: Order, teller: _Teller) -> Pulled:
        # Again, now that nobody else works on it: another process may have brought it meanwhile.
        order = order._replace(present=self.place.present(order.name, order.main))
        if self.place.is_complete(order):
            self._told_whole(order, teller)
            return self._there_already(order, teller)
        vetting = Vetting(self.place.weights, self.transport.landing, order)
        vetting.ahead(self._check)
        self.place.check_writable(order)
        if why := foretold(order, self.unserved):
            teller.note(MANIFEST, teaching.pull_unserved(order.name, why))
        order = self._bring(order, teller)
        if self.place_adapter.is_one(order.main):
            return self._placed_adapter(order, teller)
        with self._changing(order.name, teller), vetting.told():
            # Once more: it may have been removed meanwhile, or it had to come before anybody could tell.
            order = order._replace(present=self.place.present(order.name, order.main))
            if self.place.is_complete(order):
                return self._there_already(order, teller)
            placed = self.place(order)
        for sentence in placed.notes:
            teller.note(WRITING, sentence)
        self._tell_left(order, teller)
        return Pulled(placed.model, fresh=True, notes=tuple(teller.notes))

    def _there_already(self, order: Order, teller: _Teller) -> Pulled:
        self._tell_left(order, teller)
        return Pulled(order.present, fresh=False, notes=tuple(teller.notes))

    def _tell_left(self, order: Order, teller: _Teller) -> None:
        rows, main = self.place.catalog.list_models(), order.main
        if left := left_behind(order.name, main.parcel, main.artefact, rows):
            teller.note(WRITING, teaching.pull_rows_left(order.name, left))

    def _adapter(self, order: Order, teller: _Teller) -> Pulled:
        if path := self.place_adapter.present(order.label, order.main):
            self._told_whole(order, teller)
            return Pulled(None, fresh=False, path=path, notes=(*teller.notes, self.place_adapter.told(path)))
        return self._placed_adapter(self._bring(order, teller), teller)

    def _placed_adapter(self, order: Order, teller: _Teller) -> Pulled:
        self.place_adapter.present(order.label, order.main)  # only now it may have turned out to be one
        with Vetting(self.place.weights, self.transport.landing, order).told():
            path = self.place_adapter(order.label, order.main)
        teller.note(WRITING, self.place_adapter.told(path))
        return Pulled(None, fresh=True, path=path, notes=tuple(teller.notes))

    def _ordered(self, role: str, reference: str) -> Shipment:
        """What a reference brings: the first of its spellings that there is."""
        rows = self.place.catalog.list_models()
        tries = [spelled_as_here(ref, rows) for ref in self.transport.meant(reference)]
        for ref in tries[:-1]:
            with suppress(NotFound):
                return self._shipment(role, self._registry(ref), ref)
        return self._shipment(role, self._registry(tries[-1]), tries[-1])

    def _shipment(self, role: str, registry: RemoteModels, ref: RemoteRef) -> Shipment:
        parcel = registry.parcel(ref)
        self._check()
        words, left = sifted(parcel.words)
        if left:
            parcel = parcel._replace(words=words, notes=(*parcel.notes, teaching.pull_words_unwritable(left)))
        artefact = artefact_of_parcel(parcel)
        folder = self.transport.landing.folder(artefact[:KEY])
        return Shipment(role, parcel, registry, artefact, folder, files_of(parcel, folder))

    def _registry(self, ref: RemoteRef) -> RemoteModels:
        at = (ref.registry, ref.host)
        if at not in self._opened:
            registry = self.transport.open(ref)
            registry.tells(self._waits)
            with self._lock:
                self._opened[at] = registry
        self._check()
        return self._opened[at]

    def _part(self, word: str, reference: str) -> Shipment:
        role = role_of(word)
        found = self._ordered(role, reference)
        if not found.single:
            raise Malformed(teaching.pull_part_is_no_file(public(reference)), "with")
        return found

    def _draft(self, wish: str, order: Order, teller: _Teller) -> Shipment | None:
        """The one that is wished for, else what is newer of the one that is there. With `auto` nothing about it keeps the model from coming."""
        name, main = order.name, order.main
        weights = main.of(Role.WEIGHTS)
        if not weights or not weights[0].at.lower().endswith(SUFFIX):
            if wish:
                raise Malformed(teaching.pull_draft_for_gguf(name), "draft")
            return None
        if not wish:
            return self._newer_draft(order, teller)
        reference = draft_for(main.parcel.ref.repo) if wish == AUTO else wish
        if not reference:
            teller.note(MANIFEST, teaching.pull_draft_unknown(name))
            return None
        try:
            found = self._ordered(DRAFT, reference)
            if not found.single.lower().endswith(SUFFIX):
                raise Malformed(teaching.pull_draft_is_no_file(public(reference)), "draft")
        except BlazarError as why:
            self._check()
            if wish != AUTO:
                raise
            teller.note(MANIFEST, teaching.pull_draft_unavailable(name, public(reference), str(why)))
            return None
        if found.size >= main.size:
            teller.note(MANIFEST, teaching.pull_draft_no_smaller(name, public(reference)))
            return None
        return found

    def _newer_draft(self, order: Order, teller: _Teller) -> Shipment | None:
        """It is brought up to date along with its model, and is no reason why that should not come."""
        row = order.present
        reference = row.origin.draft if row is not None and row.draft and row.origin is not None else ""
        if not reference or is_kept(reference):
            return None
        try:
            found = self._ordered(DRAFT, reference)
        except BlazarError as why:
            self._check()
            teller.note(MANIFEST, teaching.pull_draft_not_renewed(order.name, public(reference), str(why)))
            return None
        return found if found.single.lower().endswith(SUFFIX) and found.size < order.main.size else None

    def _told_whole(self, order: Order, teller: _Teller) -> None:
        """Everything was there: the same steps, as a client expects them."""
        for shipment in order.shipments:
            for one in shipment.files:
                teller.file(one, one.part.file.size, one.part.file.size)
        teller.say(VERIFYING)
        teller.say(WRITING)

    def _bring(self, order: Order, teller: _Teller) -> Order:
        """Have all files lie where they arrive; the same order, with digests for what nobody vouched for."""
        known = self.place.known()
        todo = list[tuple[Shipment, Arriving]]()
        for shipment in order.shipments:
            for one in shipment.files:
                if self._is_there(one, known.get(one.mark, ""), teller):
                    teller.file(one, one.part.file.size, one.part.file.size)
                else:
                    todo.append((shipment, one))
        self._check_room(_once([one for _, one in todo]), order.main.folder)
        for _, one in todo:  # whoever draws it knows from now on how much it is in all
            teller.file(one, self.transport.downloads.came(one.at), one.part.file.size)
        if todo:
            self.slot.take_back(self._check)
        came = dict[str, str]()
        for shipment, one in todo:
            self._check()
            twin = came.setdefault(one.mark, one.at)
            if twin == one.at or not self.transport.landing.adopt(twin, one.at):
                self._fetch(shipment, one, teller)
        self._check()
        teller.say(VERIFYING)
        order = order.mapped(partial(self._sealed, teller=teller))
        teller.say(WRITING)
        return order

    def _sealed(self, shipment: Shipment, teller: _Teller) -> Shipment:
        unknown = [one for one in shipment.files if not one.is_vouched]
        return sealed(shipment, {one.at: self._digest(one.at, teller) for one in unknown})

    def _digest(self, path: str, teller: _Teller) -> str:
        """Of what lies there now: it may have changed since it was written."""
        teller.say(VERIFYING)  # no line about the file: of a download that may have to follow nothing is there
        return self.transport.landing.digest(path, self._check)

    def _fetch(self, shipment: Shipment, one: Arriving, teller: _Teller) -> None:
        size = one.part.file.size

        def told(done: int, total: int) -> None:
            teller.file(one, done, total or size)

        self.transport.downloads.fetch(shipment.registry.wanted(one.part.file, one.at), told)
        whole = max(size, self.transport.landing.size(one.at))
        teller.file(one, whole, whole)

    def _is_there(self, one: Arriving, elsewhere: str, teller: _Teller) -> bool:
        """Whole, and what it shall be to its last byte. What a model has already is linked (cases H5, H11), unless it was damaged there.

        Of a file that nobody vouches for none can tell whether the host has another by now: it is fetched.
        """
        landing, size = self.transport.landing, one.part.file.size
        if (found := landing.size(one.at)) >= 0:
            if one.is_vouched and (not size or found == size) and self._is_intact(one.at, one, teller):
                return True
            landing.drop(one.at)
        if not elsewhere or (size and landing.size(elsewhere) != size):
            return False
        if not self._is_intact(elsewhere, one, teller):
            teller.note(VERIFYING, teaching.pull_damaged_here(elsewhere))
            return False
        return landing.adopt(elsewhere, one.at)

    def _is_intact(self, path: str, one: Arriving, teller: _Teller) -> bool:
        digest = one.part.file.sha256
        return not digest or self._digest(path, teller) == digest

    def _check_room(self, files: Collection[Arriving], folder: str) -> None:
        """For all that is missing, before the first byte (case H8)."""
        landing = self.transport.landing
        held = sum(landing.held(one.at) for one in files)
        needed = sum(max(0, one.part.file.size - landing.held(one.at)) for one in files)
        with suppress(OSError):  # a file system that does not say is left to refuse by itself
            free = self.transport.disk.free(folder)
            if needed > free:
                raise NoRoom(teaching.download_no_room(folder, needed, free, held))
