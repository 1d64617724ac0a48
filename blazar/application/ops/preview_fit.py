"""`blazar fit`: what a model would take, whether this machine or an imagined one holds it, and which quantisation to take.

Answers for a row of the catalog, a file here, and a model of a registry, of which it reads headers only. Loads nothing, keeps
nothing, and asks a registry for nothing that was not named.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from pathlib import PurePath
from typing import Any, NamedTuple

from blazar.application.ops.caller import Caller
from blazar.application.ops.fit_listing import judge_listing
from blazar.application.ops.fit_rows import MOST_TOKENS, Judge, Weighed
from blazar.application.ops.quants import Quants
from blazar.application.ports.remote import RemoteModels
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.belongings import meant
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.extra_words import without
from blazar.application.supervise.preparation import Preparation, embeds, prepare
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, BadShape, Malformed, ModelNotFound, NotFound, SeveralModels
from blazar.domain.fit.machine import Machine, bytes_of, imagined
from blazar.domain.fit.settings import CACHE_TYPES
from blazar.domain.kinds import Weights
from blazar.domain.names import parse_ref
from blazar.domain.records import Model
from blazar.domain.references import RemoteRef, implied_reference, parse_reference

MOST_SLOTS = 256
MOST_CARDS = 15
"""llama.cpp b11434 computes on 16 backends at most (GGML_SCHED_MAX_BACKENDS in ggml/src/ggml-backend.cpp), and the CPU is one."""
MOST_GIB = 2**20


class Question(NamedTuple):
    """What is asked. 0, "" and None leave a value to configuration and planner; `gpu` of () imagines a machine without.

    `ctx` is one request's window, also where there are several `slots`. `kv` is one cache type, or two for keys and values with a
    comma between them. `gpu` and `ram` are in GiB.
    """

    target: str
    ctx: int = 0
    slots: int = 0
    kv: str = ""
    gpu: tuple[float, ...] | None = None
    ram: float | None = None

    @property
    def imagined(self) -> tuple[str, ...]:
        """The parts of the machine that are not this one's."""
        parts = {"gpu": self.gpu, "ram": self.ram}
        return tuple(name for name, said in parts.items() if said is not None)


class Wanted(NamedTuple):
    """Which machine a load would see.

    With the devices of these RPC workers, by the build that a pin on `engine` ("": none) gives a model of this architecture
    ("": not known yet), once these children are `gone`.
    """

    workers: str = ""
    engine: str = ""
    gone: Collection[str] = ()
    arch: str = ""


