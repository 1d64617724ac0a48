"""What configuration leaves open for SGLang: window, requests at once, memory and cards, speculation, kernels, template.

Pure: opens no file. Everything of `[sglang]` that is not named here goes to the flag table as it is configured.
"""

from pathlib import PurePath
from typing import Any

from blazar.adapters.engines.reasons import unheard, window_reason
from blazar.adapters.engines.sglang import ladder
from blazar.adapters.engines.sglang.flags import SGLANG_FLAGS
from blazar.adapters.engines.sglang.speculation import NAME, needs, speculation
from blazar.domain import teaching
from blazar.domain.fit.shards import Parallelism
from blazar.domain.launch import Brief, Resolved, flags_of, said_values, together

PARALLEL = ("sglang.tp_size", "sglang.pp_size", "sglang.dp_size", "sglang.ep_size")
_THEIRS = (
    "--tp",
    "--tensor-p",
    "--pp-",
    "--pipeline",
    "--dp",
    "--data-p",
    "--ep",
    "--expert-p",
    "--base-gpu",
    "--gpu-id",
)
"""Extra words that place a load."""
HEARD = frozenset({*(flag.key for flag in SGLANG_FLAGS), "embeddings"})
"""Of a model's own keys those that this kind acts on, or comments on by itself. Adapters are chosen by each request, cards by number."""
HALVES_FROM = 8.0
"""Compute capability from which the default kernels read an 8-bit cache (Triton's fp8e5)."""
REPRODUCIBLE = ("", "triton", "flashinfer", "fa3", "fa4", "ascend", "intel_xpu")
"""Backends with which the engine takes --enable-deterministic-inference (0.5.21, choices.py); "" becomes one of them."""


def resolve(brief: Brief) -> Resolved:
    """All of it; later parts win over earlier ones."""
    parts = (_as_set, _window, _kernels, _memory, _template, speculation)
    return together(*(part(brief) for part in parts))


def _as_set(brief: Brief) -> Resolved:
    """The model is a folder. Its child asks no hub, and is not asked to compute a token to say that it is well."""
    settings = brief.settings
    told = dict(settings) | {
        "model_path": brief.model.folder or str(PurePath(brief.model.files[0]).parent),
        "alias": brief.model.name,
        "is_embedding": brief.task.pools,
    }
    env = {"HF_HUB_OFFLINE": "1", "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false"}
    return Resolved(told, env=env, notes=tuple(unheard(brief, HEARD, NAME)))


def _window(brief: Brief) -> Resolved:
    """ODD: slots = 0 stays silent: the engine shares its cache out by itself and needs no number."""
    told: dict[str, Any] = {"ctx": brief.ctx}
    window = teaching.argv_window(brief.ctx, 1, shared=False, set_by=window_reason(brief))
    if not brief.settings["deterministic"]:
        return Resolved(told, {"ctx": window})
    because = teaching.argv_reason("deterministic")
    # With another backend the engine would refuse to start; one request at a time is what was promised.
    told |= {"slots": 1, "deterministic": brief.settings["sglang.attention_backend"] in REPRODUCIBLE}
    return Resolved(told, {"ctx": window, "slots": because, "deterministic": because})


def _kernels(brief: Brief) -> Resolved:
    """ODD: Triton is the default on NVIDIA: the engine's own may have to be compiled first, and most machines have no compiler."""
    key = "sglang.attention_backend"
    placed = brief.placement
    if brief.settings[key] or placed is None or not any(device.kind == "cuda" for device in placed.pool):
        return Resolved({})
    return Resolved({key: "triton"}, {key: teaching.attention_needs_no_compiler()})


def _memory(brief: Brief) -> Resolved:
    """Pins of share and cache type win over the rung's; configured parallelism is held to its cards and not judged.

    Cards by name or by share end the choice of cards, and cannot be said: the engine then takes its first one, and that one's
    share still has to be told.
    """
    configured = _configured(brief)
    if configured.pinned:
        return Resolved({}, env=_span(brief, configured))
    if brief.shape is None or brief.placement is None:
        return Resolved({})
    placed = ladder.alone(brief.placement) if _by_name(brief) else brief.placement
    window, requests, kv_type = _asked(brief)
    total = max(brief.ctx_size, window)
    needed = needs(brief, ladder.token_bytes(brief.shape, total), requests)
    load = ladder.Load(
        brief.shape,
        max(total, window * requests),
        requests,
        needed.beside,
        needed.draft,
        kv_type,
        _halves(brief),
    )
    rung = ladder.climb(load, placed)
    return Resolved({}) if rung is None else _said(brief, rung, needed.counted)


