"""Configuration to what the planner is asked: one request's window, slots, cache types, places. Decides no byte and no device.

Settings are read by index, so that a key which configuration does not declare is an error at once. What a caller imagines
(`blazar fit --ctx`) comes in as the configuration's own keys with other values.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.fit.settings import NO_DEVICE, Draft, Settings
from blazar.domain.fit.shape import Projector

LONGEST_EMBED_BATCH = 8192
"""An embedding model reads its whole input in one micro-batch and answers 500 beyond it, so that must be its window."""
ENGINE_BATCH, ENGINE_UBATCH = 2048, 512
"""What llama.cpp b11434 takes for `--batch-size` and `--ubatch-size` when it is told neither (its common/common.h)."""


class Window(NamedTuple):
    """Tokens: one request's window, and what the engine is told (D30)."""

    ctx: int
    ctx_size: int
    notes: tuple[str, ...] = ()


class Extras(NamedTuple):
    """What is loaded beside the model, where somebody named it: a projector, a speculating model, adapters (bytes).

    `drafted`: tokens that are guessed at once and checked together.
    """

    projector: Projector | None = None
    draft: Draft | None = None
    lora_bytes: tuple[int, ...] = ()
    drafted: int = 0


def window_for(settings: Mapping[str, Any], trained: int, slots: int, wish: int = 0) -> Window:
    """The configured window or a larger wish, never beyond what the model was trained for (0: unknown)."""
    asked = max(settings["ctx"] or settings["default_ctx"], wish)
    trained = extended(settings, trained)
    ctx = min(asked, trained) if trained > 0 else asked
    # The default is no promise: only a window that somebody chose is worth a note when it shrinks.
    chosen = max(settings["ctx"] or 0, wish)
    notes = (teaching.ctx_clamped(chosen, trained),) if chosen > ctx else ()
    return Window(ctx, ctx if unified(settings, slots) else ctx * slots, notes)


def extended(settings: Mapping[str, Any], trained: int) -> int:
    """The window that a model is used up to: the trained one, stretched by YaRN where somebody asked for it.

    ODD: a window before it is stretched may be a shorter one: yarn_orig_ctx takes the place of the trained one
    (llama_init_from_model).
    """
    factor: float = settings["ctx_extend"]
    return int((settings["yarn_orig_ctx"] or trained) * factor) if factor > 1 else trained


def unified(settings: Mapping[str, Any], slots: int) -> bool:
    """Whether all slots share one cache; unset: as soon as there is more than one."""
    configured: bool | None = settings["kv_unified"]
    return slots > 1 if configured is None else configured


def slots_for(settings: Mapping[str, Any]) -> int:
    """Parallel requests that somebody chose, 0 where it is left to the planner.

    ODD: deterministic answers have one slot, whatever was said: several in one batch could tip a choice.
    """
    chosen: int = settings["slots"]
    return 1 if settings["deterministic"] else chosen


def batches_for(settings: Mapping[str, Any], ctx: int, *, embeds: bool) -> tuple[int, int]:
    """Tokens of the logical and the physical batch as the engine is told them; 0: its own."""
    own = min(ctx, LONGEST_EMBED_BATCH) if embeds else 0
    return settings["batch_size"] or own, settings["ubatch_size"] or own


def fit_settings(
    settings: Mapping[str, Any], trained: int = 0, wish: int = 0, *, embeds: bool = False, extras: Extras | None = None
) -> Settings:
    """The load that the effective configuration of one model (`Config.settings_for`) asks for; what it leaves open stays open.

    `trained` is the model's window (0: unknown), `wish` a request's for a larger one (case B8), both in tokens. Where the
    slots are open, the cache is a shared one unless configuration says otherwise: it is what more than one slot would get.
    """
    slots = slots_for(settings)
    shared = unified(settings, slots or 2)
    window = window_for(settings, trained, slots or 1, wish)
    batch, ubatch = batches_for(settings, window.ctx, embeds=embeds)
    beside = extras or Extras()
    return Settings(
        ctx=window.ctx if shared else window.ctx_size,
        parallel=slots,
        cache_type_k=settings["cache_type_k"],
        cache_type_v=settings["cache_type_v"],
        batch=batch or ENGINE_BATCH,
        ubatch=ubatch or ENGINE_UBATCH,
        swa_full=settings["swa_full"],
        kv_unified=shared,
        kv_offload=not settings["no_kv_offload"],
        mmap=settings["load_mode"] in ("", "mmap"),
        repack=settings["repack"],
        cpu_moe_n=settings["cpu_moe_n"],
        cpu_ffn_n=settings["cpu_ffn_n"],
        override_tensor=tuple(_override(item) for item in settings["override_tensor"]),
        tensor_preset=settings["tensor_preset"],
        tensor_split=tuple(float(part) for part in settings["tensor_split"].split(",") if part),
        devices=tuple(settings["devices"]),
        projector=beside.projector,
        projector_offload=settings["mmproj_offload"] and settings["mmproj_device"] != NO_DEVICE,
        projector_device=settings["mmproj_device"].replace(NO_DEVICE, ""),
        drafted=beside.drafted,
        draft=beside.draft,
        lora_bytes=beside.lora_bytes,
    )


def cap_for(settings: Mapping[str, Any], trained: int, wish: int = 0) -> int:
    """Tokens up to which the planner may choose a window itself; 0 where somebody chose one.

    The default is no promise: where it does not fit, a smaller window is better than none (case F14).
    """
    window = window_for(settings, trained, 1, wish).ctx
    return 0 if settings["ctx"] or wish >= window else window


def _override(item: str) -> tuple[str, str]:
    pattern, _, buffer = item.partition("=")
    return pattern, buffer
