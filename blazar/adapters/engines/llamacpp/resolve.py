"""What configuration leaves open of a llama-server, decided: a brief to the settings that `flags.py` reads, each with its reason. Pure.

The fit plan decides window, slots, cache types and places; here they are put into the words of the table, with what follows from
machine, task and files.
"""

from collections.abc import Mapping
from typing import Any

from blazar.adapters.engines.llamacpp.batches import batches
from blazar.adapters.engines.llamacpp.speculation import speculation
from blazar.application.supervise.extra_words import read_extra
from blazar.application.supervise.fit_settings import slots_for, unified
from blazar.application.supervise.prompt_cache import prompt_cache
from blazar.application.supervise.verdict_flags import env_for, flags_for
from blazar.domain import teaching
from blazar.domain.argv import Decision, scaled
from blazar.domain.errors import Malformed
from blazar.domain.fit.budget import cache_ram_cap
from blazar.domain.fit.weights import MOE_PRESET
from blazar.domain.kinds import Task
from blazar.domain.launch import Brief, Resolved, together
from blazar.domain.records import Machine

MCP_FLAG, MCP_VARIABLE = "--mcp-servers-json", "LLAMA_ARG_MCP_SERVERS_JSON"


def resolve(brief: Brief) -> Resolved:
    """Everything of one child. Raises `Malformed` for a way of speculating that cannot be had."""
    parts = (
        served,
        size,
        placed,
        split,
        processors,
        prompts,
        embedding,
        chat,
        window,
        beside,
        tools,
        kept,
        speculation,
    )
    given = Resolved({}, given=dict.fromkeys(_said(brief), "extra_args"))
    return together(Resolved(brief.settings), *(part(brief) for part in parts), given)


def _said(brief: Brief) -> frozenset[str]:
    """Our flags that extra words say as well, however they spell them."""
    return read_extra(brief.settings["extra_args"], brief.settings).ours


def served(brief: Brief) -> Resolved:
    """Of a shard set the first file: the engine finds the others (case G11: never none)."""
    told = {"model_path": brief.model.files[0], "alias": brief.model.name}
    return Resolved(told, {"model_path": teaching.argv_reason("model"), "alias": teaching.argv_reason("alias")})


def size(brief: Brief) -> Resolved:
    """Window, slots and cache by the verdict; where it found no place, or there is none, as configured, with what is open at its least."""
    settings, verdict = brief.settings, brief.verdict
    if verdict is None or not verdict.placed or brief.placement is None:
        slots = slots_for(settings) or 1
        told = {"ctx_size": brief.ctx_size, "slots": slots, "kv_unified": unified(settings, slots)}
    else:
        told = flags_for(verdict, settings, brief.placement)
    told["kv_unified_per_slot"] = settings["kv_unified_per_slot"] or told.get("kv_unified_per_slot", 0)
    return Resolved(told, _size_reasons(brief, told))


def _size_reasons(brief: Brief, told: Mapping[str, Any]) -> dict[str, str]:
    settings, slots = brief.settings, told["slots"]
    key = "ctx" if settings["ctx"] else "default_ctx"
    set_by = teaching.flag_because(key, brief.origins[key]) if key in brief.origins else ""
    reasons = {"ctx_size": teaching.argv_window(brief.ctx, slots, told["kv_unified"], set_by)}
    if settings["deterministic"] and slots == 1:
        reasons["slots"] = teaching.argv_reason("deterministic")
    elif not settings["slots"]:
        reasons["slots"] = teaching.argv_reason("slots" if brief.verdict else "slots-alone")
    if settings["kv_unified"] is None:
        reasons["kv_unified"] = teaching.argv_reason("shared" if told["kv_unified"] else "alone")
    if not settings["kv_unified_per_slot"]:
        reasons["kv_unified_per_slot"] = teaching.argv_reason("per-slot")
    for key in ("cache_type_k", "cache_type_v"):
        if not settings[key]:
            reasons[key] = teaching.argv_reason("ladder")
    return reasons


ROWLESS = frozenset({"rpc", "vulkan", "metal"})
"""Kinds of devices that have never split a model by rows (ggml's backends)."""
PLACES = (
    "gpu_layers",
    "devices",
    "tensor_split",
    "mmproj_offload",
    "mmproj_device",
    "spec_draft_ngl",
    "spec_draft_device",
)


def placed(brief: Brief) -> Resolved:
    """Why things lie where they lie: a person's word, or the plan's. Variables keep the cards' names and the plan together."""
    verdict = brief.verdict
    if verdict is None or not verdict.placed or brief.placement is None:
        return Resolved({})
    mine = [key for key in PLACES if key not in brief.origins]
    env = env_for(verdict, brief.placement)
    return Resolved({}, dict.fromkeys(mine, teaching.argv_reason("plan")), env)


def split(brief: Brief) -> Resolved:
    """By tensors nothing is split where no device is, and the engine ends itself over it. Raises `Malformed` for rows where no device can."""
    mode, machine = brief.settings["split_mode"], brief.placement
    if mode not in ("row", "tensor") or machine is None:
        return Resolved({})
    named = tuple(brief.settings["devices"])
    used = [device for device in machine.devices if not named or device.name in named]
    if mode == "row" and (odd := next((device for device in used if device.kind in ROWLESS), None)):
        raise Malformed(teaching.split_rows_refused(odd.name), "split_mode")
    if mode == "row" or used:
        return Resolved({})
    return Resolved({"split_mode": ""}, choices=(Decision((), "split_mode", teaching.argv_reason("no-split")),))


