"""A dry run: what a request for a model would lead to, and why. Starts nothing, evicts nothing, remembers nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from blazar.application.ops.verdict_json import verdict_json
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.supervise.admission import Look, judge
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.surroundings import Launch
from blazar.domain import teaching
from blazar.domain.errors import ModelNotFound, Refusal
from blazar.domain.fit import guard_bytes, may_load
from blazar.domain.names import near, resolve
from blazar.domain.records import Model
from blazar.domain.routing import Rejected


@dataclass(frozen=True, slots=True)
class Explain:
    """Resolution, routing with every rejected lane, the compiled command line, the fit verdict."""

    catalog: ModelCatalog
    planner: LaunchPlanner
    hardware: HardwareCensus

    def __call__(self, model: str, tenants: Sequence[Tenant] = ()) -> dict[str, Any]:
        """`refusal` is the sentence a request would get, None when it would be served. Unknown names raise `ModelNotFound`.

        `tenants` are the children that use memory now; the model's own would be gone before its next one starts.
        """
        names = [row.name for row in self.catalog.list_models()]
        row = self.catalog.find_model(resolve(model, names))
        if row is None:
            raise ModelNotFound(model, near(model, names))
        found: dict[str, Any] = {
            "asked": model,
            "model": row.name,
            "task": self.planner.task(row),
            "weights": row.weights,
            "files": list(row.files),
            "fit": self._guard(row),
            "refusal": None,
        }
        try:
            route = self.planner.route(row)
        except Refusal as refusal:
            return found | {"refusal": str(refusal), "engine": None, "rejected": _rejected(self.planner.rejected(row))}
        try:
            launch = self.planner.plan(row, usage=self.planner.sizing.usage(tenants, gone={row.name}))
        except Refusal as refusal:
            return found | {"refusal": str(refusal), "engine": None, "rejected": _rejected(route.rejected)}
        look = judge(launch, tuple(tenants), self.planner.sizing, guard=found["fit"]["guard"])
        found["fit"] |= _fit(look)
        found["refusal"] = None if look.refusal is None or look.evict or look.later else str(look.refusal)
        return found | self._launch(launch) | {"why": route.why, "rejected": _rejected(route.rejected)}

    def _launch(self, launch: Launch) -> dict[str, Any]:
        engine, plan = launch.engine, launch.plan
        takes_key = bool(self.planner.drivers[engine.kind].key_file_flag)
        return {
            "engine": {
                "tag": engine.tag,
                "kind": engine.kind,
                "provenance": engine.provenance,
                "version": engine.version,
            },
            # The endpoint (host, port, key file) is chosen at the spawn and therefore not among these words.
            "argv": list(plan.words),
            "notes": list(plan.notes),
            "ctx": plan.ctx,
            "slots": plan.slots,
            "load_cap_secs": launch.load_cap,
            "child_auth": teaching.child_with_key() if takes_key else teaching.child_without_key(engine.kind),
        }

    def _guard(self, row: Model) -> dict[str, Any]:
        """The guard on main memory alone, for weights that nothing serves."""
        guard = bool(self.planner.settings_for(row.name).get("spawn_mem_guard", True))
        available = self.hardware.read().ram_available
        return {
            "fits": not guard or may_load(row.size, available),
            "guard": guard,
            "weights": row.size,
            "need": guard_bytes(row.size),
            "available": available,
        }


def _fit(look: Look) -> dict[str, Any]:
    """What admission would say now: `evict` would leave first, `waits` says that busy ones would have to come to rest."""
    verdict = look.launch.verdict
    return {
        "fits": look.refusal is None,
        "evict": list(look.evict),
        "waits": look.later,
        "verdict": verdict_json(verdict) if verdict is not None else None,
    }


def _rejected(lanes: Iterable[Rejected]) -> list[dict[str, str]]:
    return [{"lane": lane.lane, "reason": lane.reason} for lane in lanes]
