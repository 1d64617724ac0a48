"""What every engine kind has to say for itself beside its flags: why a window is what it is, and which keys have no word there.

Pure. A kind names the keys that it hears; what of a model's own keys is not among them and was set is told, never passed over.
"""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from blazar.application.config.model import Config, Override
from blazar.application.config.tuning import TUNINGS
from blazar.application.supervise.fit_settings import extended
from blazar.domain import teaching
from blazar.domain.launch import Brief

GATEWAY = frozenset(
    {
        *("engine", "pin", "replicas", "extra_args", "late_chunking", "ollama_compat", "sampler_defaults"),
        "raw_lane_max_tokens",
    }
)
"""Keys of a model that the gateway acts on, whatever serves it; extra words are passed on as they are."""
PER_MODEL = tuple(key for key in Override.model_fields if key not in GATEWAY and key not in TUNINGS)
"""What a person may say of one model that its engine has to be told. A tuning table names its kind itself."""
ELSEWHERE = frozenset({"ctx_extend"})
"""Told by whoever works out the window, for every kind that cannot stretch it."""
SIDES = ("cache_type_k", "cache_type_v")


@cache
def _defaults() -> dict[str, Any]:
    return Config().settings_for("")


def chosen(brief: Brief, key: str) -> bool:
    """Whether somebody set it to anything but its default: who writes the defaults into a file has chosen nothing by that."""
    return key in brief.origins and brief.settings[key] != _defaults()[key]


def unheard(brief: Brief, heard: Collection[str], kind: str) -> Iterator[str]:
    """A sentence for each key that somebody set and this kind has no word for. `heard` are those that it has one for."""
    for key in PER_MODEL:
        told = key in heard or key in ELSEWHERE or (key in SIDES and _mirrored(brief, key))
        if chosen(brief, key) and not told:
            yield teaching.setting_no_word(key, kind)


def _mirrored(brief: Brief, side: str) -> bool:
    """Whether its value is another key's, which is told already."""
    origins = brief.origins
    sources = (key for key in ("cache_type", *SIDES) if key in origins)
    return any(origins[side] == teaching.setting_mirrored(key, origins[key]) for key in sources)


def window_reason(brief: Brief) -> str:
    """Whose word one request's window is, and what made it another one than was asked for; "" where it is the default."""
    settings = brief.settings
    key = "ctx" if settings["ctx"] else "default_ctx"
    asked: int = settings["ctx"] or settings["default_ctx"]
    because = teaching.flag_because(key, brief.origins.get(key, ""))
    if brief.ctx > asked:
        return teaching.window_wished()
    if brief.ctx == asked:
        return because if key in brief.origins else ""
    trained = extended(settings, brief.model.ctx_train)
    if trained and brief.ctx >= trained:
        return teaching.window_trained(because, asked)
    return teaching.window_fitted(because, asked)
