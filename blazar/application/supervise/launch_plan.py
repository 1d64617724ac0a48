"""Model, engine and settings to one LaunchPlan: what the child will be told. Starts nothing and keeps nothing.

Resolves what configuration leaves open (window, slots, threads, embeddings) into the flat mapping that the engine's flag
table reads; everything else is passed through as configured. Settings are read by index, so that a key which configuration
does not declare is an error at once and not an option without effect.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.drivers import Driver, FlagProbe
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.supervise.charges import NOBODY, Usage
from blazar.application.supervise.fit_settings import Window, batches_for, slots_for, unified
from blazar.application.supervise.preparation import Preparation, embeds
from blazar.application.supervise.prompt_cache import prompt_cache
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Launch, Sized
from blazar.application.supervise.verdict_flags import env_for, flags_for
from blazar.domain import teaching
from blazar.domain.argv import compile_argv
from blazar.domain.errors import Malformed
from blazar.domain.fit.budget import cache_ram_cap
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.records import Engine, Machine, Model
from blazar.domain.routing import Rejected, Route, lane_for, rejections

SUPPLIED = frozenset(
    {
        *("model_path", "alias", "ctx_size", "pooling", "gpu_layers", "kv_unified_per_slot"),
        *("projector_offload", "projector_device", "draft_gpu_layers", "draft_devices"),
    }
)
"""Settings that flag tables may name beside the configuration's: only the planner knows them."""
_NUMBER = re.compile(r"-[\d.]")


def checked_extra(words: Sequence[str], engine: Engine, known: Collection[str], reserved: Collection[str]) -> None:
    """Judge the words that a person adds to a command line. Raises `Malformed` naming the flag.

    A build that could not be asked (`known` is empty) is trusted. A negative number is a value (case I4).
    """
    for word in words:
        if not word.startswith("-") or word == "-" or _NUMBER.match(word):
            continue
        flag = word.partition("=")[0]
        # llama-server reads --api_key as --api-key.
        if flag in reserved or flag.replace("_", "-") in reserved:
            raise Malformed(teaching.extra_arg_reserved(flag), "extra_args")
        if word != flag and flag in known:
            raise Malformed(teaching.extra_arg_joined(word, flag), "extra_args")
        if known and word not in known:
            raise Malformed(teaching.extra_arg_unknown(flag, engine.tag), "extra_args")


