"""Answers of /api/fit as they come, for tests of what is made of them. The numbers are a plan's, rounded."""

from typing import Any

MIB, GIB = 2**20, 2**30


def device(name: str, total: int, free: int, **parts: int) -> dict[str, Any]:
    """One device's row; MiB."""
    names = ("weights", "kv", "recurrent", "compute", "projector", "draft", "lora")
    row = {part: parts.get(part, 0) * MIB for part in names}
    margin, mapped = parts.get("margin", 0) * MIB, parts.get("mapped", 0) * MIB
    used = sum(row.values())
    sizes = {"total": total * MIB, "free": free * MIB, "used": used}
    return {"device": name, **sizes, **row, "margin": margin, "headroom": free * MIB - used + mapped - margin}


def quant(name: str, gib: float, outcome: str = "fits", **more: Any) -> dict[str, Any]:
    """One row of `quants`."""
    row = {
        "quant": name,
        "size": int(gib * GIB),
        "files": 1,
        "outcome": outcome,
        "sentence": f"{name} {outcome}",
        "whole": True,
        "gpu_layers": 65,
        "ctx": 16384,
        "ctx_up_to": 40960,
        "cache_type_k": "f16",
        "cache_type_v": "f16",
        "exact_bytes": int((gib + 4.5) * GIB),
        "floor_bytes": int(gib * 1.2 * GIB),
        "admission_bytes": int((gib + 6.5) * GIB),
        "estimated": True,
        "take": False,
    }
    return row | more


def answer(*quants: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A 32B model on two imagined cards of 24 GiB, wholly on them."""
    devices = [
        device("host", 65536, 65536, weights=417, compute=24),
        device("CUDA0", 24576, 24576, weights=9100, kv=2048, compute=307, margin=1024),
        device("CUDA1", 24576, 24576, weights=9490, kv=2048, compute=410, margin=1024),
    ]
    memory: dict[str, Any] = {"weights": 19007 * MIB, "kv": 4096 * MIB, "total": 23844 * MIB}
    verdict = {
        "outcome": "fits",
        "fits": True,
        "sentence": "fits: 22.9 GiB on CUDA0 and CUDA1, 23.1 GiB stay free",
        "exact_bytes": 23844 * MIB,
        "floor_bytes": 22400 * MIB,
        "admission_bytes": 25892 * MIB,
        "memory": memory | {"upper_bound": False, "refused": None},
        "devices": devices,
        "chosen": {
            "ctx": 16384,
            "slots": 1,
            "kv_unified": True,
            "cache_type_k": "f16",
            "cache_type_v": "f16",
            "gpu_layers": 65,
        },
        "pins": [],
        "evict": [],
        "levers": [],
        "notes": [],
    }
    cards = [{"name": f"CUDA{at}", "kind": "cuda", "total": 24 * GIB, "free": 24 * GIB, "label": ""} for at in (0, 1)]
    ram = 64 * GIB
    return {
        "target": "hf:me/big",
        "source": "hf",
        "model": "hf:me/big",
        "machine": {"imagined": True, "ram_total": ram, "ram_available": ram, "devices": cards},
        "quant": "Q4_K_M",
        "take": "Q4_K_M",
        "verdict": verdict,
        "quants": list(quants) or [quant("Q4_K_M", 18.5, estimated=False, take=True)],
        "alternatives": [],
        "notes": [],
    } | more


def repository() -> dict[str, Any]:
    """Four quantisations, one to take, one too large."""
    return answer(
        quant("IQ2_M", 10.6, cache_type_v="q8_0"),
        quant("Q4_K_M", 18.5, estimated=False, take=True),
        quant("Q8_0", 32.4, whole=False, gpu_layers=40, ctx=8192, ctx_up_to=8192),
        quant("BF16", 61.0, "never", ctx=0, ctx_up_to=0, files=2),
        notes=["rows marked ~ are estimates"],
    )
