"""Model, engine and settings to one LaunchPlan: what the child will be told. Starts nothing and keeps nothing.

Gathers what a command line is compiled from (files, census, verdict, the build's options) into a Brief; what an engine kind makes
of it is the kind's own. Settings are read by index, so that a key which configuration does not declare is an error at once and not
an option without effect.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.drivers import Driver, FlagProbe
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.belongings import Belongings, belongings
from blazar.application.supervise.charges import NOBODY, Usage
from blazar.application.supervise.endpoint import endpoint_for
from blazar.application.supervise.extra_words import ADDED, slot_bound
from blazar.application.supervise.fit_settings import slots_for
from blazar.application.supervise.named_files import look_for
from blazar.application.supervise.preparation import Preparation, embeds
from blazar.application.supervise.rerouting import Detour, Lacks
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Handling, Launch, Sized
from blazar.application.supervise.tools_gate import thoughtless, toolless
from blazar.domain import teaching
from blazar.domain.draft_pairs import told_by
from blazar.domain.errors import BadModelFile, BadShape, EngineBroken, Malformed, NotFound, Refusal, Unserved
from blazar.domain.fit.shape import ModelShape, heads_of
from blazar.domain.kinds import RANK, EngineKind, Task, Weights
from blazar.domain.launch import Beside, Brief, Compiled, Drafts, Places, compile_launch
from blazar.domain.manners import spelled
from blazar.domain.records import Engine, Model
from blazar.domain.routing import Rejected, Route, Rules, Subject, architecture_unserved, lane_for, rejections
from blazar.domain.told_paths import told_paths
from blazar.domain.versions import newest_first
from blazar.domain.wire.chunking import MEAN, POOLINGS

SUPPLIED = frozenset(
    {
        *("model_path", "alias", "ctx_size", "pooling", "gpu_layers", "projector", "rope_scaling"),
        *("spec_type", "draft_model", "draft_n_max"),
    }
)
"""Settings that llama.cpp's flag table names beside the configuration's: only its `resolve` knows them."""

SPREADING = frozenset({EngineKind.SGLANG, EngineKind.MISTRALRS})
"""Kinds that spread a load over cards by themselves: no plan is made for them, and their `resolve` judges shape and machine."""


def nobody_said(_: str) -> Mapping[str, str]:
    """Where nobody keeps who set what."""
    return {}


def nothing_curated(_: str) -> tuple[str, ...]:
    """Where there is no registry of forks."""
    return ()


def nothing_seen(_: Engine) -> str:
    """Where nobody looks at a build's files."""
    return ""


def parts_beside(model: Model) -> Beside:
    """What the row itself keeps: the small model that guesses ahead, and the files of a diffusion set."""
    family = told_by(model.draft)[0] if model.draft else ""
    return Beside(draft=model.draft, draft_family=family, components=dict(model.components))


