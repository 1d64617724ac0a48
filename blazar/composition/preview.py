"""`fit`, in the daemon and without one: only what a target needs is imported. A file costs neither catalog nor HTTP client."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from blazar.application.ops.preview_fit import PreviewFit, Wanted, question_of
from blazar.application.supervise.fit_machine import fit_machine
from blazar.composition import registries
from blazar.domain.errors import Unserved
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.references import RemoteRef
from blazar.domain.routing import MANUAL, Rules, Subject, lane_for

if TYPE_CHECKING:
    from blazar.application.ops.caller import Caller
    from blazar.application.ports.engines import EngineCatalog
    from blazar.application.ports.hardware import HardwareCensus, ListedDevice
    from blazar.application.ports.remote import RemoteModels
    from blazar.application.supervise.charges import Tenant
    from blazar.application.supervise.sizing import Sizing
    from blazar.composition.local import Local
    from blazar.domain.fit.machine import Machine
    from blazar.domain.manifest import Manifest
    from blazar.domain.records import Engine, Model


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
    "tensor_preset": "",
    "loras": (),
    "ctx_extend": 0.0,
    "mmproj": None,
    "mmproj_auto": True,
    "mmproj_policy": None,
    "mmproj_offload": True,
    "mmproj_device": "",
    "tensor_split": "",
    "devices": (),
    "split_mode": "",
    "main_gpu": -1,
    "rpc_servers": "",
    "embeddings": None,
    "extra_args": (),
    "engine": "",
    "spawn_mem_guard": True,
}
"""What `Config` says of the keys that a fit is made of when nobody set any; a test holds the two together."""


def open_registry(env: Mapping[str, str], name: str) -> "RemoteModels":
    """A registry as references name it; connects to nothing yet. Raises `RegistryTrouble` for a hub that is no address."""
    return registries.open_registry(env, RemoteRef(name, ""))


def preview_here(local: "Local") -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Answers the body of POST /api/fit from this data folder and this machine."""
    preview = PreviewFit(
        partial(_find_model, local),
        local.weights,
        partial(open_registry, local.env),
        partial(machine_here, local),
        partial(settings_here, local),
        str(local.folders.run),
    )
    return lambda body: preview(question_of(body))


def settings_here(local: "Local", name: str) -> Mapping[str, Any]:
    """The configuration of a model. Where nothing configures anything, the defaults: declared ones take 150 ms to import."""
    if not _configured(local) and not any(map(local.env.get, VARIABLES)):
        return UNCONFIGURED
    return local.settings().loaded.settings_for(name)


def _configured(local: "Local") -> bool:
    return bool(local.folders.named) or local.folders.config_file.exists()


@dataclass(frozen=True, slots=True)
class Beside:
    """The machine as the daemon sees it: the devices of the engine that would serve, and what every child uses of them.

    `rules()` is `[engine_routing]` as it is now.
    """

    sizing: "Sizing"
    engines: "EngineCatalog"
    hardware: "HardwareCensus"
    rules: Callable[[], Rules] = Rules

    def __call__(self, tenants: "Sequence[Tenant]", wanted: Wanted) -> "Machine":
        usage = self.sizing.usage(tenants, gone=wanted.gone)
        build = routed(self.engines.list_engines(), wanted, self.rules())
        if build is not None:
            return self.sizing.machine(build, usage, wanted.workers)
        return usage.left_of(fit_machine(self.hardware.read(), usage.running))


class PreviewBeside:
    """The body of POST /api/fit, in the daemon."""

    def __init__(self, preview: PreviewFit) -> None:
        self._preview = preview

    def __call__(self, body: Mapping[str, Any], tenants: "Sequence[Tenant]", caller: "Caller") -> dict[str, Any]:
        return self._preview(question_of(body), tenants, caller)


def machine_here(local: "Local", _: "Sequence[Tenant]", wanted: Wanted) -> "Machine":
    """As it is now. Who runs on it is not asked: what they use is not free."""
    from blazar.adapters.hardware.census import SystemCensus

    census = SystemCensus().read()
    # Asking an engine costs the start of a process: where there is no card, its answer is known.
    listed = _listed(local, wanted) if census.gpus or wanted.workers else None
    return fit_machine(census, (), listed)


def routed(engines: "Sequence[Engine]", wanted: Wanted, rules: Rules) -> "Engine | None":
    """The build that would serve weights of GGUF, the only ones that are previewed; None where none can."""
    with suppress(Unserved):
        return lane_for(Subject(Weights.GGUF, wanted.arch, wanted.engine), engines, frozenset(EngineKind), rules).engine
    return None


def rules_here(local: "Local") -> Rules:
    """`[engine_routing]`; the configuration is read only where it may say something of it."""
    if not local.may_say(MANUAL):
        return Rules()
    table = local.settings().loaded.config.engine_routing
    return Rules(table.mode, table.policy)


def _listed(local: "Local", wanted: Wanted) -> "tuple[ListedDevice, ...] | None":
    """What the build in question would compute on; None where there is none, or it does not say."""
    from blazar.adapters.store.glance import engines_in

    build = routed(engines_in(local.folders.database), wanted, rules_here(local))
    # The wheel has no list, nor has any other kind.
    if build is None or build.provenance is Provenance.EMBEDDED or build.kind is not EngineKind.LLAMACPP:
        return None
    from blazar.adapters.engines.devices import FLAG, WORKERS, EngineDevices
    from blazar.adapters.engines.llamacpp.spec import LLAMACPP
    from blazar.domain.manifest import Manifest

    more = local.settings().loaded.config.engine_env if _configured(local) else {}
    lister = EngineDevices(_Knows(Manifest.spelled((FLAG, WORKERS))), LLAMACPP.scrubbed, more)
    return lister.list_devices(build, wanted.workers)


class _Knows(NamedTuple):
    """In the place of a probe, which would start the build once more: one that does not know the flags says so by failing."""

    flags: "Manifest"

    def manifest(self, _: "Engine") -> "Manifest":
        return self.flags


def _find_model(local: "Local", name: str) -> "Model":
    from blazar.application.models.find import get_model

    return get_model(local.catalog, name, local.weights)
