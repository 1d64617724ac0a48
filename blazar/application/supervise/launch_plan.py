"""Model, engine and settings to one LaunchPlan: what the child will be told. Starts nothing and keeps nothing.

Resolves what configuration leaves open (window, slots, threads, embeddings) into the flat mapping that the engine's flag
table reads; everything else is passed through as configured. Settings are read by index, so that a key which configuration
does not declare is an error at once and not an option without effect.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.drivers import Driver, FlagProbe
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.supervise.charges import NOBODY, Usage
from blazar.application.supervise.fit_settings import (
    Window,
    batches_for,
    cap_for,
    fit_settings,
    slots_for,
    unified,
    window_for,
)
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Launch, Sized
from blazar.application.supervise.verdict_flags import env_for, flags_for
from blazar.domain import teaching
from blazar.domain.argv import compile_argv
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.records import Engine, Machine, Model
from blazar.domain.routing import Rejected, Route, lane_for, rejections

CACHE_RAM_SHARE = 0.3
"""Of the machine's memory. An unclamped budget was measured to swap-kill a machine (contract): keep the cap."""
SUPPLIED = frozenset({"model_path", "alias", "ctx_size", "pooling", "gpu_layers", "kv_unified_per_slot"})
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
        said: bool | None = self.settings_for(model.name)["embeddings"]
        return Task.EMBED if (model.embeds if said is None else said) else Task.CHAT

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
        settings = self.settings_for(model.name)
        sized = self.sized(model, engine, ctx, usage)
        shape = _shape(settings, window_for(settings, model.ctx_train, slots_for(settings) or 1, ctx), sized)
        told = {**settings, **self._resolved(model, settings), **shape.told}
        told["batch_size"], told["ubatch_size"] = batches_for(settings, shape.ctx, embeds=told["embeddings"])
        known = self.probe.known_flags(engine)
        checked_extra(settings["extra_args"], engine, known, driver.reserved)
        argv = compile_argv(driver.flags, told, known)
        unknown = tuple(teaching.flag_unknown_to_engine(flag, engine.tag) for flag in argv.unknown)
        plan = LaunchPlan(
            key=key or model.name,
            model=model.name,
            kind=engine.kind,
            tag=engine.tag,
            words=(*engine.words, *argv.words, *settings["extra_args"]),
            env=tuple(sorted((shape.env | settings["engine_env"]).items())),
            notes=shape.notes + unknown,
            ctx=shape.ctx,
            slots=shape.told["slots"],
            weights=model.size,
        )
        return Launch(plan, model, engine, driver.load_cap_secs, ctx, sized)

    def sized(self, model: Model, engine: Engine, ctx: int, usage: Usage) -> Sized | None:
        """What its load comes to. A request's own window is kept to where the default one would have to give way."""
        settings, trained = self.settings_for(model.name), model.ctx_train
        embeds = self.task(model) is Task.EMBED
        alone: tuple[str, ...] = ()
        if settings["split_mode"] == "none" and not settings["devices"]:
            alone = self.sizing.main_device(engine, settings["main_gpu"])
        asked, cap = fit_settings(settings, trained, ctx, embeds=embeds), cap_for(settings, trained, ctx)
        asked = replace(asked, devices=asked.devices or alone)
        sized = self.sizing.sized(model, engine, asked, cap, usage)
        if sized is None or not cap or sized.verdict.ctx >= ctx:
            return sized
        wished = fit_settings({**settings, "ctx": ctx}, trained, embeds=embeds)
        return self.sizing.sized(model, engine, replace(wished, devices=asked.devices), usage=usage)

    def _resolved(self, model: Model, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The keys whose value is worked out here and not copied."""
        machine = self.hardware.read()
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
            "cache_ram_mb": _capped_cache(settings["cache_ram_mb"], machine),
        }


class _Shape(NamedTuple):
    """What a child is told of its size and place: settings by the flag table's keys, variables, one request's window."""

    told: dict[str, Any]
    env: dict[str, str]
    ctx: int
    notes: tuple[str, ...]


def _shape(settings: Mapping[str, Any], window: Window, sized: Sized | None) -> _Shape:
    """By the verdict; where there is none, or one that found no place, as configured, with what is open at its least."""
    if sized is None or not sized.verdict.placed:
        slots = slots_for(settings) or 1
        told = {"ctx_size": window.ctx_size, "slots": slots, "kv_unified": unified(settings, slots)}
        return _Shape(told, {}, window.ctx, window.notes)
    verdict, machine = sized.verdict, sized.machine
    told, env = flags_for(verdict, settings, machine), env_for(verdict, machine)
    return _Shape(told, env, verdict.ctx, window.notes + verdict.notes)


def _capped_cache(configured: int, machine: Machine) -> int:
    """MiB. Where the machine's memory is unknown (0) there is nothing to cap by."""
    share = int(machine.ram_total * CACHE_RAM_SHARE) // 2**20
    return min(configured, share) if share else configured
