"""What a launch takes on this machine: asks files, census, engine and drivers, and hands it all to `domain.fit`. Decides nothing.

Only GGUF weights on llama.cpp can be counted. For everything else, and where a header describes no model that can be
counted, there is no verdict: then only the guard on free memory speaks.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from blazar.application.ports.hardware import DeviceLister, DeviceUse, HardwareCensus
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.charges import NOBODY, Tenant, Usage, usage_of
from blazar.application.supervise.fit_machine import fit_machine
from blazar.application.supervise.preparation import Preparation, prepare
from blazar.application.supervise.surroundings import Sized
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, BadShape, NotFound
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.planner import plan
from blazar.domain.fit.shape import ModelShape
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.records import Engine, Model


@dataclass(frozen=True, slots=True)
class Sizing:
    """May run a binary and ask drivers: off the loop. Without `lister` and `use` the census alone is believed.

    `folder` is where children run.
    """

    files: WeightFiles
    hardware: HardwareCensus
    lister: DeviceLister | None = None
    use: DeviceUse | None = None
    folder: str = ""

    def prepare(self, settings: Mapping[str, Any], kind: EngineKind = EngineKind.LLAMACPP) -> Preparation:
        """A model's configuration, with what stands in its extra words and in the files that they name.

        Of other engines' words nothing is known: they are passed on and change no plan. Nor can one of them stretch a window.
        """
        if kind is EngineKind.LLAMACPP:
            return prepare(settings, self.files, settings["extra_args"], self.folder)
        found = prepare({**settings, "ctx_extend": 0.0}, self.files, ())
        missed = settings["ctx_extend"] > 1
        return replace(found, notes=(*found.notes, teaching.window_not_stretched(kind))) if missed else found

    def fits_without(self, sized: Sized, keys: Collection[str]) -> bool:
        """Whether it could be loaded if these models were gone."""
        return plan(sized.shape, sized.machine.without(keys), sized.asked, sized.cap).fits

    def shape(self, model: Model, engine: Engine) -> ModelShape | None:
        """The model as its memory sees it, where this planner counts it: for llama.cpp. None where nobody can tell."""
        ours = model.weights is Weights.GGUF and engine.kind is EngineKind.LLAMACPP
        return self.facts(model) if ours else None

    def facts(self, model: Model) -> ModelShape | None:
        """The same for whichever engine: kinds that place a load themselves compile their line with it."""
        try:
            return self.files.shape(model.files)
        except (BadModelFile, BadShape, NotFound):
            return None

    def machine(self, engine: Engine, usage: Usage = NOBODY, workers: str = "") -> Machine:
        """What is free for a newcomer on that engine's devices, those of its RPC workers among them."""
        listed = self.lister.list_devices(engine, workers) if self.lister is not None else None
        return usage.left_of(fit_machine(self.hardware.read(), usage.running, listed))

    def sees_workers(self, engine: Engine, workers: str) -> bool | None:
        """Whether that build finds a device on its workers; None where it does not say what it finds."""
        listed = self.lister.list_devices(engine, workers) if self.lister is not None else None
        if listed is None:
            return None
        return any(device.kind == "rpc" for device in fit_machine(self.hardware.read(), (), listed).devices)

    def usage(self, tenants: Iterable[Tenant], *, rested: bool = False, gone: Collection[str] = ()) -> Usage:
        """What these children take, or will take once all of them rest; those that will be `gone` take nothing."""
        tenants = tuple(tenants)
        held = self.use.by_process([one.pid for one in tenants if one.pid]) if self.use is not None else {}
        return usage_of(tenants, held, rested=rested, gone=gone)

    def forget(self, *, lists: bool = True) -> None:
        """Somebody came or went: what was free is no longer known. Asking an engine for its list starts a process."""
        self.hardware.invalidate()
        if lists and self.lister is not None:
            self.lister.invalidate()
