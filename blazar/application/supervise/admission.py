"""Whether a load may begin: looks at the machine, plans anew, lets idle models go, waits for busy ones. Stops nothing itself.

Nothing is locked while it waits or looks (case G16). Looking takes place in a thread; if anybody was let in, got ready or left
meanwhile, it looks again, so that no byte is given away twice. The caller takes what it was granted before it awaits anything.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from blazar.application.ports.clock import Clock
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.leasing import DEFAULT_WAIT
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Launch
from blazar.domain import teaching
from blazar.domain.errors import Busy, DoesNotFit, Malformed, Refusal
from blazar.domain.fit.guard import guard_bytes, may_load
from blazar.domain.fit.verdict import Outcome, Verdict

LOOK_SECS = 3.0
"""Between two looks while it waits: a driver may count a dead child's memory for a moment longer."""

Tenants = tuple[Tenant, ...]
Refused = TypeVar("Refused", bound=Refusal)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: the launch as it would be now, why it must not begin, and whether it could once everybody rests."""

    launch: Launch
    refusal: DoesNotFit | Malformed | None = None
    evict: tuple[str, ...] = ()
    later: bool = False


def never_loaded(_: str) -> None:
    """Where nobody remembers what was loaded before."""


@dataclass(frozen=True, slots=True)
class Admission:
    """`tenants(key)` are all children but that one's; `replan` plans and judges anew, with them in mind and a fresh census.

    `fitted(key)` is what it was loaded with the last time: where memory is short only now, a refusal names it.
    """

    clock: Clock
    tenants: Callable[[str], Tenants]
    replan: Callable[[Launch, Tenants], Look]
    stop_idle: Callable[[str], None]
    next_change: Callable[[float], Awaitable[None]]
    blocking: Callable[[Callable[[], Any]], Awaitable[Any]]
    fitted: Callable[[str], Verdict | None] = never_loaded

    async def __call__(self, launch: Launch) -> Launch:
        """The launch that may begin now. Raises `DoesNotFit` or `Malformed` when waiting is in vain, `Busy` when it was."""
        key, until = launch.plan.key, self.clock.now() + DEFAULT_WAIT
        while True:
            look = await self._look(launch)
            if look.refusal is None:
                return look.launch
            if not look.evict and not look.later:
                raise self._by_then(key, look.refusal, look.launch.verdict)
            left = until - self.clock.now()
            if left <= 0:
                raise self._by_then(key, Busy(teaching.memory_is_busy(key), 1.0), look.launch.verdict)
            # The victim's own task looks again: one that became busy meanwhile ignores this, and we look again too.
            for victim in look.evict:
                self.stop_idle(victim)
            await self.next_change(min(left, LOOK_SECS))

    def _by_then(self, key: str, refusal: Refused, now: Verdict | None) -> Refused:
        """The same with what fitted before, unless it would not any more, however little else ran."""
        before, hopeless = self.fitted(key), (Outcome.NEVER, Outcome.REFUSED)
        if before is not None and (now is None or now.outcome not in hopeless):
            told = before.settings
            slots, cache = max(told.parallel, 1), (told.cache_type_k, told.cache_type_v)
            refusal.args = (teaching.fitted_before(str(refusal), before.ctx, slots, cache, before.exact_bytes),)
        return refusal

    async def _look(self, launch: Launch) -> Look:
        """A look that is still true when it is returned."""
        while True:
            before = self.tenants(launch.plan.key)
            look: Look = await self.blocking(partial(self.replan, launch, before))
            after = self.tenants(launch.plan.key)
            if [one.phase for one in before] == [one.phase for one in after]:
                return look


def judge(launch: Launch, tenants: Tenants, sizing: Sizing, *, guard: bool) -> Look:
    """What a fresh plan means for who wants to load now. `guard` off refuses only what the engine would refuse.

    Nobody is sent away in vain: idle models leave only where that suffices, and busy ones are waited for only where their
    going would. A pinned one never goes, and what other programs hold is not waited for.
    """
    if (hopeless := hopeless_by(launch, guard=guard)) is not None:
        return Look(launch, hopeless)
    if (sized := launch.sized) is None or (verdict := sized.verdict).fits:
        return Look(launch, _guarded(launch, sizing) if guard else None)
    refusal = DoesNotFit(_why(launch, verdict))
    if verdict.evict and sizing.fits_without(sized, verdict.evict):
        return Look(launch, refusal, verdict.evict)
    if not guard:
        return Look(launch)
    others = [one for one in tenants if one.key != launch.plan.key]
    if all(one.pinned and not one.leaving for one in others):
        return Look(launch, refusal)
    usage = sizing.usage(tenants, rested=True, gone={launch.plan.key})
    at_rest = sized._replace(machine=sizing.machine(launch.engine, usage, launch.workers))
    leaving = {one.key for one in others if one.leaving or not one.pinned}
    return Look(launch, refusal, later=sizing.fits_without(at_rest, leaving))


def hopeless_by(launch: Launch, *, guard: bool) -> DoesNotFit | Malformed | None:
    """Why no waiting helps: known before anybody leaves for it."""
    verdict = launch.verdict
    if verdict is not None and verdict.outcome is Outcome.REFUSED:
        return Malformed(_why(launch, verdict))
    if guard and verdict is not None and verdict.outcome is Outcome.NEVER:
        return DoesNotFit(_why(launch, verdict))
    return None


def _why(launch: Launch, verdict: Verdict) -> str:
    return teaching.fit_refused(launch.plan.key, verdict.sentence, verdict.levers)


def _guarded(launch: Launch, sizing: Sizing) -> DoesNotFit | None:
    """The contract's own guard: it asks for main memory alone, whatever the plan says about accelerators."""
    weights, available = launch.plan.weights, sizing.hardware.read().ram_available
    if may_load(weights, available):
        return None
    return DoesNotFit(teaching.not_enough_memory(launch.plan.key, guard_bytes(weights), available))
