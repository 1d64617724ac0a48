"""What ollama clients list: `/api/tags`, `/api/ps`, `/api/show`, out of plain values. Sizes are bytes (B20)."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from blazar.domain.harmless import public
from blazar.domain.kinds import Weights
from blazar.domain.overlay import Overlay, modelfile_of, parameters_text
from blazar.domain.records import Model
from blazar.domain.wire.stamps import FOREVER, rfc3339


class Running(NamedTuple):
    """A loaded model: bytes in all and on accelerators, when it will be unloaded (Unix time, None: stays), its window."""

    model: Model
    size: int
    size_vram: int
    expires_at: float | None
    ctx: int


class Shown(NamedTuple):
    """What `/api/show` adds to the row: the file's own metadata, its template, what the model can do, and its projector's file and metadata.

    `overlay` is what was said on top of the weights when the model was created.
    """

    metadata: Mapping[str, Any]
    template: str = ""
    capabilities: tuple[str, ...] = ("completion",)
    license: str = ""
    projector: str = ""
    projector_metadata: Mapping[str, Any] = {}
    overlay: Overlay = Overlay()


def tags(models: Iterable[Model]) -> dict[str, Any]:
    """All models; an empty list is a list (B17)."""
    return {"models": [{**_named(model), **_listed(model)} for model in models]}


def judged_tags(models: Iterable[tuple[Model, str, str]]) -> dict[str, Any]:
    """The same for whoever asks for more: each with whether it fits here, about, and the kind of engine that would serve it."""
    return {"models": [{**_named(model), **_listed(model), "fit": fit, "lane": lane} for model, fit, lane in models]}


def ps(running: Iterable[Running]) -> dict[str, Any]:
    """The loaded ones."""
    return {"models": [_loaded(entry) for entry in running]}


def show(model: Model, facts: Shown) -> dict[str, Any]:
    """One model in full. Vocabulary arrays stay out: they are megabytes, and ollama's client asks for them with `verbose`."""
    files = (*model.files[:1], *([facts.projector] if facts.projector else []))
    overlay = facts.overlay
    shown: dict[str, Any] = {
        # A Modelfile repeats the template of the weights nowhere: what is created from it has them, too.
        "modelfile": modelfile_of(overlay, files),
        "parameters": parameters_text(overlay),
        "template": facts.template,
        "details": {**details(model), "parent_model": overlay.base},
        "model_info": dict(facts.metadata),
        "capabilities": list(facts.capabilities),
        "modified_at": rfc3339(model.imported_at),
    }
    if facts.license:
        shown["license"] = facts.license
    if overlay.system:
        shown["system"] = overlay.system
    if overlay.messages:
        shown["messages"] = [{"role": role, "content": text} for role, text in overlay.messages]
    if model.origin is not None:
        shown["pulled_from"] = public(model.origin.reference)  # ours
    if facts.projector:
        shown["projector_info"] = dict(facts.projector_metadata)
    return shown


def details(model: Model) -> dict[str, Any]:
    """The block that every listing carries."""
    return {
        "parent_model": "",
        "format": format_of(model),
        "family": model.arch,
        "families": [model.arch],
        "parameter_size": human_count(model.parameters),
        "quantization_level": model.quant,
    }


def format_of(model: Model) -> str:
    """How the weights are stored, in ollama's words where it has one; a diffusion model is what its own file is."""
    if model.weights in (Weights.SAFETENSORS, Weights.QUANTIZED):
        return "safetensors"
    if model.weights is not Weights.DIFFUSION:
        return str(model.weights)
    suffix = model.files[0].rpartition(".")[2].lower() if model.files else ""
    return {"gguf": "gguf", "ckpt": "ckpt", "pt": "ckpt", "pth": "ckpt"}.get(suffix, "safetensors")


def human_count(number: int) -> str:
    """Parameters as model cards write them: 8.0B, 134.5M, 24K."""
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if unit != "K" else f"{number / size:.0f}K"
    return str(number)


def _named(model: Model) -> dict[str, Any]:
    return {"name": model.name, "model": model.name}


def _listed(model: Model) -> dict[str, Any]:
    return {
        "modified_at": rfc3339(model.imported_at),
        "size": model.size,
        "digest": model.digest,
        "details": details(model),
    }


def _loaded(entry: Running) -> dict[str, Any]:
    return {
        **_named(entry.model),
        "size": entry.size,
        "digest": entry.model.digest,
        "details": details(entry.model),
        "expires_at": FOREVER if entry.expires_at is None else rfc3339(entry.expires_at),
        "size_vram": entry.size_vram,
        "context_length": entry.ctx,
    }