@dataclass(frozen=True, slots=True)
class PreviewFit:
    """Resolves a target, reads headers, plans.

    `find_model` raises `ModelNotFound`; `registry` gives a registry by its name in a reference; `machine` is what there is
    now beside the children that use it; `settings_for` the effective configuration of a model by name ("" for one without a row);
    `folder` is where children run. Blocking: call it off the event loop.
    """

    find_model: Callable[[str], Model]
    weights: WeightFiles
    registry: Callable[[str], RemoteModels]
    machine: Callable[[Sequence[Tenant], Wanted], Machine]
    settings_for: Callable[[str], Mapping[str, Any]]
    folder: str = ""

    def __call__(
        self, question: Question, tenants: Sequence[Tenant] = (), caller: Caller | None = None
    ) -> dict[str, Any]:
        """Raises `Malformed` for what cannot be asked, and whatever reading the target raises; `caller` can end that."""
        _check(question)
        target = question.target
        reference = parse_reference(target)
        if reference is None and PurePath(target).is_absolute():
            return self._file(question, tenants)
        if reference is None:
            try:
                return self._row(question, tenants, self.find_model(target))
            except (ModelNotFound, SeveralModels) as unknown:
                reference = implied_reference(target)
                if reference is None:
                    raise NotFound(teaching.fit_target_unknown(str(unknown))) from None
        return self._remote(question, tenants, reference, caller or Caller())

    def _row(self, question: Question, tenants: Sequence[Tenant], model: Model) -> dict[str, Any]:
        """A model that runs is judged as if it did not: its own memory is there for it, as `explain` and its next spawn see it."""
        if model.weights is not Weights.GGUF:
            raise Malformed(teaching.fit_only_gguf(model.name, model.weights), "model")
        judge = self._judge(question, tenants, model.name, model.arch, own=model.embeds)
        judge, weighed = self._with_projector(replace(judge, trained=model.ctx_train), model)
        answer = judge.alone("catalog", model.name, weighed)
        if any(parse_ref(one.key).model == model.name for one in tenants):
            answer["notes"].append(teaching.fit_loaded(model.name))
        return answer

    def _with_projector(self, judge: Judge, model: Model) -> tuple[Judge, Weighed]:
        """The model with the projector that configuration means; one that waits for the first picture counts, too (F8)."""
        policy, file, beside = meant(judge.settings)
        weighed = self._weighed(model.quant, model.files, model.sizes, file)
        if judge.embeds or not (file or beside):
            weighed = weighed._replace(projector=None)
        if policy == "attach" and weighed.projector:
            judge = replace(judge, prepared=judge.prepared.with_projector(weighed.projector))
        return replace(judge, attached=policy != "lazy"), weighed

    def _file(self, question: Question, tenants: Sequence[Tenant]) -> dict[str, Any]:
        facts = self.weights.inspect(question.target)
        if facts.weights is not Weights.GGUF:
            plain = facts.weights in (Weights.SAFETENSORS, Weights.QUANTIZED)
            told = teaching.only_safetensors(question.target)
            raise Malformed(told if plain else teaching.fit_only_gguf(question.target, facts.weights), "model")
        judge = self._judge(question, tenants, "", facts.arch, own=bool(facts.pooling))
        judge = replace(judge, trained=facts.ctx_train)
        return judge.alone("file", facts.files[0], self._weighed(facts.quant, facts.files, facts.sizes))

    def _remote(
        self, question: Question, tenants: Sequence[Tenant], reference: RemoteRef, caller: Caller
    ) -> dict[str, Any]:
        registry = self.registry(reference.registry)
        caller.stopped_by(registry.stop)
        try:
            quants = Quants(registry, self.weights, registry.listing(reference))
            return judge_listing(quants, self._judge(question, tenants), reference)
        finally:
            registry.close()

    def _weighed(self, quant: str, files: tuple[str, ...], sizes: tuple[int, ...], own: str = "") -> Weighed:
        """`own` is a projector that is named, instead of the one that lies beside the files."""
        shape = self.weights.shape(files)
        notes: tuple[str, ...] = ()
        try:
            projector = self.weights.projector_in(own) if own else self.weights.projector(files)
        except (BadModelFile, BadShape, NotFound) as why:  # it lies beside a model that is sound
            projector, notes = None, (teaching.fit_projector_unreadable(own or "beside it", str(why)),)
        return Weighed(quant, sum(sizes), len(files), shape, projector, notes=notes)

    def _judge(
        self, question: Question, tenants: Sequence[Tenant], name: str = "", arch: str = "", *, own: bool | None = None
    ) -> Judge:
        """`own`: whether the weights say that they are an embedding model's; None where only the shape can tell."""
        prepared = self._prepared(question, name)
        embedding = None if own is None else embeds(prepared.settings, own)
        settings = prepared.settings
        own_keys = {name} | {one.key for one in tenants if parse_ref(one.key).model == name}
        wanted = Wanted(settings["rpc_servers"], settings["engine"], own_keys if name else (), arch)
        machine = _machine(question, partial(self.machine, tenants, wanted))
        return Judge(
            question.target, machine, prepared, embedding, imagined=question.imagined, apart=question.slots > 0
        )

    def _prepared(self, question: Question, name: str) -> Preparation:
        """The configuration's keys with what the question says instead, also of what stands among the extra words."""
        settings, asked = dict(self.settings_for(name)), set()
        if question.ctx:
            settings["ctx"] = question.ctx
            asked |= {"--ctx-size"}
        if question.slots:
            settings["slots"] = question.slots
            asked |= {"--parallel"}
        if question.kv:
            key, _, value = question.kv.partition(",")
            settings |= {"cache_type_k": key, "cache_type_v": value or key}
            asked |= {"--cache-type-k", "--cache-type-v"}
        return prepare(settings, self.weights, without(settings["extra_args"], frozenset(asked)), self.folder)


def _machine(question: Question, look: Callable[[], Machine]) -> Machine:
    """This one, or the imagined; what is not imagined of it is as it is here, with those who use it."""
    gpu, ram = question.gpu, question.ram
    if gpu is not None and ram is not None:
        return imagined(gpu, ram)
    here = look()
    if gpu is not None:
        staying = (one._replace(devices=()) for one in here.running)
        return replace(here, devices=imagined(gpu, 0).devices, running=tuple(staying))
    if ram is not None:
        size, staying = bytes_of(ram), (one._replace(host=0) for one in here.running)
        return replace(here, ram_total=size, ram_available=size, running=tuple(staying))
    return here


def question_of(body: Mapping[str, Any]) -> Question:
    """The body of POST /api/fit as a question; types were checked where it came from."""
    gpu = body.get("gpu")
    return Question(
        target=body.get("model") or body.get("target") or "",
        ctx=body.get("ctx") or 0,
        slots=body.get("slots") or 0,
        kv=body.get("kv") or "",
        gpu=None if gpu is None else () if gpu == [0] else tuple(map(float, gpu)),
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
    if len(sizes) > MOST_CARDS:
        raise Malformed(teaching.fit_many_cards(MOST_CARDS), "gpu")
    if not all(isfinite(size) and 0 < size <= MOST_GIB for size in sizes):
        raise Malformed(teaching.fit_bad_sizes("gpu", MOST_GIB), "gpu")
    if question.ram is not None and not (isfinite(question.ram) and 0 < question.ram <= MOST_GIB):
        raise Malformed(teaching.fit_bad_ram(MOST_GIB), "ram")