@dataclass(frozen=True, slots=True)
class LaunchPlanner:
    """Plans launches from the catalogs as they are now.

    `settings_for(name)` is the effective flat configuration of one model. `probe` may have to run a binary once: warm it
    off the loop.
    """

    engines: EngineCatalog
    drivers: Mapping[EngineKind, Driver]
    probe: FlagProbe
    hardware: HardwareCensus
    settings_for: Callable[[str], Mapping[str, Any]]
    sizing: Sizing

    def task(self, model: Model) -> Task:
        """What its child will be started for (D38)."""
        return Task.EMBED if embeds(self.settings_for(model.name), model.embeds) else Task.CHAT

    def route(self, model: Model) -> Route:
        """Which build serves it, and why not the others. Raises `Unserved`."""
        return lane_for(model.weights, self.engines.list_engines(), frozenset(self.drivers), self._pin(model))

    def rejected(self, model: Model) -> tuple[Rejected, ...]:
        """Every lane with its reason, for a model that nothing can serve."""
        return rejections(model.weights, self.engines.list_engines(), frozenset(self.drivers), self._pin(model))

    def _pin(self, model: Model) -> str:
        return str(self.settings_for(model.name)["engine"])

    def plan(self, model: Model, key: str = "", ctx: int = 0, usage: Usage = NOBODY) -> Launch:
        """Everything a spawn needs. `ctx` is a wish for a larger window (case B8), `usage` what others take of the machine.

        The verdict may be a refusal; then the launch is what comes nearest.

        Raises `Unserved`, and `Malformed` for extra arguments that the build does not know or that are ours to say.
        """
        engine = self.route(model).engine
        driver = self.drivers[engine.kind]
        known = self.probe.known_flags(engine)
        extra = self.settings_for(model.name)["extra_args"]
        checked_extra(extra, engine, known, driver.reserved)
        prepared = self.sizing.prepare(self.settings_for(model.name), engine.kind)
        settings = prepared.settings
        sized = self.sized(model, engine, prepared, ctx, usage)
        shape = _shape(prepared, prepared.window(model.ctx_train, ctx), sized)
        told = {**settings, **self._resolved(model, prepared), **shape.told}
        told["batch_size"], told["ubatch_size"] = batches_for(settings, shape.ctx, embeds=told["embeddings"])
        cache = prompt_cache(settings["cache_ram_mb"], told["cache_ram_mb"], sized)
        told["cache_ram_mb"] = cache.mib
        # What a person says himself is not said twice: it would win, and one of the two lines would be wrong.
        argv = compile_argv(tuple(flag for flag in driver.flags if flag.name not in prepared.extra.ours), told, known)
        unknown = tuple(teaching.flag_unknown_to_engine(flag, engine.tag) for flag in argv.unknown)
        plan = LaunchPlan(
            key=key or model.name,
            model=model.name,
            kind=engine.kind,
            tag=engine.tag,
            words=(*engine.words, *argv.words, *extra),
            env=tuple(sorted((shape.env | settings["engine_env"]).items())),
            notes=shape.notes + cache.notes + unknown,
            ctx=shape.ctx,
            slots=shape.told["slots"],
            weights=model.size,
        )
        return Launch(plan, model, engine, driver.load_cap_secs, ctx, sized, settings["rpc_servers"])

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
        embedding, trained = self.task(model) is Task.EMBED, model.ctx_train
        asked = prepared.asked(trained, machine, embeds=embedding, wish=ctx)
        verdict = asked.plan(shape, machine)
        if asked.cap and verdict.ctx < ctx:
            asked = prepared.with_window(ctx).asked(trained, machine, embeds=embedding)
            verdict = asked.plan(shape, machine)
        return Sized(verdict, asked.settings, asked.cap, shape, machine)

    def _resolved(self, model: Model, prepared: Preparation) -> dict[str, Any]:
        """The keys whose value is worked out here and not copied."""
        settings, machine = prepared.settings, self.hardware.read()
        # What a person adds himself reaches the child as it is written.
        own_cache, cache = "--cache-ram" in prepared.extra.ours, settings["cache_ram_mb"]
        embeds = self.task(model) is Task.EMBED
        threads = settings["threads"] or machine.cores  # D23, D39
        return {
            # Of a shard set the first: the engine finds the others (case G11: never none).
            "model_path": model.files[0],
            "alias": model.name,
            "threads": threads,
            # ODD: the engine takes every processor for prompts when it is told only --threads, whatever its help says.
            "threads_batch": settings["threads_batch"] or threads,
            "embeddings": embeds,
            # A chat model that is told to embed has no pooling of its own; the engine needs one (D38).
            "pooling": "mean" if embeds and not model.embeds else "",
            "cache_ram_mb": cache if own_cache else _capped_cache(cache, machine),
        }


class _Shape(NamedTuple):
    """What a child is told of its size and place: settings by the flag table's keys, variables, one request's window."""

    told: dict[str, Any]
    env: dict[str, str]
    ctx: int
    notes: tuple[str, ...]


def _shape(prepared: Preparation, window: Window, sized: Sized | None) -> _Shape:
    """By the verdict; where there is none, or one that found no place, as configured, with what is open at its least."""
    settings = prepared.settings
    if sized is None or not sized.verdict.placed:
        slots = slots_for(settings) or 1
        told = {"ctx_size": window.ctx_size, "slots": slots, "kv_unified": unified(settings, slots)}
        notes = window.notes + prepared.notes if sized is None else sized.verdict.notes
        return _Shape(told, {}, window.ctx, notes)
    verdict, machine = sized.verdict, sized.machine
    told, env = flags_for(verdict, settings, machine), env_for(verdict, machine)
    return _Shape(told, env, verdict.ctx, verdict.notes)


def _capped_cache(configured: int, machine: Machine) -> int:
    """MiB. Where the machine's memory is unknown (0) there is nothing to cap by."""
    share = cache_ram_cap(machine.ram_total) // 2**20
    return min(configured, share) if share else configured
