"""What every instance needs of the world, and the numbers that configuration sets. Decides nothing."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from blazar.application.ports.children import Children, LaunchPlan
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Events, Meter
from blazar.application.supervise.rerouting import Detour
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.verdict import Verdict
from blazar.domain.instance.idle import FOREVER, LONGEST_STAY
from blazar.domain.kinds import Task
from blazar.domain.manners import LLAMACPP, Manners
from blazar.domain.records import Engine, Model


class Limits(NamedTuple):
    """Numbers from configuration. `max_loaded_models` 0: no bound; `idle_timeout_secs` 0: never; no load cap: the driver's."""

    max_loaded_models: int = 0
    idle_timeout_secs: float = 1800.0
    model_load_timeout_secs: float | None = None
    spawn_mem_guard: bool = True
    drain_secs: float = 30.0  # an explicit eviction waits so long for requests in flight (D4)
    waiting: int = 512  # tickets before one child (D17)
    pinned: frozenset[str] = frozenset()
    adaptive_slots: bool = True  # a model that is crowded for a minute gets a slot more (D18)

    @property
    def keep_alive(self) -> float:
        """What `keep_alive` is for requests that do not say; negative: for ever."""
        return self.idle_timeout_secs if 0 < self.idle_timeout_secs <= LONGEST_STAY else FOREVER


class Sized(NamedTuple):
    """A verdict with what it was made from; `cap` above 0: the window was open up to it."""

    verdict: Verdict
    asked: Settings
    cap: int
    shape: ModelShape
    machine: Machine


class Handling(NamedTuple):
    """What the doors have to know of a child before they ask it."""

    toolless: bool = False  # its template has no place for tools
    late: str = ""  # how one vector is made of those that it gives for tokens; "": it makes one itself
    guesses: bool = False  # tokens are guessed ahead, and those have no log probabilities
    thoughtless: bool = False  # its template knows nothing of thinking


class Launch(NamedTuple):
    """A plan and where it came from."""

    plan: LaunchPlan
    model: Model
    engine: Engine
    load_cap: float
    wish: int = 0  # the window that requests asked for
    sized: Sized | None = None  # None: nobody can count what these weights take
    workers: str = ""  # RPC servers that the child is told of
    settings: Mapping[str, Any] = MappingProxyType({})  # the configuration that it was planned with
    vision: bool = False  # requests with pictures asked for it
    projector: bool = False  # it is told of one
    blind: str = ""  # why it takes no pictures; "": it does, or its engine alone knows
    manners: Manners = LLAMACPP  # how its server wants to be asked
    called: str = ""  # what a request must call the model; "": its name
    handling: Handling = Handling()
    why: str = ""  # why this build serves it
    read: tuple[
        tuple[str, str], ...
    ] = ()  # files that the child reads as it starts, and which they were when it was planned

    @property
    def verdict(self) -> Verdict | None:
        """What the planner says about it."""
        return None if self.sized is None else self.sized.verdict


class Preflights(Protocol):
    """Looks at what a launch needs of other machines: before anybody leaves for it, and `last`, right before it starts."""

    async def __call__(self, launch: Launch, *, last: bool) -> None: ...


@dataclass(slots=True)
class Surroundings:
    """Ports, the limits as they are now, and the supervisor's services to its instances.

        `prepare(key, ctx, vision)` plans a launch, `claim(key)` returns once there is room for one more child, `admit(launch)` once there
        is memory, with the launch as it is planned then; `preflight(launch)` that its workers are there. Each raises a Refusal, and each may take a while: whoever awaits it must
        expect to be called off meanwhile. `changed()` tells the supervisor that a child became ready or idle, or went away,
        `review(key)` that it is ready and may have been planned with a configuration that has changed since. `task(model)` is what
        its next child will be started for, `adopt(key, slots)` what its plans are to aim at (0: as they come), `grows(key)` whether they would reach it
    if its child were gone, `detour(launch, lines)` where it goes when its build ended over the architecture.
    """

    clock: Clock
    children: Children
    meter: Meter
    events: Events
    limits: Limits
    prepare: Callable[[str, int, bool], Awaitable[Launch]]
    claim: Callable[[str], Awaitable[None]]
    admit: Callable[[Launch], Awaitable[Launch]]
    preflight: Preflights
    changed: Callable[[], None]
    review: Callable[[str], Awaitable[None]]
    task: Callable[[Model], Task]
    adopt: Callable[[str, int], None]
    grows: Callable[[str], Awaitable[bool]]
    detour: Callable[[Launch, Sequence[str]], Detour | None]