@dataclass(frozen=True, slots=True)
class LaunchPlanner:
    """Plans launches from the catalogs as they are now.

    `settings_for(name)` is the effective flat configuration of one model, `origins_for(name)` who set it. `probe` may have to run
    a binary once: warm it off the loop. `beside_for(model)` are the draft and the components that belong to it, `places` the
    folders of sessions, of lookup caches and of sockets. `rules()` is `[engine_routing]` as it is now, `curated(arch)` names the
    registry's lanes that serve an architecture and must not block, `lacks` what builds were seen to end over. `refused()` is what is
    wrong with a configuration file that cannot be used: then what holds is what was read before. `flaw(engine)` is what keeps a
    build from running, as far as its files tell; it may block. `adopted` are slots by a model's name that crowds have earned it (D18).
    """

    engines: EngineCatalog
    drivers: Mapping[EngineKind, Driver]
    probe: FlagProbe
    hardware: HardwareCensus
    settings_for: Callable[[str], Mapping[str, Any]]
    sizing: Sizing
    origins_for: Callable[[str], Mapping[str, str]] = nobody_said
    beside_for: Callable[[Model], Beside] = parts_beside
    places: Places = field(default_factory=Places)
    rules: Callable[[], Rules] = Rules
    curated: Callable[[str], Sequence[str]] = nothing_curated
    lacks: Lacks = field(default_factory=Lacks)
    refused: Callable[[], Sequence[str]] = tuple
    flaw: Callable[[Engine], str] = nothing_seen
    adopted: dict[str, int] = field(default_factory=dict)

    def task(self, model: Model) -> Task:
        """What its child will be started for (D38)."""
        if model.weights is Weights.DIFFUSION:
            return Task.IMAGE
        settings = self.settings_for(model.name)
        if not embeds(settings, model.embeds):
            return Task.CHAT
        # Who says `embeddings = true` of a model that ranks wants its vectors.
        return Task.RERANK if model.ranks and settings["embeddings"] is None else Task.EMBED

    def route(self, model: Model) -> Route:
        """Which build serves it, and why not the others. Raises `Unserved`."""
        engines = self.engines.list_engines()
        return lane_for(self._subject(model, engines), engines, frozenset(self.drivers), self.rules())

    def rejected(self, model: Model) -> tuple[Rejected, ...]:
        """Every lane with its reason, for a model that nothing can serve."""
        engines = self.engines.list_engines()
        return rejections(self._subject(model, engines), engines, frozenset(self.drivers), self.rules())

    def detour(self, launch: Launch, said: Sequence[str]) -> Detour | None:
        """Where a model goes after a child died while loading, if its last lines say that it does not know the architecture.

        From then on its build is not asked for that architecture again.
        """
        if not self.lacks.note(launch.engine, launch.model, said):
            return None
        engines = self.engines.list_engines()
        error = architecture_unserved(self._subject(launch.model, engines), engines)
        with suppress(Unserved):
            return Detour(self.route(launch.model).engine, error)
        return Detour(None, error)

    def _subject(self, model: Model, engines: Sequence[Engine]) -> Subject:
        arch, lacking = model.arch or self.lacks.named(model), self.lacks.tags(model, engines)
        return Subject(model.weights, arch, self.pin(model), lacking, tuple(self.curated(arch)) if lacking else ())

    def pin(self, model: Model) -> str:
        """The engine that its override names: a build or a kind; "" where it has none."""
        return str(self.settings_for(model.name)["engine"])

    def plan(self, model: Model, key: str = "", ctx: int = 0, usage: Usage = NOBODY, *, vision: bool = False) -> Launch:
        """Everything a spawn needs. `ctx` is a wish for a larger window (case B8), `usage` what others take of the machine.

        `vision`: it is to take pictures, where the model has a projector. The verdict may be a refusal; then the launch is what comes nearest.

        Raises `Unserved`, and `Malformed` for extra arguments that the build does not know or that are ours to say.
        """
        engine, driver = self._served(model)
        brief, prepared, beside = self._brief(model, engine, self._prepared(model, engine), vision=vision)
        prepared = self._drafting(prepared, driver.drafts(brief), brief.shape)
        sized = self.sized(model, engine, prepared, ctx, usage)
        brief, notes = _decided(brief, prepared, ctx, sized)
        compiled = self._compiled(driver, self._spread(brief, engine, usage))
        endpoint = endpoint_for(prepared.settings, key or model.name, driver, self.places.socket)
        plan = LaunchPlan(
            key=key or model.name,
            model=model.name,
            kind=engine.kind,
            tag=engine.tag,
            words=(*engine.words, *compiled.words),
            env=_environment(compiled, prepared),
            notes=(*notes, *beside.notes, *compiled.notes, *endpoint.notes),
            ctx=_window(brief, engine),
            ctx_key="ctx" if _window(brief, engine) == brief.ctx else "kv_unified_per_slot",
            slots=_slots(prepared, sized) if driver.manners.slotted else 1,
            weights=model.size,
            decisions=compiled.decisions,
            socket=endpoint.socket,
            auth=endpoint.auth,
            listed=spelled(driver.manners.listed_as, model),
        )
        return Launch(
            plan,
            model,
            engine,
            driver.load_cap_secs,
            ctx,
            sized,
            _workers(driver, compiled.words),
            vision=vision,
            projector=engine.kind is EngineKind.LLAMACPP and brief.task is Task.CHAT and not beside.blind,
            blind=beside.blind,
            manners=driver.manners,
            called=spelled(driver.manners.asked_as, model),
            handling=self._handling(model, engine, driver.guesses(compiled.words)),
            why=self.route(model).why,
        )

    def _handling(self, model: Model, engine: Engine, guesses: bool) -> Handling:
        return Handling(self.toolless(model), self._late(model, engine), guesses, self._lacks(model, thoughtless))

    def _prepared(self, model: Model, engine: Engine) -> Preparation:
        prepared = self.sizing.prepare(self.settings_for(model.name), engine.kind)
        return replace(prepared, adopted=self.adopted.get(model.name, 0))

    def _whole(self, model: Model, engine: Engine) -> Engine:
        """Raises `EngineBroken` for a build that cannot run: which other one is to serve is a person's choice (D20)."""
        if flaw := self.flaw(engine):
            rows = [one for one in self.engines.list_engines() if one.kind is engine.kind]
            best = min((RANK[one.provenance] for one in rows), default=0)  # what ranks behind may not be chosen
            whole = newest_first(one.tag for one in rows if RANK[one.provenance] == best and not self.flaw(one))
            whole = [] if self.pin(model) == engine.tag else whole  # the active one is not asked for
            raise EngineBroken(teaching.engine_broken(engine.tag, engine.kind, flaw, whole))
        return engine

    def _served(self, model: Model) -> tuple[Engine, Driver]:
        """Who serves it. A kind without such a route would answer every request with a 404, so that it is not even planned."""
        engine = self._whole(model, self.route(model).engine)
        driver = self.drivers[engine.kind]
        if self.task(model) not in driver.manners.tasks:
            ranks = self.task(model) is Task.RERANK
            say = teaching.kind_ranks_nothing if ranks else teaching.kind_makes_no_embeddings
            raise Malformed(say(model.name, driver.manners.name), "model")
        return engine, driver

    def takes_pictures(self, model: Model) -> bool:
        """Whether a request with pictures would get a child with a projector; of other kinds than llama.cpp nothing is claimed."""
        seen = self._pictured(model)
        return seen is not None and not seen.blind

    def _late(self, model: Model, engine: Engine) -> str:
        """How the gateway makes one vector of those that this child gives for tokens; empty: it makes one itself."""
        told = self.settings_for(model.name)["late_chunking"] and engine.kind is EngineKind.LLAMACPP
        return POOLINGS.get(model.pooling or 0, MEAN) if told and self.task(model) is Task.EMBED else ""

    def words_tools(self, model: Model) -> bool:
        """Whether tools are written into its conversations: a person marked it so. Other kinds than llama.cpp have no route for it."""
        if self.task(model) is not Task.CHAT or not self.settings_for(model.name)["ollama_compat"]:
            return False
        with suppress(Refusal):
            return self.route(model).engine.kind is EngineKind.LLAMACPP
        return False

    def toolless(self, model: Model) -> bool:
        """Whether tools would be lost on it; of other kinds than llama.cpp nothing is claimed."""
        return self._lacks(model, toolless)

    def _lacks(self, model: Model, what: Callable[[Model, Mapping[str, Any], WeightFiles], bool]) -> bool:
        if self.task(model) is not Task.CHAT or not what(model, self.settings_for(model.name), self.sizing.files):
            return False
        with suppress(Refusal):
            return self.route(model).engine.kind is EngineKind.LLAMACPP
        return False

    def projector(self, model: Model) -> str:
        """The file of that projector; empty where there is none, or a person's own words name it."""
        seen = self._pictured(model)
        return seen.projector if seen is not None else ""

    def _pictured(self, model: Model) -> Belongings | None:
        try:
            engine = self.route(model).engine
            if engine.kind is not EngineKind.LLAMACPP or self.task(model) is not Task.CHAT:
                return None
            prepared = self.sizing.prepare(self.settings_for(model.name), engine.kind)
            return belongings(model, prepared, self.sizing.files, self.places, vision=True)
        except Refusal:
            return None

    def _spread(self, brief: Brief, engine: Engine, usage: Usage) -> Brief:
        if engine.kind not in SPREADING:
            return brief
        return replace(brief, placement=self.sizing.machine(engine, usage))

    def _compiled(self, driver: Driver, brief: Brief) -> Compiled:
        """The child's command line, with every file that it names looked for."""
        compiled = compile_launch(driver, brief)
        look_for(told_paths(driver.paths, compiled.decisions), brief, self.sizing.files, self.places.socket)
        return compiled

    def _brief(
        self, model: Model, engine: Engine, prepared: Preparation, *, vision: bool
    ) -> tuple[Brief, Preparation, Belongings]:
        """Everything that is known before anything is planned, with what is loaded beside the model."""
        task, beside = self.task(model), Belongings(Places())
        if engine.kind is EngineKind.LLAMACPP:
            wanted = vision if task is Task.CHAT else None
            beside = belongings(model, prepared, self.sizing.files, self.places, vision=wanted)
        if beside.encoder is not None:
            prepared = prepared.with_projector(beside.encoder)
        raw = self.settings_for(model.name)
        brief = Brief(
            settings={**prepared.settings, **{key: raw[key] for key in ADDED}},
            model=model,
            machine=self.hardware.read(),
            manifest=self.probe.manifest(engine),
            tag=engine.tag,
            origins=self.origins_for(model.name),
            task=task,
            vision=bool(beside.projector),
            shape=self.sizing.facts(model) if engine.kind in SPREADING else self.sizing.shape(model, engine),
            beside=self._parts(model)._replace(projector=beside.projector),
            places=beside.places,
        )
        return brief, prepared, beside

    def _parts(self, model: Model) -> Beside:
        """Without the row's draft where that is gone: an engine that is told of it would end itself, and the model needs none."""
        found = self.beside_for(model)
        gone = model.draft and found.draft == model.draft and self.sizing.files.missing((model.draft,))
        return found._replace(draft="", draft_family="") if gone else found

    def _drafting(self, prepared: Preparation, drafts: Drafts, shape: ModelShape | None) -> Preparation:
        """With what guesses tokens: a second model is loaded, and heads are a small model of the same file."""
        draft = None
        if drafts.file:
            with suppress(BadModelFile, BadShape, NotFound):  # the engine says better what is wrong with it
                draft = self.sizing.files.shape(self.sizing.files.inspect(drafts.file).files)
        elif drafts.heads and shape is not None:
            draft = heads_of(shape)
        return prepared.drafting(drafts.most, draft)

    def sized(
        self, model: Model, engine: Engine, prepared: Preparation, ctx: int = 0, usage: Usage = NOBODY
    ) -> Sized | None:
        """What its load comes to; None where that cannot be counted.

        A request's own window is kept to where the default one would have to give way.
        """
        shape = self.sizing.shape(model, engine)
        if shape is None:
            return None
        machine = self.sizing.machine(engine, usage, prepared.settings["rpc_servers"])
        embedding, trained = self.task(model).pools, model.ctx_train
        asked = prepared.asked(trained, machine, embeds=embedding, wish=ctx)
        verdict = asked.plan(shape, machine)
        if asked.cap and verdict.ctx < ctx:
            asked = prepared.with_window(ctx).asked(trained, machine, embeds=embedding)
            verdict = asked.plan(shape, machine)
        return Sized(verdict, asked.settings, asked.cap, asked.stretched(shape), machine)


