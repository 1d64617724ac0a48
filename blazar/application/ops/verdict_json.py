"""A verdict as JSON, the same for `/api/fit`, `/api/explain` and the command line. Bytes are integers; nothing is worked out here."""

from typing import Any

from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.verdict import Share, Verdict

_PARTS = ("weights", "kv", "recurrent", "compute", "projector", "draft", "lora")
"""What memory goes to, by the names that `Memory` (`…_bytes`) and `Share` give it."""


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Outcome and sentence first, then the sums, the places, what was chosen, and what could be turned."""
    return {
        "outcome": verdict.outcome.value,
        "fits": verdict.fits,
        "sentence": verdict.sentence,
        "exact_bytes": verdict.exact_bytes,
        "floor_bytes": verdict.floor_bytes,
        "admission_bytes": verdict.admission_bytes,
        "memory": _memory(verdict.memory),
        "devices": [_share(share) for share in verdict.shares],
        "chosen": _chosen(verdict.settings) | {"ctx": verdict.ctx, "gpu_layers": verdict.gpu_layers},
        "pins": list(verdict.pins),
        "evict": list(verdict.evict),
        "levers": list(verdict.levers),
        "notes": list(verdict.notes),
    }


def _memory(memory: Memory) -> dict[str, Any]:
    parts: dict[str, Any] = {part: getattr(memory, f"{part}_bytes") for part in _PARTS}
    caches = [
        {
            "name": cache.name,
            "cells": cache.cells,
            "streams": cache.streams,
            "layers": len(cache.layers),
            "k": cache.k_bytes,
            "v": cache.v_bytes,
        }
        for cache in memory.caches
    ]
    return parts | {
        "total": memory.total_bytes,
        "caches": caches,
        "upper_bound": memory.upper_bound,
        "refused": memory.refused,
    }


def _share(share: Share) -> dict[str, Any]:
    placed = {part: getattr(share, part) for part in _PARTS}
    sizes = {"total": share.total, "free": share.free, "used": share.used}
    kept = {"margin": share.margin, "mapped": share.mapped, "headroom": share.headroom, "floor": share.floor}
    return {"device": share.device, **sizes, **placed, **kept}


def _chosen(settings: Settings) -> dict[str, Any]:
    return {
        "ctx_size": settings.ctx,
        "slots": settings.parallel,
        "kv_unified": settings.kv_unified,
        "cache_type_k": settings.cache_type_k,
        "cache_type_v": settings.cache_type_v,
        "batch_size": settings.batch,
        "ubatch_size": settings.ubatch,
        "cpu_moe_n": settings.cpu_moe_n,
        "cpu_ffn_n": settings.cpu_ffn_n,
        "tensor_split": list(settings.tensor_split),
        "devices": list(settings.devices),
    }
