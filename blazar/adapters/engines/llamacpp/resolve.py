"""What configuration leaves open of a llama-server, decided: a brief to the settings that `flags.py` reads, each with its reason. Pure.

The fit plan decides window, slots, cache types and places; here they are put into the words of the table, with what follows from
machine, task and files.
"""

import re
from collections.abc import Mapping
from typing import Any

from blazar.adapters.engines.llamacpp.batches import batches
from blazar.adapters.engines.llamacpp.speculation import speculation
from blazar.adapters.engines.reasons import window_reason
from blazar.application.supervise.extra_words import last_said, read_extra, slot_bound
from blazar.application.supervise.fit_settings import extended, slots_for, unified
from blazar.application.supervise.prompt_cache import prompt_cache
from blazar.application.supervise.verdict_flags import env_for, flags_for
from blazar.domain import teaching
from blazar.domain.argv import Decision, scaled
from blazar.domain.errors import Malformed
from blazar.domain.fit.budget import cache_ram_cap
from blazar.domain.fit.slots import MOST
from blazar.domain.fit.weights import MOE_PRESET
from blazar.domain.kinds import Task
from blazar.domain.launch import Brief, Resolved, said_values, together
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
    settings = brief.settings
    reasons = {"ctx_size": _window_reason(brief, told), **_slots_reason(brief, told["slots"])}
    if settings["kv_unified"] is None or "kv_unified" not in brief.origins:
        reasons["kv_unified"] = teaching.argv_reason("shared" if told["kv_unified"] else "alone")
    if not settings["kv_unified_per_slot"]:
        reasons["kv_unified_per_slot"] = teaching.argv_reason("per-slot")
    for key in ("cache_type_k", "cache_type_v"):
        if not settings[key]:
            reasons[key] = teaching.argv_reason("ladder")
        elif key not in brief.origins:
            reasons[key] = teaching.argv_reason("other-side")
    return reasons


def _window_reason(brief: Brief, told: Mapping[str, Any]) -> str:
    """Of a shared cache that does not hold a window for each slot, what it is: no request is promised all of it."""
    slots, total, shared = told["slots"], told["ctx_size"], told["kv_unified"]
    bound = slot_bound({**brief.settings, "kv_unified_per_slot": told["kv_unified_per_slot"]})
    if not shared or slots < 2 or (bound in (0, brief.ctx) and total >= brief.ctx * slots):
        return teaching.argv_window(brief.ctx, slots, shared, window_reason(brief))
    return teaching.argv_pool(total, slots, min(bound or total, total), window_reason(brief))


def _slots_reason(brief: Brief, slots: int) -> dict[str, str]:
    """Empty where it is simply as configured."""
    settings, wanted = brief.settings, brief.settings["slots"]
    if settings["deterministic"] and slots == 1:
        return {"slots": teaching.argv_reason("deterministic")}
    if wanted:
        return {}
    if brief.verdict is None:
        return {"slots": teaching.argv_reason("slots-alone")}
    if not brief.verdict.placed:
        return {"slots": teaching.argv_reason("slots-unplaced")}
    if 1 < slots <= brief.verdict.settings.adopted:
        return {"slots": teaching.argv_reason("slots-adopted")}
    trained = extended(settings, brief.model.ctx_train)
    bound = "" if slots >= MOST else "-trained" if trained and trained // brief.ctx <= slots else "-memory"
    return {"slots": teaching.argv_reason(f"slots{bound}")}


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
    if mode == "tensor" and used and brief.settings["loras"]:
        raise Malformed(
            teaching.split_tensors_adapters(), "split_mode"
        )  # b11434, ggml-backend-meta.cpp: no axis for it
    if mode == "tensor" and (far := next((device for device in used if device.kind == "rpc"), None)):
        kept = tuple(key for key in ("override_tensor", "cpu_ffn_n") if brief.settings[key])
        # b11434 ends itself in ggml_gallocr_alloc_graph, depending on which weights and on the cache's type.
        if kept and brief.settings["no_kv_offload"]:
            raise Malformed(teaching.split_tensors_refused(far.name, kept), "split_mode")
    if mode == "row" or used:
        return Resolved({})
    return Resolved({"split_mode": ""}, choices=(Decision((), "split_mode", teaching.argv_reason("no-split")),))


def processors(brief: Brief) -> Resolved:
    """The physical cores of the CPU set, or as many of them as it is bound to (D23, D39)."""
    settings = brief.settings
    threads = settings["threads"] or _cores(settings["cpu_range"], brief.machine)
    reasons = {} if settings["threads"] else {"threads": teaching.argv_reason("cores")}
    if (own := _own_threads(brief)) is not None:
        threads = max(own, 0)  # told none or less, the engine takes every processor for both
    if not settings["threads_batch"]:
        reasons["threads_batch"] = teaching.argv_reason("prompt-threads")
    # ODD: the threads for prompts are always said: told only --threads, the engine takes every processor for them, whatever
    # its help says.
    return Resolved({"threads": threads, "threads_batch": settings["threads_batch"] or threads}, reasons)


def _own_threads(brief: Brief) -> int | None:
    """What extra words say of --threads, in any spelling; None where they say nothing that can be read."""
    said = [text for flag, text in said_values(brief.settings["extra_args"]) if flag in ("-t", "--threads")]
    return int(said[-1]) if said and re.fullmatch(r"-?[0-9]{1,6}", said[-1]) else None


def _cores(bound: str, machine: Machine) -> int:
    first, _, last = bound.partition("-")
    return min(machine.cores, int(last) - int(first) + 1) if bound else machine.cores


def prompts(brief: Brief) -> Resolved:
    """The cache of prompts: within its share of the machine, and within what the plan leaves."""
    key = "cache_ram_mb"
    wanted: int = brief.settings[key]
    if own := last_said(brief.settings["extra_args"], "--cache-ram"):
        # What a person adds himself reaches the child as it is written.
        said = teaching.said_in_extra_args(own.flag, own.text or "")
        return Resolved({key: wanted}, notes=prompt_cache(wanted, said, brief.verdict, brief.placement).notes)
    capped = _capped(wanted, brief.machine)
    cache = prompt_cache(capped, f"{key} {wanted}" if key in brief.origins else "", brief.verdict, brief.placement)
    because = teaching.flag_because(key, brief.origins.get(key, ""))
    held = teaching.prompt_cache_held(because, wanted, planned=cache.mib != capped)
    return Resolved({key: cache.mib}, {key: held} if cache.mib != wanted else {}, notes=cache.notes)


def _capped(configured: int, machine: Machine) -> int:
    """MiB. Where the machine's memory is unknown (0) there is nothing to cap by."""
    share = cache_ram_cap(machine.ram_total) // 2**20
    return min(configured, share) if share else configured


def embedding(brief: Brief) -> Resolved:
    """D38."""
    embeds, ranks = brief.task.pools, brief.task is Task.RERANK
    # A chat model that is told to embed has no pooling of its own; the engine needs one. And its route for scores
    # answers only where the command line says `rank`, whatever the file says (tools/server/server-context.cpp).
    lacks = brief.task is Task.EMBED and (not brief.model.embeds or brief.model.ranks)
    late = brief.task is Task.EMBED and brief.settings["late_chunking"]
    pooling = "rank" if ranks else "none" if late else "mean" if lacks else ""
    why = teaching.argv_reason("ranks" if ranks else "late" if late else "pooling")
    reasons = {"embeddings": teaching.argv_reason("embeds"), "pooling": why}
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
    """What the engine runs itself.

    ODD: MCP servers as JSON go into the environment: their tokens have no place in a list of processes.
    """
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
