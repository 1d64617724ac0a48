"""What must be so on other machines before a child starts: its workers are there, and its build can use them. Starts nothing.

A child that is told of a worker which is not there ends itself, or hangs until its load is given up. A plan does not ask: it is made
without that worker's devices and says so.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from blazar.application.ports.workers import State, Worker, Workers
from blazar.application.supervise.surroundings import Launch
from blazar.domain import teaching
from blazar.domain.errors import Busy, Malformed

ASK_AGAIN_SECS = 5.0


@dataclass(frozen=True, slots=True)
class Preflight:
    """`workers` None: nobody can ask them, and the engine finds out.

    `sees(launch)`: whether its build finds a device on its workers; None where it does not say what it finds. It may run that build.
    """

    workers: Workers | None
    sees: Callable[[Launch], Awaitable[bool | None]]

    async def __call__(self, launch: Launch, *, last: bool) -> None:
        """Raises `Busy` for what may be otherwise soon, `Malformed` for what somebody has to change.

        Asked twice: before anybody leaves for this load, and, `last`, right before the spawn. Only then does it mean something that
        a worker is silent, or that no device is seen: the model that used it may have had to go first.
        """
        if not launch.workers or self.workers is None:
            return
        key, model = _key(launch), launch.plan.key
        found = await self.workers.ask(tuple(dict.fromkeys(launch.workers.split(","))))
        if absent := [teaching.worker_absent(one.endpoint, one.why) for one in found if one.state is State.ABSENT]:
            raise Busy(teaching.workers_absent(model, key, absent), ASK_AGAIN_SECS)
        if strange := _those(found, State.STRANGE):
            raise Malformed(teaching.workers_strange(model, key, strange), key)
        if not last:
            return
        if silent := _those(found, State.SILENT):
            raise Busy(teaching.workers_silent(model, key, silent), ASK_AGAIN_SECS)
        if await self.sees(launch) is False:
            spoken = [teaching.worker_speaks(one.endpoint, one.version) for one in found]
            raise Malformed(teaching.workers_unlike(model, key, launch.engine.tag, spoken), key)


def _those(found: Sequence[Worker], state: State) -> list[str]:
    return [one.endpoint for one in found if one.state is state]


def _key(launch: Launch) -> str:
    """What names the workers: the key of the words that the child is told of them by."""
    return next(one.key for one in launch.plan.decisions if launch.workers in one.words)
