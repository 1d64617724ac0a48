"""What configuration leaves open for mlx-lm: how many requests run side by side, the draft, its folders and variables.

Pure: opens no file and asks no hub.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from blazar.adapters.engines.mlx.flags import DECODE, DRAFT, KV_BITS, PROMPT
from blazar.adapters.engines.reasons import unheard
from blazar.domain import teaching
from blazar.domain.launch import Brief, Resolved, together

NAME = "mlx-lm"
HEARD = frozenset({"slots", "deterministic", "chat_template", "chat_template_file"})
"""Of a model's own keys those that this kind acts on, or comments on by itself."""
PROMPTS = 8
"""The engine's own default of prompts that are read side by side."""
TEMPLATE = "mlx.chat_template"


def resolve(brief: Brief) -> Resolved:
    """All of it; later parts win over earlier ones."""
    parts: tuple[Callable[[Brief], Resolved], ...] = (_as_set, _template, _side_by_side, _draft)
    resolved = together(*(part(brief) for part in parts))
    return resolved._replace(notes=(*resolved.notes, *_alone(brief, resolved.told)))


def _as_set(brief: Brief) -> Resolved:
    """The model is a folder: weights, tokenizer and config are read from it.

    ODD: the hub's cache is the model's own folder. /v1/models lists that cache beside the model, and answers with an empty body
    where there is none. The folder always exists and is no cache: the list is exactly what is served, whatever was downloaded.
    """
    folder = brief.model.folder or str(PurePath(brief.model.files[0]).parent)
    env = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": folder}  # a child never phones home
    told = dict(brief.settings) | {"model_path": folder}
    return Resolved(told, env=env, notes=tuple(unheard(brief, HEARD, NAME)))


def _template(brief: Brief) -> Resolved:
    """The table's own template wins over that of the model's override, which is meant for every kind.

    ODD: a name is no template. The engine takes a word without a variable for one, and every prompt would be just that word.
    """
    settings = brief.settings
    key = TEMPLATE if settings[TEMPLATE] else "chat_template"
    text = settings[key]
    if not text:
        return Resolved({}, notes=(teaching.mlx_template_file(),) if settings["chat_template_file"] else ())
    if "{" not in text:
        return Resolved({TEMPLATE: ""}, notes=(teaching.mlx_template_name(key, text),))
    return Resolved({TEMPLATE: text}, {TEMPLATE: teaching.flag_because(key, brief.origins.get(key, ""))})


def _side_by_side(brief: Brief) -> Resolved:
    """ODD: the larger of the two is what runs side by side, so that one alone would not bound anything."""
    settings = brief.settings
    if settings["deterministic"]:
        return _both(brief, "deterministic", 1)
    slots, answers, prompts = settings["slots"], settings[DECODE], settings[PROMPT]
    if answers is None and slots:
        answers, key = slots, "slots"
    else:
        key = DECODE
    if answers is None:
        return Resolved({})
    if prompts is None:
        return _both(brief, key, answers)
    told, reasons = {DECODE: answers}, {DECODE: teaching.flag_because(key, brief.origins.get(key, ""))}
    notes = (teaching.mlx_more_prompts(prompts, answers),) if prompts > answers else ()
    return Resolved(told, reasons, notes=notes)


def _both(brief: Brief, key: str, count: int) -> Resolved:
    because = teaching.flag_because(key, brief.origins.get(key, ""))
    told = {DECODE: count} | ({PROMPT: count} if count < PROMPTS else {})
    return Resolved(told, dict.fromkeys(told, because))


def _draft(brief: Brief) -> Resolved:
    """A draft changes no answer, so that one which offline cannot be found is left out instead of failing the load."""
    wanted = brief.settings[DRAFT]
    if not wanted:
        return Resolved({})
    draft = wanted if PurePath(wanted).is_absolute() else brief.beside.draft
    return Resolved({DRAFT: draft}, notes=() if draft else (teaching.mlx_draft_no_folder(wanted),))


def _alone(brief: Brief, told: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings with which the engine stops batching, where the build knows them."""
    flags = {KV_BITS: "--kv-bits", DRAFT: "--draft-model"}
    known = brief.manifest
    said = [key for key, flag in flags.items() if told[key] and (not known or flag in known)]
    return (teaching.mlx_one_at_a_time(said[0]),) if said else ()
