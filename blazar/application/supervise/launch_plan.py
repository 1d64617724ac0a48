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
from blazar.application.supervise.surroundings import Launch
from blazar.domain import teaching
from blazar.domain.argv import compile_argv
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.records import Engine, Machine, Model
from blazar.domain.routing import Rejected, Route, lane_for, rejections

LONGEST_EMBED_BATCH = 8192
"""An embedding model reads its whole input in one micro-batch and answers 500 beyond it, so that must be its window."""
CACHE_RAM_SHARE = 0.3
"""Of the machine's memory. An unclamped budget was measured to swap-kill a machine (contract): keep the cap."""
SUPPLIED = frozenset({"model_path", "alias", "ctx_size", "pooling"})
"""Settings that flag tables may name beside the configuration's: only the planner knows them."""
_NUMBER = re.compile(r"-[\d.]")


class Window(NamedTuple):
    """Tokens: one request's window, and what the engine is told (D30)."""

    ctx: int
    ctx_size: int
    notes: tuple[str, ...] = ()


def window_for(settings: Mapping[str, Any], trained: int, slots: int, wish: int = 0) -> Window:
    """The configured window or a larger wish, never beyond what the model was trained for (0: unknown)."""
    asked = max(settings["ctx"] or settings["default_ctx"], wish)
    ctx = min(asked, trained) if trained > 0 else asked
    # The default is no promise: only a window that somebody chose is worth a note when it shrinks.
    chosen = max(settings["ctx"] or 0, wish)
    notes = (teaching.ctx_clamped(chosen, trained),) if chosen > ctx else ()
    return Window(ctx, ctx if unified(settings, slots) else ctx * slots, notes)


def unified(settings: Mapping[str, Any], slots: int) -> bool:
    """Whether all slots share one cache; unset: as soon as there is more than one."""
    configured: bool | None = settings["kv_unified"]
    return slots > 1 if configured is None else configured


def slots_for(settings: Mapping[str, Any]) -> int:
    """Parallel requests; 1 until a planner measures (D30), and always when answers must be reproducible."""
    return 1 if settings["deterministic"] else max(1, settings["slots"])


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

    def plan(self, model: Model, key: str = "", ctx: int = 0) -> Launch:
        """Everything a spawn needs. `ctx` is a wish for a larger window (case B8).

        Raises `Unserved`, and `Malformed` for extra arguments that the build does not know or that are ours to say.
        """
        engine = self.route(model).engine
        driver = self.drivers[engine.kind]
        settings = self.settings_for(model.name)
        slots = slots_for(settings)
        window = window_for(settings, model.ctx_train, slots, ctx)
        told = {**settings, **self._resolved(model, settings, slots), "ctx_size": window.ctx_size}
        if told["embeddings"]:
            batch = min(window.ctx, LONGEST_EMBED_BATCH)
            told |= {name: settings[name] or batch for name in ("batch_size", "ubatch_size")}
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
            env=tuple(sorted(settings["engine_env"].items())),
            notes=window.notes + unknown,
            ctx=window.ctx,
            slots=slots,
            weights=model.size,
        )
        return Launch(plan, model, engine, driver.load_cap_secs)

    def _resolved(self, model: Model, settings: Mapping[str, Any], slots: int) -> dict[str, Any]:
        """The keys whose value is worked out here and not copied."""
        machine = self.hardware.read()
        embeds = self.task(model) is Task.EMBED
        threads = settings["threads"] or machine.cores  # D23, D39
        return {
            # Of a shard set the first: the engine finds the others (case G11: never none).
            "model_path": model.files[0],
            "alias": model.name,
            "slots": slots,
            "kv_unified": unified(settings, slots),
            "threads": threads,
            # ODD: the engine takes every processor for prompts when it is told only --threads, whatever its help says.
            "threads_batch": settings["threads_batch"] or threads,
            "embeddings": embeds,
            # A chat model that is told to embed has no pooling of its own; the engine needs one (D38).
            "pooling": "mean" if embeds and not model.embeds else "",
            "cache_ram_mb": _capped_cache(settings["cache_ram_mb"], machine),
        }


def _capped_cache(configured: int, machine: Machine) -> int:
    """MiB. Where the machine's memory is unknown (0) there is nothing to cap by."""
    share = int(machine.ram_total * CACHE_RAM_SHARE) // 2**20
    return min(configured, share) if share else configured
