"""A verdict in the words of the flag table: what the child is told so that it does what was planned. Plans nothing.

What the engine would do by itself is not said: on a machine without accelerators a plan adds no word. What a person has
configured stays as it is written.
"""

from collections.abc import Mapping
from typing import Any

from blazar.application.supervise.fit_settings import unified
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.settings import NO_DEVICE, Settings
from blazar.domain.fit.shards import pins
from blazar.domain.fit.verdict import Verdict

CUDA_ORDER = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
"""Without it CUDA puts its fastest card first, and CUDA0 is another card to the child than to the census (CUDA's programming guide)."""
_OWN_TYPE = "f16"
"""The engine's cache type unless it is told another."""


def flags_for(verdict: Verdict, settings: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
    """Settings by the flag table's keys, for the decided window, slots, cache types and places."""
    chosen = verdict.settings
    slots = chosen.parallel
    told: dict[str, Any] = {"ctx_size": chosen.ctx, "slots": slots, "kv_unified": unified(settings, slots)}
    if told["kv_unified"] and chosen.ctx > verdict.ctx:
        # Else one long request could take the windows that were promised to the others.
        told["kv_unified_per_slot"] = verdict.ctx
    for key, kind in (("cache_type_k", chosen.cache_type_k), ("cache_type_v", chosen.cache_type_v)):
        told[key] = settings[key] or ("" if kind == _OWN_TYPE else kind)
    if not machine.pool:
        return told
    told |= {"gpu_layers": verdict.gpu_layers, **_beside(chosen, settings)}
    # Who splits by rows or names a main GPU has placed the model himself; a share or a device list of ours would undo that.
    if settings["split_mode"] in ("", "layer") and settings["main_gpu"] < 0:
        # Without a layer for it too: told no device, a child would set up every card all the same.
        told["devices"] = tuple(settings["devices"]) or chosen.devices
        told["tensor_split"] = _split(settings["tensor_split"], chosen)
    return told


def _split(configured: str, chosen: Settings) -> str:
    """Ratios as they are written, unless they have nothing for every device: that leaves the split to the plan."""
    some = any(float(part) for part in configured.split(",")[: len(chosen.devices)] if part)
    return configured if some else ",".join(f"{part:g}" for part in chosen.tensor_split)


def _beside(chosen: Settings, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where projector and draft go. The engine would put the one on its first device, and share out the other as it likes."""
    told: dict[str, Any] = {}
    if chosen.projector:
        told |= {"mmproj_offload": chosen.projector_offload, "mmproj_device": chosen.projector_device}
    if chosen.draft and (own := chosen.draft.settings).gpu_layers == 0:
        told |= {"spec_draft_ngl": 0, "spec_draft_device": settings["spec_draft_device"] or NO_DEVICE}
    elif chosen.draft:
        told["spec_draft_device"] = settings["spec_draft_device"] or ",".join(own.devices)
    return told


def env_for(verdict: Verdict, machine: Machine) -> dict[str, str]:
    """Variables that keep devices' names and the plan's cards together; empty where no card of CUDA's is planned with.

    A child over several cards is held to them where there is no doubt which these are (`shards.pins`). ODD: in doubt the environment
    stays untouched (setup document). One card is named by `--device` alone, for among the visible ones it would be numbered anew.
    """
    chosen = [device for device in machine.pool if device.name in verdict.pins]
    if not any(device.kind == "cuda" for device in chosen):
        return {}
    return dict(pins(machine, chosen) if len(chosen) > 1 else [CUDA_ORDER])