def _decided(brief: Brief, prepared: Preparation, wish: int, sized: Sized | None) -> tuple[Brief, tuple[str, ...]]:
    """The brief with its plan, and what has to be said of that. A plan that found no place decides nothing."""
    window = prepared.window(brief.model.ctx_train, wish)
    if sized is None:
        return replace(brief, ctx=window.ctx, ctx_size=window.ctx_size), window.notes + prepared.notes
    verdict = sized.verdict
    placed = verdict.placed
    decided = replace(
        brief,
        verdict=verdict,
        placement=sized.machine,
        ctx=verdict.ctx if placed else window.ctx,
        ctx_size=verdict.settings.ctx if placed else window.ctx_size,
    )
    return decided, verdict.notes


def _window(brief: Brief, engine: Engine) -> int:
    """What one request may fill: a slot's share of a common cache may be held to less than the window."""
    bound = slot_bound(brief.settings) if engine.kind is EngineKind.LLAMACPP else 0
    return min(brief.ctx, bound) if bound > 0 else brief.ctx


def _environment(compiled: Compiled, prepared: Preparation) -> tuple[tuple[str, str], ...]:
    """A person's wins over the plan's."""
    return tuple(sorted((dict(compiled.env) | prepared.settings["engine_env"]).items()))


def _workers(driver: Driver, words: Sequence[str]) -> str:
    """Whom the child will be told of. Of several times the last one counts, as for the engine."""
    said = [value for word, value in pairwise(words) if word == driver.workers_flag]
    return said[-1] if said else ""


def _slots(prepared: Preparation, sized: Sized | None) -> int:
    """Requests at once. Of an engine whose memory nobody counts, what configuration says."""
    if sized is not None and sized.verdict.placed:
        return sized.verdict.settings.parallel
    return slots_for(prepared.settings) or 1
