"""`blazar fit`: what a model would take, whether this machine or an imagined one holds it, and which quantisation to take.

Answers for a row of the catalog, a file here, and a model of a registry, of which it reads headers only. Loads nothing, keeps
nothing, and asks a registry for nothing that was not named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import PurePath
from typing import Any, NamedTuple

from blazar.application.ops.fit_rows import MOST_TOKENS, Judge, Row, Weighed
from blazar.application.ops.quants import Quants
from blazar.application.ports.remote import Offer, RemoteModels
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.charges import Tenant, without
from blazar.domain import teaching
from blazar.domain.errors import Malformed, ModelNotFound, NotFound
from blazar.domain.fit.machine import GIB, Machine, imagined
from blazar.domain.fit.preview import choose
from blazar.domain.fit.settings import CACHE_TYPES
from blazar.domain.names import parse_ref
from blazar.domain.records import Model
from blazar.domain.references import RemoteRef, implied_reference, parse_reference

MOST_SLOTS = 256
MOST_CARDS = 64
MOST_GIB = 2**20
MOST_CORRECTIONS = 3
"""Headers read beyond the first of a listing, to be exact about what is shown."""


class Question(NamedTuple):
    """What is asked. 0, "" and None leave a value to configuration and planner; `gpu` of () imagines a machine without.

    `kv` is one cache type, or two for keys and values with a comma between them. `gpu` and `ram` are in GiB.
    """

    target: str
    ctx: int = 0
    slots: int = 0
    kv: str = ""
    gpu: tuple[float, ...] | None = None
    ram: float | None = None

    @property
    def imagines(self) -> bool:
        """Whether another machine than this one is meant."""
        return self.gpu is not None or self.ram is not None


@dataclass(frozen=True, slots=True)
class PreviewFit:
    """Resolves a target, reads headers, plans.

    `find_model` raises `ModelNotFound`; `registry` gives a registry by its name in a reference; `machine` is what there is
    now beside the children that use it; `settings_for` the effective configuration of a model by name ("" for one without a row).
    Blocking: call it off the event loop.
    """

    find_model: Callable[[str], Model]
    weights: WeightFiles
    registry: Callable[[str], RemoteModels]
    machine: Callable[[Sequence[Tenant]], Machine]
    settings_for: Callable[[str], Mapping[str, Any]]

    def __call__(self, question: Question, tenants: Sequence[Tenant] = ()) -> dict[str, Any]:
        """Raises `Malformed` for what cannot be asked, and whatever reading the target raises."""
        _check(question)
        here = self.machine(tenants)
        target = question.target
        reference = parse_reference(target)
        if reference is None and PurePath(target).is_absolute():
            return self._file(question, here)
        if reference is None:
            try:
                return self._row(question, here, self.find_model(target))
            except ModelNotFound as unknown:
                reference = implied_reference(target)
                if reference is None:
                    raise NotFound(teaching.fit_target_unknown(str(unknown))) from None
        return self._remote(question, here, reference)

    def _row(self, question: Question, here: Machine, model: Model) -> dict[str, Any]:
        """A model that runs is judged as if it did not: its own memory is there for it."""
        own = [one.key for one in here.running if parse_ref(one.key).model == model.name]
        judge = self._judge(question, without(here, own), model.name, embeds=model.embeds)
        return judge.alone("catalog", model.name, self._weighed(model.quant, model.files, model.sizes))

    def _file(self, question: Question, here: Machine) -> dict[str, Any]:
        facts = self.weights.inspect(question.target)
        judge = self._judge(question, here, embeds=bool(facts.pooling))
        return judge.alone("file", facts.files[0], self._weighed(facts.quant, facts.files, facts.sizes))

    def _remote(self, question: Question, here: Machine, reference: RemoteRef) -> dict[str, Any]:
        registry = self.registry(reference.registry)
        try:
            quants = Quants(registry, self.weights, registry.listing(reference))
            return _judge_listing(quants, self._judge(question, here), reference)
        finally:
            registry.close()

    def _weighed(self, quant: str, files: tuple[str, ...], sizes: tuple[int, ...]) -> Weighed:
        return Weighed(quant, sum(sizes), len(files), self.weights.shape(files), self.weights.projector(files))

    def _judge(self, question: Question, here: Machine, name: str = "", *, embeds: bool = False) -> Judge:
        machine, settings = _machine(question, here), self._settings(question, name)
        return Judge(question.target, machine, settings, embeds=embeds, imagined=question.imagines)

    def _settings(self, question: Question, name: str) -> Mapping[str, Any]:
        """The configuration's keys with what the question says instead."""
        settings = dict(self.settings_for(name))
        if question.ctx:
            settings["ctx"] = question.ctx
        if question.slots:
            settings["slots"] = question.slots
        if question.kv:
            key, _, value = question.kv.partition(",")
            settings |= {"cache_type_k": key, "cache_type_v": value or key}
        return settings


