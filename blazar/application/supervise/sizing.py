"""What a launch takes on this machine: asks files, census, engine and drivers, and hands it all to `domain.fit`. Decides nothing.

Only GGUF weights on llama.cpp can be counted. For everything else, and where a header describes no model that can be
counted, there is no verdict: then only the guard on free memory speaks.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from blazar.application.ports.hardware import DeviceLister, DeviceUse, HardwareCensus
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.charges import NOBODY, Tenant, Usage, usage_of, without
from blazar.application.supervise.fit_machine import fit_machine
from blazar.application.supervise.surroundings import Sized
from blazar.domain.errors import BadModelFile, BadShape, NotFound
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.records import Engine, Model


@dataclass(frozen=True, slots=True)
class Sizing:
    """May run a binary and ask drivers: off the loop. Without `lister` and `use` the census alone is believed."""

    files: WeightFiles
    hardware: HardwareCensus
    lister: DeviceLister | None = None
    use: DeviceUse | None = None

    def sized(self, model: Model, engine: Engine, asked: Settings, cap: int = 0, usage: Usage = NOBODY) -> Sized | None:
        """What `asked` comes to beside `usage`; None where that cannot be counted. `cap` above 0 leaves the window open, up to it."""
        shape = self.shape(model, engine)
        if shape is None:
            return None
        machine = self.machine(engine, usage)
        settings = replace(asked, ctx=0) if cap else asked
        return Sized(plan(shape, machine, settings, cap), settings, cap, shape, machine)

    def fits_without(self, sized: Sized, keys: Collection[str]) -> bool:
        """Whether it could be loaded if these models were gone."""
        return plan(sized.shape, without(sized.machine, keys), sized.asked, sized.cap).fits

    def shape(self, model: Model, engine: Engine) -> ModelShape | None:
        """The model as its memory sees it; None where nobody can tell."""
        if model.weights is not Weights.GGUF or engine.kind is not EngineKind.LLAMACPP:
            return None
        try:
            return self.files.shape(model.files)
        except (BadModelFile, BadShape, NotFound):
            return None

    def machine(self, engine: Engine, usage: Usage = NOBODY) -> Machine:
        """What is free for a newcomer on that engine's devices."""
        listed = self.lister.list_devices(engine) if self.lister is not None else None
        return usage.left_of(fit_machine(self.hardware.read(), usage.running, listed))

    def main_device(self, engine: Engine, number: int) -> tuple[str, ...]:
        """The one device that all of a model goes to when nothing is split; below 0: the first."""
        pool = self.machine(engine).pool
        return tuple(device.name for device in pool[max(number, 0) :][:1])

    def usage(self, tenants: Iterable[Tenant], *, rested: bool = False) -> Usage:
        """What these children take, or will take once all of them rest."""
        tenants = tuple(tenants)
        held = self.use.by_process([one.pid for one in tenants if one.pid]) if self.use is not None else {}
        return usage_of(tenants, held, rested=rested)

    def forget(self, *, lists: bool = True) -> None:
        """Somebody came or went: what was free is no longer known. Asking an engine for its list starts a process."""
        self.hardware.invalidate()
        if lists and self.lister is not None:
            self.lister.invalidate()