def processors(brief: Brief) -> Resolved:
    """The physical cores of the CPU set, or as many of them as it is bound to (D23, D39)."""
    settings = brief.settings
    threads = settings["threads"] or _cores(settings["cpu_range"], brief.machine)
    reasons = {} if settings["threads"] else {"threads": teaching.argv_reason("cores")}
    if not settings["threads_batch"]:
        reasons["threads_batch"] = teaching.argv_reason("prompt-threads")
    # ODD: the engine takes every processor for prompts when it is told only --threads, whatever its help says.
    return Resolved({"threads": threads, "threads_batch": settings["threads_batch"] or threads}, reasons)


def _cores(bound: str, machine: Machine) -> int:
    first, _, last = bound.partition("-")
    return min(machine.cores, int(last) - int(first) + 1) if bound else machine.cores


def prompts(brief: Brief) -> Resolved:
    """The cache of prompts: within its share of the machine, and within what the plan leaves."""
    configured: int = brief.settings["cache_ram_mb"]
    # What a person adds himself reaches the child as it is written.
    capped = configured if "--cache-ram" in _said(brief) else _capped(configured, brief.machine)
    cache = prompt_cache(configured, capped, brief.verdict, brief.placement)
    reasons = {"cache_ram_mb": teaching.argv_reason("prompt-cache")} if cache.mib != configured else {}
    return Resolved({"cache_ram_mb": cache.mib}, reasons, notes=cache.notes)


def _capped(configured: int, machine: Machine) -> int:
    """MiB. Where the machine's memory is unknown (0) there is nothing to cap by."""
    share = cache_ram_cap(machine.ram_total) // 2**20
    return min(configured, share) if share else configured


def embedding(brief: Brief) -> Resolved:
    """D38."""
    embeds = brief.task is Task.EMBED
    # A chat model that is told to embed has no pooling of its own; the engine needs one.
    pooling = "mean" if embeds and not brief.model.embeds else ""
    reasons = {"embeddings": teaching.argv_reason("embeds"), "pooling": teaching.argv_reason("pooling")}
    planned = size(brief).told
    return together(
        Resolved({"embeddings": embeds, "pooling": pooling}, reasons),
        batches(brief, planned["slots"], planned["ctx_size"]),
    )


def chat(brief: Brief) -> Resolved:
    """The effort of thinking goes to the template, in chats only; variables that somebody wrote himself win."""
    settings = brief.settings
    effort = settings["reasoning_effort"] if brief.task is Task.CHAT else ""
    said = settings["chat_template_kwargs"] or {}
    told = {"chat_template_kwargs": {**({"reasoning_effort": effort} if effort else {}), **said}}
    reasons = {} if said or not effort else {"chat_template_kwargs": teaching.argv_reason("effort")}
    return Resolved(told, reasons)


def window(brief: Brief) -> Resolved:
    """YaRN. Told where the stretched window begins, the engine takes the rest from the factor (llama_init_from_model)."""
    settings, trained = brief.settings, brief.model.ctx_train
    if settings["ctx_extend"] <= 1:
        return Resolved({"ctx_extend": 0.0})
    told = {"rope_scaling": "yarn", "yarn_orig_ctx": settings["yarn_orig_ctx"] or trained}
    mine = ["rope_scaling"] if settings["yarn_orig_ctx"] else ["rope_scaling", "yarn_orig_ctx"]
    return Resolved(told, dict.fromkeys(mine, teaching.argv_reason("extend")))


def beside(brief: Brief) -> Resolved:
    """The projector where this child gets it. Of an adapter with a scale the engine takes a colon for the end of its path."""
    items = [scaled(item) for item in brief.settings["loras"]]
    if any(scale for _, scale in items) and (odd := next((file for file, _ in items if ":" in file), None)):
        raise Malformed(teaching.lora_colon(odd), "loras")
    file = brief.beside.projector if brief.vision else ""
    return Resolved({"projector": file}, {"projector": teaching.argv_reason("projector")})


def tools(brief: Brief) -> Resolved:
    """What the engine runs itself. ODD: servers as JSON go into its environment: their tokens have no place in a list of processes."""
    settings = brief.settings
    # Said after --agent, --tools replaces what that one turns on (common/arg.cpp).
    chosen, runtime = settings["server_tools"] or "", settings["server_tools_runtime"] or ""
    notes = (teaching.agent_tools(chosen, runtime),) if settings["agent"] else ()
    told = {"tensor_preset": settings["tensor_preset"] == MOE_PRESET}
    if not settings["mcp_servers_json"]:
        return Resolved(told, notes=notes)
    if brief.manifest and MCP_FLAG not in brief.manifest:
        return Resolved(told, notes=(*notes, teaching.flag_unknown_to_engine(MCP_FLAG, brief.tag)))
    choice = Decision((), "mcp_servers_json", teaching.argv_reason("mcp-json"))
    return Resolved(told, env={MCP_VARIABLE: settings["mcp_servers_json"]}, notes=notes, choices=(choice,))


def kept(brief: Brief) -> Resolved:
    """Where slots are saved. An embedding model has no conversations."""
    folder = brief.places.sessions if brief.settings["sessions"] and brief.task is Task.CHAT else ""
    return Resolved({"sessions": folder}, {"sessions": teaching.argv_reason("sessions")})
