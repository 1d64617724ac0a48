"""`fit`, in the daemon and without one: only what a target needs is imported. A file costs neither catalog nor HTTP client."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from blazar.application.ops.preview_fit import PreviewFit, question_of
from blazar.application.supervise.fit_machine import fit_machine
from blazar.domain.kinds import EngineKind
from blazar.domain.references import HF

if TYPE_CHECKING:
    from blazar.application.ports.engines import EngineCatalog
    from blazar.application.ports.hardware import HardwareCensus
    from blazar.application.ports.remote import RemoteModels
    from blazar.application.supervise.charges import Tenant
    from blazar.application.supervise.sizing import Sizing
    from blazar.composition.local import Local
    from blazar.domain.fit.machine import Machine
    from blazar.domain.records import Model


VARIABLES = ("BLAZAR_DEFAULT_CTX",)
"""Environment variables that set a key of `UNCONFIGURED`."""
UNCONFIGURED: Mapping[str, Any] = {
    "ctx": None,
    "default_ctx": 16384,
    "slots": 0,
    "deterministic": False,
    "kv_unified": None,
    "cache_type_k": "",
    "cache_type_v": "",
    "batch_size": 0,
    "ubatch_size": 0,
    "swa_full": False,
    "no_kv_offload": False,
    "load_mode": "",
    "repack": True,
    "cpu_moe_n": 0,
    "cpu_ffn_n": 0,
    "override_tensor": (),
    "tensor_split": "",
    "devices": (),
    "spawn_mem_guard": True,
}
"""What `Config` says of the keys that a fit is made of when nobody set any; a test holds the two together."""


def open_registry(env: Mapping[str, str], name: str) -> "RemoteModels":
    """A registry as references name it; connects to nothing yet."""
    if name == HF:
        from blazar.adapters.net.huggingface import BASE, HuggingFace

        base = env.get("BLAZAR_REGISTRY_BASE") or env.get("HF_ENDPOINT") or BASE
        return HuggingFace(base, env.get("BLAZAR_REGISTRY_TOKEN") or env.get("HF_TOKEN") or "")
    from blazar.adapters.net.ollama_registry import OllamaRegistry

    return OllamaRegistry()


def preview_here(local: "Local") -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Answers the body of POST /api/fit from this data folder and this machine."""
    preview = PreviewFit(
        partial(_find_model, local),
        local.weights,
        partial(open_registry, local.env),
        _machine,
        partial(_settings_for, local),
    )
    return lambda body: preview(question_of(body))


def _settings_for(local: "Local", name: str) -> Mapping[str, Any]:
    """The configuration of a model. Where nothing configures anything, the defaults: declared ones take 150 ms to import."""
    if not local.folders.named and not local.folders.config_file.exists() and not any(map(local.env.get, VARIABLES)):
        return UNCONFIGURED
    return local.settings().loaded.config.settings_for(name)


@dataclass(frozen=True, slots=True)
class Beside:
    """The machine as the daemon sees it: the active engine's devices, and what every child uses of them."""

    sizing: "Sizing"
    engines: "EngineCatalog"
    hardware: "HardwareCensus"

    def __call__(self, tenants: "Sequence[Tenant]") -> "Machine":
        usage = self.sizing.usage(tenants)
        builds = self.engines.list_engines()
        active = next((one for one in builds if one.active and one.kind is EngineKind.LLAMACPP), None)
        if active is not None:
            return self.sizing.machine(active, usage)
        return usage.left_of(fit_machine(self.hardware.read(), usage.running))


class PreviewBeside:
    """The body of POST /api/fit, in the daemon."""

    def __init__(self, preview: PreviewFit) -> None:
        self._preview = preview

    def __call__(self, body: Mapping[str, Any], tenants: "Sequence[Tenant]") -> dict[str, Any]:
        return self._preview(question_of(body), tenants)


def _machine(_: "Sequence[Tenant]") -> "Machine":
    """As it is now. Who runs on it is not asked: what they use is not free."""
    from blazar.adapters.hardware.census import SystemCensus

    return fit_machine(SystemCensus().read())


def _find_model(local: "Local", name: str) -> "Model":
    from blazar.application.models.find import get_model

    return get_model(local.catalog, name, local.weights)
