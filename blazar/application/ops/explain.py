"""A dry run: what a request for a model would lead to, and why. Starts nothing, evicts nothing, remembers nothing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from blazar.application.ops.verdict_json import verdict_json
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.supervise.admission import Look, judge
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.endpoint import endpoint_words
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.review import plan_once
from blazar.application.supervise.surroundings import Launch
from blazar.application.supervise.viewing import uncounted, window_of
from blazar.domain import teaching
from blazar.domain.argv import Decision
from blazar.domain.argv_diff import difference
from blazar.domain.errors import Refusal
from blazar.domain.fit import guard_bytes, may_load
from blazar.domain.kinds import Weights
from blazar.domain.records import Engine, Model
from blazar.domain.routing import Rejected, lane_class
from blazar.domain.row_names import not_one, row_named


@dataclass(frozen=True, slots=True)
class Explain:
    """Resolution, routing with every rejected lane, the compiled command line, the fit verdict.

    `refused()` is what is wrong with a configuration file that cannot be used: then another configuration is explained. So it is
    while the file is newer than what runs (`behind`; may block).
    """

    catalog: ModelCatalog
    planner: LaunchPlanner
    hardware: HardwareCensus
    refused: Callable[[], Sequence[str]] = tuple
    behind: Callable[[], bool] = bool

    def __call__(self, model: str, tenants: Sequence[Tenant] = ()) -> dict[str, Any]:
        """`refusal` is the sentence a request would get, None when it would be served. Unknown names raise `ModelNotFound`.

        `tenants` are the children that use memory now; the model's own would be gone before its next one starts, and
        `running` names that one and `difference` is what it would be told otherwise; None where none runs.
        """
        rows = self.catalog.list_models()
        row = row_named(model, rows)
        if row is None:
            raise not_one(model, rows)
        running = next((one for one in tenants if one.key == row.name and one.pid and one.launch is not None), None)
        found: dict[str, Any] = {
            "asked": model,
            "model": row.name,
            "configuration": self._configuration(),
            "task": self.planner.task(row),
            "weights": row.weights,
            "routing": self._routing(row),
            "files": list(row.files),
            "fit": self._guard(row),
            "refusal": None,
            "difference": None,
            "running": _child(running),
        }
        try:
            route = self.planner.route(row)
        except Refusal as refusal:
            return found | {"refusal": str(refusal), "engine": None, "rejected": _rejected(self.planner.rejected(row))}
        try:
            # A window that requests asked for stays wished for: the next child gets it, too.
            was = running.launch if running is not None else None
            wish, vision = (was.wish, was.vision) if was is not None else (0, False)
            usage = self.planner.sizing.usage(tenants, gone={row.name})
            launch = plan_once(self.planner, row, row.name, wish, usage, vision=vision)
        except Refusal as refusal:
            return found | {"refusal": str(refusal), "engine": None, "rejected": _rejected(route.rejected)}
        look = judge(launch, tuple(tenants), self.planner.sizing, guard=found["fit"]["guard"])
        found["fit"] |= _fit(look)
        found["refusal"] = None if look.refusal is None or look.evict or look.later else str(look.refusal)
        if running is not None and running.launch is not None:
            found["difference"] = {"pid": running.pid, **self._difference(running.launch, launch)}
        at = (
            running.argv[len(running.launch.plan.words) :] if running is not None and running.launch is not None else ()
        )
        return found | self._launch(launch, at) | {"why": route.why, "rejected": _rejected(route.rejected)}

    def _configuration(self) -> str | None:
        """Why what is explained is not what the file says; None where it is."""
        if self.behind():
            return teaching.explain_config_newer()
        problems = tuple(self.refused())
        return teaching.explain_config_refused(problems) if problems else None

    def _routing(self, row: Model) -> dict[str, str]:
        """What decides beside the weights: the model's own engine, else the table [engine_routing]."""
        rules = self.planner.rules()
        return {
            "mode": rules.mode,
            "policy": rules.policy,
            "engine": self.planner.pin(row),
            "arch": row.arch,
        }

    def _difference(self, was: Launch, now: Launch) -> dict[str, Any]:
        """What the child that runs was told otherwise (case I12). Of variables the names only: their values may be secrets."""
        manifest = self.planner.probe.manifest(now.engine)
        old, new = (launch.plan.words[len(launch.engine.words) :] for launch in (was, now))
        found = difference(old, new, manifest.same)
        before, after = dict(was.plan.env), dict(now.plan.env)
        return {
            "added": list(found.added),
            "removed": list(found.removed),
            "changed": [{"flag": one.flag, "was": one.was, "is": one.now} for one in found.changed],
            "env": {
                "added": sorted(after.keys() - before.keys()),
                "removed": sorted(before.keys() - after.keys()),
                "changed": sorted(name for name in before.keys() & after.keys() if before[name] != after[name]),
            },
            "engine": None
            if (was.engine.tag, was.engine.version) == (now.engine.tag, now.engine.version)
            else {"was": was.engine.tag, "is": now.engine.tag},
        }

    def _launch(self, launch: Launch, running: Sequence[str]) -> dict[str, Any]:
        """`running` are the endpoint's words of the child that runs."""
        engine, plan = launch.engine, launch.plan
        reasons = {one.reason for one in plan.decisions}
        return {
            "engine": {
                "tag": engine.tag,
                "kind": engine.kind,
                "provenance": engine.provenance,
                "class": lane_class(engine),
                "version": engine.version,
            },
            # The endpoint is chosen at the spawn and therefore not among these words.
            "argv": list(plan.words),
            "endpoint": _decisions(endpoint_words(plan, self.planner.drivers[plan.kind], running)),
            "decisions": _decisions(plan.decisions),
            # What a decision says is not said again.
            "notes": [note for note in (*plan.notes, *self._unasked(engine)) if note not in reasons],
            "ctx": window_of(launch.model, plan) or None,
            "slots": plan.slots if launch.manners.slotted else None,
            "load_cap_secs": launch.load_cap,
            "child_auth": self._auth(launch),
            "pictures": _pictures(launch),
        }

    def _unasked(self, engine: Engine) -> tuple[str, ...]:
        """Where nothing is known of a build, nothing is left out: it may end itself over a flag."""
        return () if self.planner.probe.manifest(engine) else (teaching.engine_unasked(engine.tag),)

    def _auth(self, launch: Launch) -> str:
        """Whether the child will ask for a key, and if not, why that is no harm or whose wish it is (D21)."""
        plan = launch.plan
        if plan.auth:
            return teaching.child_with_key()
        if plan.socket:
            return teaching.child_on_socket(plan.socket)
        takes_key = bool(self.planner.drivers[plan.kind].key_file_flag)
        return teaching.child_auth_off() if takes_key else teaching.child_without_key(plan.kind)

    def _guard(self, row: Model) -> dict[str, Any]:
        """The guard on main memory alone, for weights that nothing serves."""
        guard = bool(self.planner.settings_for(row.name).get("spawn_mem_guard", True))
        available = self.hardware.read().ram_available
        return {
            "fits": _unless_drawn(row, fits=not guard or may_load(row.size, available)),
            "guard": guard,
            "weights": row.size,
            "need": guard_bytes(row.size),
            "available": available,
            "note": next(iter(uncounted(row)), None),
        }


