"""What a model can do and is, read out of its file's metadata for `/api/show`. Pure; what is not known is not claimed."""

import re
from collections.abc import Mapping
from typing import Any, Final

from blazar.application.models import show_model
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from blazar.domain.wire.ollama_listing import Shown

TEMPLATE_KEY: Final = "tokenizer.chat_template"
LONGEST_LIST: Final = 32
"""Longer lists in the metadata are null unless asked for: token scores and merges are megabytes (ollama does the same)."""

# Words that a Jinja template only contains when it can do the thing.
_TOOLS = re.compile(r"\btools\b")
_THINKING = re.compile(r"<think>|\benable_thinking\b|\breasoning_content\b")
_INFILL_KEYS: Final = ("tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id")


def facts_of(shown: show_model.Shown, *, verbose: bool, seeing: bool = False, worded: bool = False) -> Shown:
    """Everything that the listing adds to the row. `seeing`: its child is given a projector for pictures; `worded`: tools in words."""
    model, metadata, (file, encoder), overlay = shown
    if overlay.template:
        metadata = {**metadata, TEMPLATE_KEY: overlay.template}
    if model.parameters:  # GGUF headers leave it to be counted, and ollama's clients read it here
        metadata = {"general.parameter_count": model.parameters, **metadata}
    return Shown(
        metadata=dict(metadata) if verbose else _brief(metadata),
        template=_text(metadata, TEMPLATE_KEY),
        capabilities=capabilities_of(model, metadata, seeing=seeing, worded=worded),
        license="\n".join(overlay.license) or _licence(model) or _text(metadata, "general.license"),
        projector=file,
        projector_metadata=dict(encoder) if verbose else _brief(encoder),
        overlay=overlay,
    )


def capabilities_of(
    model: Model, metadata: Mapping[str, Any], *, seeing: bool = False, worded: bool = False
) -> tuple[str, ...]:
    """Ollama's words, in its order (types/model/capability.go; `image` is a model that draws, and `rerank`, which it has no word for, one that scores documents)."""
    if model.weights is Weights.DIFFUSION:
        return ("image",)
    if model.embeds:
        return ("rerank" if model.ranks else "embedding",)
    template = _text(metadata, TEMPLATE_KEY)
    able = {
        "completion": True,
        "vision": seeing or any(".vision." in key for key in metadata),
        "tools": worded or bool(_TOOLS.search(template)),
        "insert": any(key in metadata for key in _INFILL_KEYS),
        "thinking": bool(_THINKING.search(template)),
    }
    return tuple(name for name, can in able.items() if can)


def _licence(model: Model) -> str:
    """As the registry had it that the model was pulled from."""
    return model.origin.licence if model.origin is not None else ""


def _brief(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, list | tuple) and len(value) > LONGEST_LIST else value
        for key, value in metadata.items()
        if key != TEMPLATE_KEY  # it is the `template` field
    }


def _text(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""