def _judge_listing(quants: Quants, judge: Judge, reference: RemoteRef) -> dict[str, Any]:
    """All offers by estimate; then the one that is shown, by its own header. Reading it may change which one that is."""
    offers, asked = quants.offers(), quants.listing.asked
    lacking = asked if asked is not None and asked.missing else None
    if lacking or not offers:
        lacking = lacking or quants.incomplete()[0]
        raise NotFound(teaching.fit_shards_lacking(lacking.quant, lacking.missing))
    rows = {offer: _judged(quants, judge, offer) for offer in offers}
    for _ in range(MOST_CORRECTIONS):
        shown = _shown(quants, rows)
        if not rows[shown].estimated:
            break
        quants.read(shown)
        rows[shown] = _judged(quants, judge, shown)
    about = rows[_shown(quants, rows)]
    answer = judge.answer(reference.registry, str(reference._replace(tag="")), list(rows.values()), about)
    return answer | {"notes": _notes(quants, rows)}


def _judged(quants: Quants, judge: Judge, offer: Offer) -> Row:
    shape, projector = quants.shape(offer), quants.projector(offer)  # the first of a family is read here
    weighed = Weighed(offer.quant, offer.size, len(offer.files), shape, projector, quants.estimated(offer))
    return judge.row(weighed)


def _shown(quants: Quants, rows: Mapping[Offer, Row]) -> Offer:
    """The offer that was asked for, else the one to take, else the smallest."""
    if quants.listing.asked in rows and quants.listing.asked is not None:
        return quants.listing.asked
    take = choose(row.candidate for row in rows.values())
    return next((offer for offer, row in rows.items() if row.candidate is take), next(iter(rows)))


def _notes(quants: Quants, rows: Mapping[Offer, Row]) -> list[str]:
    notes = [teaching.fit_shards_lacking(offer.quant, offer.missing) for offer in quants.incomplete()]
    if any(row.estimated for row in rows.values()):
        read = [row.candidate.quant for row in rows.values() if not row.estimated]
        notes.append(teaching.fit_estimated(", ".join(read)))
    left = [offer.quant for offer in quants.listing.offers if offer not in rows and not offer.missing]
    if left:
        notes.append(teaching.fit_left_out(left[:20]))
    return notes


def _machine(question: Question, here: Machine) -> Machine:
    """This one, or the imagined; what is not imagined of it is as it is here."""
    if not question.imagines:
        return here
    ram = here.ram_total if question.ram is None else int(question.ram * GIB)
    if question.gpu is not None:
        return imagined(question.gpu, ram / GIB)
    return replace(here, ram_total=ram, ram_available=ram)


def question_of(body: Mapping[str, Any]) -> Question:
    """The body of POST /api/fit as a question; types were checked where it came from."""
    gpu = body.get("gpu")
    return Question(
        target=body.get("model") or body.get("target") or "",
        ctx=body.get("ctx") or 0,
        slots=body.get("slots") or 0,
        kv=body.get("kv") or "",
        gpu=None if gpu is None else tuple(float(size) for size in gpu if size),
        ram=body.get("ram"),
    )


def _check(question: Question) -> None:
    """Raise `Malformed` for what no plan can be made of."""
    if not question.target:
        raise Malformed(teaching.field_missing("model"), "model")
    for field, value, most in (("ctx", question.ctx, MOST_TOKENS), ("slots", question.slots, MOST_SLOTS)):
        if not 0 <= value <= most:
            raise Malformed(teaching.fit_bad_number(field, most), field)
    types = question.kv.split(",") if question.kv else []
    if len(types) > 2 or any(one not in CACHE_TYPES for one in types):
        raise Malformed(teaching.fit_bad_kv(question.kv[:80], list(CACHE_TYPES)), "kv")
    sizes = question.gpu or ()
    if len(sizes) > MOST_CARDS or not all(isfinite(size) and 0 < size <= MOST_GIB for size in sizes):
        raise Malformed(teaching.fit_bad_sizes("gpu", MOST_GIB), "gpu")
    if question.ram is not None and not (isfinite(question.ram) and 0 < question.ram <= MOST_GIB):
        raise Malformed(teaching.fit_bad_sizes("ram", MOST_GIB), "ram")
