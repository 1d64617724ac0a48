"""Answers of /api/fit as they come, for tests of what is made of them. The verdict is a real one's JSON; numbers are a plan's, rounded."""

from typing import Any

from blazar.application.ops.verdict_json import verdict_json
from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.verdict import Outcome, Share, Verdict

MIB, GIB = 2**20, 2**30


def share(name: str, total: int, free: int, **parts: int) -> Share:
    """One device's part; MiB."""
    return Share(name, total * MIB, free * MIB, **{part: size * MIB for part, size in parts.items()})


TWO_CARDS = (
    share("host", 65536, 65536, weights=417, compute=24),
    share("CUDA0", 24576, 24576, weights=9100, kv=2048, compute=307, margin=1024),
    share("CUDA1", 24576, 24576, weights=9490, kv=2048, compute=410, margin=1024),
)
CHOSEN = Settings(ctx=16384, parallel=1, cache_type_k="f16", cache_type_v="f16", devices=("CUDA0", "CUDA1"))


def verdict(outcome: str = "fits", **more: Any) -> dict[str, Any]:
    """A 32B model wholly on two imagined cards of 24 GiB; `more` are fields of the verdict."""
    facts: dict[str, Any] = {
        "sentence": "fits: 22.9 GiB on CUDA0 and CUDA1, 23.1 GiB stay free",
        "memory": Memory(19007 * MIB, 4096 * MIB, 0, 741 * MIB, 0, 0, 0, (), ()),
        "settings": CHOSEN,
        "shares": TWO_CARDS,
        "exact_bytes": 23844 * MIB,
        "floor_bytes": 22400 * MIB,
        "admission_bytes": 25892 * MIB,
        "ctx": 16384,
        "gpu_layers": 65,
    }
    return verdict_json(Verdict(Outcome(outcome), **(facts | more)))


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
        "layers": 65,
        "slots": 1,
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
    """A model on two cards of 24 GiB, wholly on them."""
    cards = [
        {"name": f"CUDA{at}", "kind": "cuda", "total": 24 * GIB, "free": 24 * GIB, "label": "", "shared": False}
        for at in (0, 1)
    ]
    ram = 64 * GIB
    machine = {"imagined": True, "imagined_parts": ["gpu", "ram"], "ram_total": ram, "ram_available": ram}
    return {
        "target": "hf:me/big",
        "source": "hf",
        "model": "hf:me/big",
        "machine": machine | {"devices": cards},
        "quant": "Q4_K_M",
        "take": "Q4_K_M",
        "verdict": verdict(),
        "quants": list(quants) or [quant("Q4_K_M", 18.5, estimated=False, take=True)],
        "alternatives": [],
        "notes": [],
    } | more


def repository() -> dict[str, Any]:
    """Five quantisations, one to take, one too large, one that is no model."""
    return answer(
        quant("IQ2_M", 10.6, cache_type_v="q8_0"),
        quant("Q4_K_M", 18.5, estimated=False, take=True),
        quant("Q6_K", 25.0, "unreadable", estimated=False, exact_bytes=0, ctx=0, ctx_up_to=0),
        quant("Q8_0", 32.4, whole=False, gpu_layers=40, ctx=8192, ctx_up_to=8192),
        quant("BF16", 61.0, "never", ctx=0, ctx_up_to=0, files=2),
        notes=["rows marked ~ are estimates"],
    )
