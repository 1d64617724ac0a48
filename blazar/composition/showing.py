"""What `show` says of one model where no daemon is asked: its row, what its file tells, where it came from, what is laid over it."""

from typing import TYPE_CHECKING, Any

from blazar.adapters.files.overlay_notes import overlay_in
from blazar.application.models.show_model import ShowModel, Shown
from blazar.domain.errors import BadConfig
from blazar.domain.harmless import public
from blazar.domain.kinds import Weights
from blazar.domain.overlay import Overlay
from blazar.domain.records import Model
from blazar.domain.wire.ollama_listing import format_of
from blazar.domain.wire.stamps import rfc3339

if TYPE_CHECKING:
    from blazar.composition.local import Local


def shown_here(local: "Local", name: str, *, verbose: bool) -> dict[str, Any]:
    """Named and ordered as a person reads it. `verbose`: with the header."""
    shown = ShowModel(local.catalog, local.weights)(name)
    model = shown.model
    facts: dict[str, Any] = {
        "name": model.name,
        "architecture": model.arch,
        "parameters": model.parameters,
        "quantization": model.quant,
        "format": format_of(model),
        "size": model.size,
        **_text_sizes(model),
        "capabilities": _able(local, shown),
        "chat_template": model.template,
        "hardlinked": model.owned,
        "digest": model.digest,
        "files": list(model.files),
    }
    if model.components:
        facts["components"] = dict(model.components)
    if beside := local.models().projector(model):
        facts["projector"] = beside
    if model.draft:
        facts["draft"] = model.draft
    if laid := laid_over(overlay_in(local.folders.overlays, model.name) or Overlay()):
        facts["overlay"] = laid
    facts |= _came_from(model)
    return {**facts, "metadata": shown.metadata} if verbose else facts


def laid_over(overlay: Overlay) -> dict[str, Any]:
    """What was said beside the weights, by a registry or by who created it, under ollama's names; what is empty is left out.

    What holds is another question: a person's own settings come first, and `explain` tells those.
    """
    said = {
        "parent": overlay.base,
        "parameters": dict(overlay.parameters),
        "system": overlay.system,
        "template": overlay.template,
        "messages": [{"role": role, "content": text} for role, text in overlay.messages],
        "adapters": list(overlay.adapters),
        "license": "\n".join(overlay.license),
    }
    return {name: value for name, value in said.items() if value}


def _came_from(model: Model) -> dict[str, Any]:
    """Where it was pulled from; nothing of a model that was imported."""
    if model.origin is None:
        return {}
    origin = model.origin
    at = rfc3339(origin.pulled_at)
    facts = {"pulled_from": public(origin.reference), "pulled_at": at, "artefact": origin.artefact}
    return {**facts, "license": origin.licence} if origin.licence else facts


def _text_sizes(model: Model) -> dict[str, int]:
    """A model that draws has neither a window nor embeddings."""
    if model.weights == "diffusion":
        return {}
    return {"context_length": model.ctx_train, "embedding_length": model.embedding_length}


def _able(local: "Local", shown: Shown) -> list[str]:
    """What a daemon's `/api/show` would say. A configuration that cannot be used is as good as none here."""
    from blazar.adapters.http.ollama.capabilities import capabilities_of
    from blazar.application.supervise.belongings import sees
    from blazar.composition.preview import UNCONFIGURED, settings_here

    model, seeing, worded = shown.model, False, False
    if model.weights is Weights.GGUF:
        try:
            settings = settings_here(local, model.name)
        except BadConfig:
            settings = UNCONFIGURED
        seeing, worded = sees(model, settings, local.weights), bool(settings.get("ollama_compat"))
    return list(capabilities_of(model, shown.metadata, seeing=seeing, worded=worded))
