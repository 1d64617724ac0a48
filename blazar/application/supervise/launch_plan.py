"""Model, engine and settings to one LaunchPlan: what the child will be told. Starts nothing and keeps nothing.

Resolves what configuration leaves open (window, slots, threads, cache types, embeddings) into the flat mapping that the
engine's flag table reads; everything else is passed through as configured, and the table ignores what it does not know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.drivers import Driver, FlagProbe
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.supervise.surroundings import Launch
from blazar.domain import teaching
from blazar.domain.argv import compile_argv
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.records import Machine, Model
from blazar.domain.routing import Rejected, Route, lane_for, rejections

LONGEST_EMBED_BATCH = 8192
"""An embedding model reads its whole input in one micro-batch and answers 500 beyond it, so that must be its window."""
CACHE_RAM_SHARE = 0.3
"""Of the machine's memory. An unclamped budget was measured to swap-kill a machine (contract): keep the cap."""


class Window(NamedTuple):
    """Tokens: one request's window, and what the engine is told (D30)."""

    ctx: int
    ctx_size: int
    notes: tuple[str, ...] = ()


def window_for(settings: Mapping[str, Any], trained: int, slots: int, wish: int = 0) -> Window:
    """The configured window or a larger wish, never beyond what the model was trained for (0: unknown)."""
    asked = max(int(settings.get("ctx") or settings["default_ctx"]), wish)
    ctx = min(asked, trained) if trained > 0 else asked
    # The default is no promise: only a window that somebody chose is worth a note when it shrinks.
    chosen = bool(settings.get("ctx")) or asked == wish
    notes = (teaching.ctx_clamped(asked, trained),) if ctx < asked and chosen else ()
    per_slot = int(settings.get("kv_unified_per_slot") or 0)
    pool = max(ctx, per_slot * slots) if per_slot else ctx
    return Window(ctx, pool if unified(settings, slots) else ctx * slots, notes)


def unified(settings: Mapping[str, Any], slots: int) -> bool:
    """Whether all slots share one cache; unset: as soon as there is more than one."""
    configured = settings.get("kv_unified")
    return slots > 1 if configured is None else bool(configured)


def slots_for(settings: Mapping[str, Any]) -> int:
    """Parallel requests; 1 until a planner measures (D30), and always when answers must be reproducible."""
    return 1 if settings.get("deterministic") else max(1, int(settings.get("slots") or 1))


def cache_types(settings: Mapping[str, Any]) -> tuple[str, str]:
    """K and V. A side that is set wins over `cache_type`; a lone side mirrors to the other when there is no other grade."""
    both = str(settings.get("cache_type") or "")
    k, v = (str(settings.get(f"cache_type_{side}") or "") for side in "kv")
    return k or both or v, v or both or k


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
        return Task.EMBED if model.embeds or self.settings_for(model.name).get("embeddings") else Task.CHAT

    def route(self, model: Model) -> Route:
        """Which build serves it, and why not the others. Raises `Unserved`."""
        return lane_for(model.weights, self.engines.list_engines(), frozenset(self.drivers), self._pin(model))

    def rejected(self, model: Model) -> tuple[Rejected, ...]:
        """Every lane with its reason, for a model that nothing can serve."""
        return rejections(model.weights, self.engines.list_engines(), frozenset(self.drivers), self._pin(model))

    def _pin(self, model: Model) -> str:
        return str(self.settings_for(model.name).get("engine") or "")

    def plan(self, model: Model, key: str = "", ctx: int = 0) -> Launch:
        """Everything a spawn needs. `ctx` is a wish for a larger window (case B8). Raises `Unserved`."""
        engine = self.route(model).engine
        driver = self.drivers[engine.kind]
        settings = self.settings_for(model.name)
        slots = slots_for(settings)
        window = window_for(settings, model.ctx_train, slots, ctx)
        told = {**settings, **self._resolved(model, settings, slots), "ctx_size": window.ctx_size}
        if told["embeddings"]:
            batch = min(window.ctx, LONGEST_EMBED_BATCH)
            told |= {name: settings.get(name) or batch for name in ("batch_size", "ubatch_size")}
        argv = compile_argv(driver.flags, told, self.probe.known_flags(engine))
        unknown = tuple(teaching.flag_unknown_to_engine(flag, engine.tag) for flag in argv.unknown)
        plan = LaunchPlan(
            key=key or model.name,
            model=model.name,
            kind=engine.kind,
            tag=engine.tag,
            words=(*engine.words, *argv.words, *(str(word) for word in settings.get("extra_args") or ())),
            env=tuple(sorted((str(name), str(text)) for name, text in (settings.get("engine_env") or {}).items())),
            notes=window.notes + unknown,
            ctx=window.ctx,
            slots=slots,
            weights=model.size,
        )
        return Launch(plan, model, engine, driver.load_cap_secs)

    def _resolved(self, model: Model, settings: Mapping[str, Any], slots: int) -> dict[str, Any]:
        """The keys whose value is worked out here and not copied."""
        machine = self.hardware.read()
        cache_k, cache_v = cache_types(settings)
        embeds = self.task(model) is Task.EMBED
        return {
            "model_path": model.files[
                0
            ],  # of a shard set the first: the engine finds the others (case G11: never without)
            "alias": model.name,
            "slots": slots,
            "kv_unified": unified(settings, slots),
            "threads": int(settings.get("threads") or 0) or machine.cores,  # D23, D39
            "cache_type_k": cache_k,
            "cache_type_v": cache_v,
            "embeddings": embeds,
            # A chat model that is told to embed has no pooling of its own; the engine needs one (D38).
            "pooling": settings.get("pooling") or ("mean" if embeds and not model.embeds else ""),
            "cache_ram_mb": _capped_cache(settings.get("cache_ram_mb"), machine),
        }


def _capped_cache(configured: Any, machine: Machine) -> int | None:
    if configured is None:
        return None
    share = int(machine.ram_total * CACHE_RAM_SHARE) // 2**20
    return min(int(configured), share) if share else int(configured)