def _asked(brief: Brief) -> tuple[int, int, str]:
    """One request's window, how many there are at once, and the pinned cache type; extra words win, as they do in the engine."""
    said = dict(said_values(brief.settings["extra_args"]))
    slots = 1 if brief.settings["deterministic"] else max(brief.settings["slots"], 1)
    requests, window = (said.get(flag, "") for flag in ("--max-running-requests", "--context-length"))
    return (
        int(window) if window.isdecimal() else brief.ctx,
        max(int(requests), 1) if requests.isdecimal() else slots,
        said.get("--kv-cache-dtype", "") or brief.settings["sglang.kv_cache_dtype"],
    )


def _said(brief: Brief, rung: ladder.Rung, counted: bool) -> Resolved:
    """A rung in settings of the flag table. ODD: no share is said where a draft is not counted: it would have to lie inside."""
    settings = brief.settings
    told: dict[str, Any] = {"cpu_offload_gb": rung.offload_gib, "base_gpu_id": rung.card}
    reasons = {"cpu_offload_gb": teaching.rung_offload(rung.offload_gib), "base_gpu_id": teaching.rung_card()}
    if rung.ranks > 1:
        told["sglang.tp_size"] = rung.ranks
        reasons["sglang.tp_size"] = teaching.rung_ranks(rung.ranks, rung.per_rank)
    if rung.kv_type and not settings["sglang.kv_cache_dtype"]:
        told["sglang.kv_cache_dtype"] = rung.kv_type
        reasons["sglang.kv_cache_dtype"] = teaching.rung_half_cache()
    if counted and not settings["sglang.mem_fraction_static"]:
        told["sglang.mem_fraction_static"] = rung.fraction
        reasons["sglang.mem_fraction_static"] = teaching.rung_share(rung.per_rank, rung.free)
    return Resolved(told, reasons, dict(rung.env))


def _configured(brief: Brief) -> Parallelism:
    """What somebody chose of the spread: pins, or words of his own that place the load."""
    settings = brief.settings
    tensor, pipeline, data, expert = (settings[key] or 0 for key in PARALLEL)
    own = tuple(flag for flag in flags_of(settings["extra_args"]) if flag.replace("_", "-").startswith(_THEIRS))
    return Parallelism(tensor, pipeline, data, expert, own)


def _by_name(brief: Brief) -> bool:
    """Whether somebody chose cards in words that only other kinds have."""
    return bool(brief.settings["devices"] or brief.settings["tensor_split"])


def _span(brief: Brief, configured: Parallelism) -> dict[str, str]:
    """Ranks and cards stay aligned; whoever placed the load otherwise is not interfered with."""
    placed = brief.placement
    if configured.device_layers or _by_name(brief) or placed is None:
        return {}
    return dict(ladder.span(placed, (configured.tensor or 1) * (configured.pipeline or 1) * (configured.data or 1)))


def _halves(brief: Brief) -> bool:
    """Whether every GPU is NVIDIA's and new enough for an 8-bit cache; one that is not known is not."""
    gpus = [gpu for gpu in brief.machine.gpus if gpu.total]
    found = [gpu.compute_capability for gpu in gpus if gpu.kind == "cuda"]
    return bool(gpus) and len(found) == len(gpus) and all(one and float(one) >= HALVES_FROM for one in found)


def _template(brief: Brief) -> Resolved:
    """The engine takes the name of a template that it knows, or a file."""
    text = brief.settings["chat_template"] or ""
    if "{{" not in text and "{%" not in text:
        return Resolved({})
    return Resolved({"chat_template": ""}, notes=(teaching.template_needs_file("chat_template", NAME),))
