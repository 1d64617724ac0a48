"""What configuration leaves open for mistral.rs: files, window, cache, the step of a prompt, cards, template, quantising.

Pure: opens no file. It spreads layers over cards by itself (`--device-layers` is never said); a spread load is only held to them.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from blazar.adapters.engines.mistralrs.flags import MISTRALRS_FLAGS
from blazar.adapters.engines.reasons import unheard, window_reason
from blazar.domain import teaching
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shards import Parallelism, layers
from blazar.domain.kinds import Weights
from blazar.domain.launch import Brief, Resolved, flags_of, said_values, together

NAME = "mistral.rs"
FRACTION, MEGABYTES, PAGED = "mistralrs_pa_memory_fraction", "mistralrs.pa_memory_mb", "mistralrs_paged_attn"
ISQ = "mistralrs.isq"
SHARPENERS = ("mistralrs.imatrix", "mistralrs.calibration_file", "mistralrs.isq_organization")
STEP_FLAG, STEP = "--max-num-batched-tokens", 4096
"""Tokens of one step beyond which 0.9.3 answered with an empty 200 (the contract's known limits)."""
_PLACING = ("-n", "--device-layers", "--topology", "--cpu")
_CACHE = ("--pa-context-len", "--pa-memory-mb", "--pa-memory-fraction")
HEARD = frozenset({*(flag.key for flag in MISTRALRS_FLAGS), "deterministic", "chat_template"})
"""Of a model's own keys those that this kind acts on, or comments on by itself."""


def resolve(brief: Brief) -> Resolved:
    """All of it; later parts win over earlier ones."""
    parts = (_as_set, _window, _cache, _template, _quantising, _cards)
    return together(*(part(brief) for part in parts))


def _as_set(brief: Brief) -> Resolved:
    """A folder, and of a GGUF the files in it. ODD: it cannot be told a name: it answers to `default` and to that folder."""
    files = [PurePath(file) for file in brief.model.files]
    gguf = brief.model.weights is Weights.GGUF
    told = dict(brief.settings) | {
        "model_path": brief.model.folder or str(files[0].parent),
        "quantized_file": ";".join(file.name for file in files) if gguf else "",
        "format": "gguf" if gguf else "plain",
        "projector": brief.beside.projector if brief.vision and gguf else "",
    }
    return Resolved(told, env={"HF_HUB_OFFLINE": "1"}, notes=tuple(unheard(brief, HEARD, NAME)))


def _window(brief: Brief) -> Resolved:
    """ODD: the step is said although it is the engine's default or less: 0.9.3 answered longer prompts with nothing.

    Older builds have no such bound and no such flag: nobody set it, so nobody is warned.
    """
    settings = brief.settings
    slots, reasons = settings["slots"], {"ctx": teaching.argv_window(brief.ctx, 1, False, window_reason(brief))}
    if settings["deterministic"]:
        slots, reasons["slots"] = 1, teaching.argv_reason("deterministic")
    step = min(brief.ctx, STEP) if not brief.manifest or STEP_FLAG in brief.manifest else 0
    reasons["step"] = teaching.batch_of_a_window(step)
    # One request is the engine's default.
    requests = _requests(brief)
    told = {"ctx": brief.ctx, "slots": slots, "step": step, "batch": requests if requests > 1 else 0}
    return Resolved(told, reasons)


def _cache(brief: Brief) -> Resolved:
    """The plain cache, or one of three sizes of the paged one.

    ODD: pa_memory_mb silences every --pa-memory-fraction: the engine refuses two sizes on one command line. With none of them it
    would take nine tenths of the card, so that the planned windows are said.
    """
    settings = brief.settings
    sizes = {key: settings[key] for key in (MEGABYTES, FRACTION) if settings[key]}
    told: dict[str, Any] = {FRACTION: None, MEGABYTES: None, "pa_context_len": 0, "paged_attn": ""}
    winner = _winner(brief, sizes)
    if winner == PAGED:
        told["paged_attn"] = "off"
    elif winner in sizes:
        told[winner] = sizes.pop(winner)
    elif not winner:
        told["pa_context_len"] = max(brief.ctx_size, brief.ctx * _requests(brief))
    reasons = {"paged_attn": teaching.cache_plain(), "pa_context_len": teaching.cache_of_windows()}
    notes = tuple(teaching.setting_gives_way(key, winner) for key in sizes)
    return Resolved(told, reasons, notes=notes)


def _winner(brief: Brief, sizes: Mapping[str, Any]) -> str:
    """The key that says how large the cache is; "" where nobody does."""
    if brief.settings[PAGED] is False:
        return PAGED
    if any(flag in _CACHE for flag in flags_of(brief.settings["extra_args"])):
        return "extra_args"
    return next(iter(sizes), "")


def _requests(brief: Brief) -> int:
    """At once; extra words win, as they do in the engine."""
    said = dict(said_values(brief.settings["extra_args"])).get("--max-seqs", "")
    if said.isdecimal():
        return max(int(said), 1)
    return 1 if brief.settings["deterministic"] else max(brief.settings["slots"], 1)


def _template(brief: Brief) -> Resolved:
    """The lane's own template wins over the model's; both must be files."""
    settings, key = brief.settings, "mistralrs.chat_template"
    own = settings[key] or settings["chat_template"] or ""
    if settings[key] and _is_file(settings[key]):
        because = teaching.flag_because(key, brief.origins.get(key, ""))
        return Resolved({"chat_template_file": settings[key]}, {"chat_template_file": because})
    if not own:
        return Resolved({})
    said = key if settings[key] else "chat_template"
    return Resolved({}, notes=(teaching.template_needs_file(said, NAME),))


def _is_file(text: str) -> bool:
    """By its name: the engine takes these two and nothing else."""
    return text.endswith((".jinja", ".json"))


def _quantising(brief: Brief) -> Resolved:
    """What sharpens quantising says nothing without it; of a matrix and texts to compute one from the engine takes one."""
    settings = brief.settings
    if not settings[ISQ]:
        notes = tuple(teaching.setting_needs(key, ISQ) for key in SHARPENERS if settings[key])
        return Resolved(dict.fromkeys(SHARPENERS, ""), notes=notes)
    matrix, texts, _ = SHARPENERS
    if settings[matrix] and settings[texts]:
        return Resolved({texts: ""}, notes=(teaching.setting_gives_way(texts, matrix),))
    return Resolved({})


def _cards(brief: Brief) -> Resolved:
    """A load that no card holds is held to the first cards in their order, so that planner and engine mean the same ones."""
    settings = brief.settings
    own = tuple(flag for flag in flags_of(settings["extra_args"]) if flag in _PLACING)
    placed = (*own, *settings["devices"], *settings["tensor_split"].split())
    if brief.shape is None or brief.placement is None:
        return Resolved({})
    requests = _requests(brief)
    asked = Settings(
        ctx=max(brief.ctx_size, brief.ctx * requests), parallel=requests, kv_unified=True, own_windows=True
    )
    found = layers(brief.shape, brief.placement, asked, Parallelism(device_layers=placed))
    return Resolved({}, env=dict(found.env))
