"""How an instance looks from outside. Advice only: true when it was read, and never a reason to start or stop anything by itself."""

from blazar.application.ports.children import HOST, LaunchPlan, Measured
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.hinting import STALE_SECS
from blazar.application.supervise.instance import Instance
from blazar.application.supervise.surroundings import Launch
from blazar.application.supervise.tenure import Tenure
from blazar.application.supervise.views import InstanceView
from blazar.domain import teaching
from blazar.domain.instance.eviction import Occupant
from blazar.domain.instance.hints import Worth
from blazar.domain.instance.machine import State
from blazar.domain.kinds import Weights
from blazar.domain.records import Model


def view_of(instance: Instance) -> InstanceView:
    """One row of `ps`."""
    tenure, line = instance.tenure, instance.front.line
    launch = tenure.launch if tenure is not None else None
    child = tenure.child if tenure is not None else None
    plan = launch.plan if launch is not None else None
    memory = child.memory() if child is not None else Measured()
    needed = memory.needed(_host_weights(launch))
    return InstanceView(
        key=instance.key,
        model=instance.model.name,
        state=instance.state,
        engine=launch.engine.tag if launch else "",
        provenance=launch.engine.provenance if launch else "",
        pid=child.pid if child else 0,
        port=child.port if child else 0,
        ctx=window_of(instance.model, plan) if plan else 0,
        slots=line.slots or (plan.slots if plan else 0),
        in_flight=line.in_flight,
        waiting=line.waiting,
        queued=tuple((one.priority.name.lower(), one.kind.name.lower(), one.waiting) for one in line.depths()),
        size=instance.model.size,
        rss=memory.resident,
        expires_at=expires_at(instance),
        load_seconds=tenure.load_seconds if tenure else 0.0,
        argv=tuple(child.argv) if child else plan.words if plan else (),
        notes=_notes(instance, plan),
        last_error=instance.last_error,
        planned=launch.verdict.exact_bytes if launch and launch.verdict else 0,
        measured=needed.total,
        allocated=sum(buffer.bytes for buffer in needed.buffers),
        outdated=instance.front.outdated,
        abandoned=line.abandoned,
        devices=memory.devices,
        cache_hint=tenure.hints.cache_hint if tenure else None,
        spec_accept=tenure.hints.spec_accept if tenure else None,
        sleeping=child is not None and plan is not None and _may_sleep(plan) and line.idle and child.asleep(),
    )


def window_of(model: Model, plan: LaunchPlan) -> int:
    """Tokens of one request; 0 of a model that draws, whose plan has a window like every other and no use for it."""
    return 0 if model.weights is Weights.DIFFUSION else plan.ctx


def uncounted(model: Model) -> tuple[str, ...]:
    """What no figure of ours holds: nobody plans the memory of drawing."""
    return (teaching.pictures_uncounted(),) if model.weights is Weights.DIFFUSION else ()


def _notes(instance: Instance, plan: LaunchPlan | None) -> tuple[str, ...]:
    notes = (*plan.notes, *uncounted(instance.model)) if plan else ()
    return (*notes, teaching.child_outdated()) if instance.front.outdated else notes


def _host_weights(launch: Launch | None) -> int:
    """What the plan counts for the models that lie in main memory; 0: nobody could count it."""
    shares = launch.verdict.shares if launch is not None and launch.verdict is not None else ()
    return sum(share.weights + share.projector + share.draft for share in shares if share.device == HOST)


def expires_at(instance: Instance) -> float:
    """Unix time at which it would go if nobody asked for it any more; 0: it stays."""
    keep_alive, front, clock = instance.front.keep_alive, instance.front, instance.front.clock
    if instance.state is not State.SERVING or keep_alive < 0:
        return 0.0
    rested = clock.now() - front.idle_since if front.line.idle and front.idle_since is not None else 0.0
    return clock.wall() + keep_alive - rested


def occupant_of(instance: Instance, *, pinned: bool) -> Occupant | None:
    """Its place under `max_loaded_models`; None while it has none."""
    tenure, front = instance.tenure, instance.front
    if tenure is None or not tenure.has_room:
        return None
    idle = front.idle_since if instance.state is State.SERVING and front.line.idle else None
    # One that the configuration means otherwise has been told to go where it is idle.
    leaving = instance.state in (State.DRAINING, State.STOPPING) or (idle is not None and front.outdated)
    return Occupant(instance.key, idle, pinned, leaving, _worth(tenure, idle))


def _worth(tenure: Tenure, idle: float | None) -> Worth:
    return Worth() if idle is None else tenure.hints.worth(tenure.hinted_at, idle, STALE_SECS)


def _may_sleep(plan: LaunchPlan) -> bool:
    """Whether it was told to let its memory go while nobody asks, by us or, ours having given way, by words of a person's own."""
    return any(decision.key == "idle_sleep_secs" for decision in plan.decisions)


def tenant_of(instance: Instance, *, pinned: bool) -> Tenant | None:
    """What memory it has or was promised; None while it is neither."""
    tenure, front = instance.tenure, instance.front
    if tenure is None or tenure.launch is None or not tenure.admitted:
        return None
    child, verdict = tenure.child, tenure.launch.verdict
    idle = front.idle_since if instance.state is State.SERVING and front.line.idle else None
    promised: tuple[tuple[str, int], ...] = ()
    if tenure.ready_at is None:
        # What nobody can count is taken to need its files' size.
        shares = verdict.shares if verdict is not None else ()
        promised = tuple((share.device, share.used) for share in shares) or ((HOST, tenure.launch.plan.weights),)
    # Pages that nobody reads again are there for a newcomer, and are no part of what this one would give back.
    measured = child.memory().needed(_host_weights(tenure.launch)) if child is not None else Measured()
    if tenure.ready_at is not None:
        tenure.most = max(tenure.most, measured.resident)
    return Tenant(
        key=instance.key,
        pid=child.pid if child is not None else 0,
        idle_since=idle,
        pinned=pinned,
        leaving=instance.state in (State.DRAINING, State.STOPPING),
        measured=measured,
        promised=promised,
        again=((HOST, tenure.most),) if _may_sleep(tenure.launch.plan) else (),
        tenure=tenure,
        launch=tenure.launch,
        argv=tuple(child.argv) if child is not None else (),
        worth=_worth(tenure, idle),
    )