def _unless_drawn(row: Model, *, fits: bool) -> bool | None:
    """Where only weights are counted, that they fit says nothing; that they do not is enough."""
    return None if fits and row.weights is Weights.DIFFUSION else fits


def _child(tenant: Tenant | None) -> dict[str, Any] | None:
    """The one that runs."""
    return None if tenant is None or tenant.launch is None else {"pid": tenant.pid, "engine": tenant.launch.engine.tag}


def _pictures(launch: Launch) -> str | None:
    """Why this child would take none, where it could be otherwise; of a projector that it is told of the words say so."""
    return launch.blind if launch.blind and launch.blind != teaching.projector_missing(launch.model.name) else None


def _fit(look: Look) -> dict[str, Any]:
    """What admission would say now: `evict` would leave first, `waits` says that busy ones would have to come to rest."""
    verdict = look.launch.verdict
    return {
        "fits": _unless_drawn(look.launch.model, fits=look.refusal is None),
        "evict": list(look.evict),
        "waits": look.later,
        "verdict": verdict_json(verdict) if verdict is not None else None,
    }


def _decisions(made: Iterable[Decision]) -> list[dict[str, Any]]:
    return [{"words": list(one.words), "key": one.key, "reason": one.reason} for one in made]


def _rejected(lanes: Iterable[Rejected]) -> list[dict[str, str]]:
    """A kind has no class; a build has one."""
    return [
        {"lane": lane.lane, "reason": lane.reason} | ({"class": lane.lane_class} if lane.lane_class else {})
        for lane in lanes
    ]
