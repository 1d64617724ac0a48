"""One slot of one child, held by one request. Knows how to give itself back exactly once, also when its child is long gone."""

from typing import Protocol

from blazar.application.supervise.leasing import Lease
from blazar.application.supervise.tenure import Tenure
from blazar.domain.admission.work import Work
from blazar.domain.errors import Fault


class Landlord(Protocol):
    """Whoever handed the slot out."""

    def on_release(
        self, tenure: Tenure, keep_alive: float | None, *, failed: bool, abandoned: bool, raw: bool
    ) -> None: ...

    def on_refund(self, tenure: Tenure, work: Work) -> None: ...

    def on_abandon(self, tenure: Tenure, keep_alive: float | None) -> None: ...

    def on_condemn(self, tenure: Tenure) -> None: ...


class ChildLease(Lease):
    """See `Lease`. Made on the hot path: plain slots, nothing computed."""

    __slots__ = (
        "_abandoned",
        "_held",
        "_landlord",
        "_raw",
        "_tenure",
        "blind",
        "called",
        "ctx",
        "ctx_key",
        "engine",
        "guesses",
        "key",
        "late",
        "load_seconds",
        "manners",
        "model",
        "queue_seconds",
        "thoughtless",
        "toolless",
        "upstream",
    )

    def __init__(
        self,
        landlord: Landlord,
        tenure: Tenure,
        load_seconds: float = 0.0,
        queue_seconds: float = 0.0,
        *,
        raw: bool = False,
    ) -> None:
        launch, child = tenure.launch, tenure.child
        assert launch is not None
        assert child is not None
        self.model = launch.model
        self.key, self.engine = tenure.key, launch.engine.tag
        self.upstream = child.upstream
        self.ctx = launch.plan.ctx
        # No setting makes more of a window that is all a model was trained for.
        self.ctx_key = "" if 0 < self.model.ctx_train <= self.ctx else launch.plan.ctx_key
        self.blind = launch.blind
        self.toolless, self.late, self.guesses, self.thoughtless = launch.handling
        self.called, self.manners = launch.called or launch.model.name, launch.manners
        self.load_seconds = load_seconds
        self.queue_seconds = queue_seconds
        self._landlord = landlord
        self._tenure = tenure
        self._held, self._abandoned, self._raw = True, False, raw

    def release(self, keep_alive: float | None = None, *, failed: bool = False) -> None:
        if self._held:
            self._held = False
            wish = None if self._abandoned else keep_alive  # told when it was left; others may have wished since
            self._landlord.on_release(self._tenure, wish, failed=failed, abandoned=self._abandoned, raw=self._raw)

    def hand_back(self, work: Work) -> None:
        if self._held:
            self._landlord.on_refund(self._tenure, work)
            self.release()

    def abandon(self, keep_alive: float | None = None) -> None:
        if self._held and not self._abandoned:
            self._abandoned = True
            self._landlord.on_abandon(self._tenure, keep_alive)

    def condemn(self) -> None:
        if self._held:
            self._landlord.on_condemn(self._tenure)

    async def explain(self, fault: Fault) -> Fault:
        return await self._tenure.explain(fault)
