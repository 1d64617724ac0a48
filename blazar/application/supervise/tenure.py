"""One child's life: brought up, watched, stopped by the ladder, buried. Reports by messages and changes no instance state.

Belongs to exactly one instance task. Whatever is told late, by a child that has been replaced, carries its tenure and is
recognised by it.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from blazar.application.ports.children import Child
from blazar.application.supervise.rerouting import LAST_WORDS
from blazar.application.supervise.surroundings import Launch, Surroundings
from blazar.application.supervise.waiting import settle, within
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, ChildDied, Fault
from blazar.domain.full_disks import says_full
from blazar.domain.instance.hints import CacheHints
from blazar.domain.instance.machine import LADDER, LOST_AFTER, LoadWatch

if TYPE_CHECKING:
    from blazar.application.ports.clock import Timer

EXIT_NOTICED_SECS = 0.9
"""How long a broken answer waits for the news of its child's death (contract of `Lease.explain`: under a second)."""
HANG_UP_SECS = 1.0
BURIAL_SECS = 5.0
"""Bounds for closing our own connections and files; they take microseconds and must never hold up a signal."""
LAST_LINES = 5


class Started(NamedTuple):
    """There is a process."""

    tenure: "Tenure"


class Ready(NamedTuple):
    """It answers, and it is ours."""

    tenure: "Tenure"


class NotStarted(NamedTuple):
    """There is no process; `error` is None when the start was called off."""

    tenure: "Tenure"
    error: BlazarError | None


class Exited(NamedTuple):
    """There is no process any more."""

    tenure: "Tenure"
    status: int


class Lost(NamedTuple):
    """KILL had no effect in time."""

    tenure: "Tenure"


class Broke(NamedTuple):
    """A bug on our side while we looked after it."""

    tenure: "Tenure"
    error: BaseException


def poll_pause(elapsed: float) -> float:
    """Seconds to the next readiness poll: a twentieth of the load so far, so that polling adds 5 % at most."""
    return min(0.25, max(0.02, elapsed / 20))


def exit_text(status: int) -> str:
    """An exit status in words."""
    name = ""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
    return teaching.exit_status(status, name)


class Tenure:
    """From the wish for a child to its burial."""

    def __init__(self, key: str, around: Surroundings, post: Callable[[Any], None]) -> None:
        self.key = key
        self.launch: Launch | None = None
        self.child: Child | None = None
        self.watch: LoadWatch | None = None
        self.has_room = False
        self.admitted = False  # its memory is promised to it, from then until it is ready
        self.wish = 0  # the window asked for; grows until the plan stands
        self.vision = False  # whether pictures were asked for before it did
        self.stale = False  # its successor is to take over, for pictures that came later or for another configuration
        self.started_at = around.clock.now()
        self.ready_at: float | None = None
        self.slots = 0  # requests at once, as its child says or else as it was planned
        self.most = 0  # bytes of main memory that it has been seen to hold while it served
        self.hints = CacheHints()
        self.hinted_at: float | None = None  # when it was last asked for them
        self.cause = ""  # why we want it gone
        self.signalled = False
        self.last_words: tuple[str, ...] = ()  # more of them, for the daemon to read
        self.last_lines: tuple[str, ...] = ()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._around = around
        self._post = post
        self._tasks: set[asyncio.Task[None]] = set()
        self._bringing: asyncio.Task[None] | None = None
        self._climbing: asyncio.Task[None] | None = None
        self._starting = False
        self._calling_off: Timer | None = None

    @property
    def load_seconds(self) -> float:
        return 0.0 if self.ready_at is None else self.ready_at - self.started_at

    def begin(self, ctx: int, *, vision: bool = False) -> None:
        """Bring a child up; tells Started and Ready, or NotStarted."""
        self.wish, self.vision = ctx, vision
        self._bringing = self._run(self._bring_up())
        self._bringing.add_done_callback(self._on_brought)

    async def _bring_up(self) -> None:
        around = self._around
        try:
            launch = self.launch = await self._plan()
            await around.preflight(launch, last=False)
            await around.claim(self.key)
            self.has_room = True
            # After others have gone, so that their memory counts as free; planned anew, for there may be more or less of it.
            launch = self.launch = await around.admit(launch)
            self.admitted = True  # before anything is awaited: nobody else is promised the same bytes
            await around.preflight(launch, last=True)
            self.watch = LoadWatch(around.clock.now(), around.limits.model_load_timeout_secs or launch.load_cap)
            self._starting = True
            child = self.child = await around.children.spawn(launch.plan)
        except BlazarError as error:
            self._post(NotStarted(self, error))
            return
        self._run(self._watch())
        self._post(Started(self))
        began = around.clock.now()
        while not await child.is_ready():
            await around.clock.sleep(poll_pause(around.clock.now() - began))
        self.slots = await child.slots() or launch.plan.slots
        self._post(Ready(self))

    async def _plan(self) -> Launch:
        """The plan for all that was asked for while planning, which may run a binary and take seconds."""
        while True:
            wish, vision = self.wish, self.vision
            launch = await self._around.prepare(self.key, wish, vision)
            if (wish, vision) == (self.wish, self.vision):
                return launch

    def _on_brought(self, task: asyncio.Task[None]) -> None:
        if self._calling_off is not None:
            self._calling_off.cancel()
        if task.cancelled() and self.child is None:
            self._post(NotStarted(self, None))

    async def _watch(self) -> None:
        assert self.child is not None
        status = await self.child.wait()
        self.last_words = tuple(self.child.last_lines(LAST_WORDS))
        self.last_lines = self.last_words[-LAST_LINES:]
        settle(self.ended, status)
        self._post(Exited(self, status))

    def told(self) -> dict[str, Any]:
        """What is told of a child that begins to serve: enough to say later why it was this one, and how large."""
        launch = self.launch
        assert launch is not None
        return {
            "engine": launch.engine.tag,
            "seconds": self.load_seconds,
            "lane": str(launch.engine.kind),
            "ctx": launch.plan.ctx,
            "slots": self.slots,
            "planned": launch.verdict.exact_bytes if launch.verdict is not None else 0,
            "why": launch.why,
        }

    def mark_ready(self) -> None:
        """It serves."""
        self.ready_at = self._around.clock.now()
        if self.child is not None:
            self.most = self.child.memory().needed().resident

    def climb(self) -> None:
        """Begin to stop it; safe to call again once there is a process."""
        self.signalled = True
        if self._bringing is not None and (self.child is not None or not self._starting):
            self._bringing.cancel()
        if self.child is not None and self._climbing is None:
            self._climbing = self._run(self._ladder(self.child))
        elif self.child is None and self._starting:
            # A start under way is awaited, for cutting it could leave a process nobody knows; not for longer than the ladder.
            self._calling_off = self._around.clock.call_later(LADDER[-1].at, self._call_off)

    def _call_off(self) -> None:
        if self.child is None and self._bringing is not None:
            self._bringing.cancel()

    async def _ladder(self, child: Child) -> None:
        clock = self._around.clock
        # Connections first: a llama-server with an open stream does not leave on TERM (D31).
        await self._bounded(child.upstream.aclose(), HANG_UP_SECS)
        began = clock.now()
        for rung in LADDER:
            await clock.sleep(max(0.0, began + rung.at - clock.now()))
            child.signal(rung.number)
        await clock.sleep(max(0.0, began + LOST_AFTER - clock.now()))
        self._post(Lost(self))

    async def bury(self) -> None:
        """After its exit: give back what it held, and end our own tasks for it."""
        for task in (self._bringing, self._climbing):
            if task is not None:
                task.cancel()
        if self.child is not None:
            await self._bounded(self.child.aclose(), BURIAL_SECS)

    def abandon(self) -> None:
        """Our own code broke: no grace, but nothing is left behind either."""
        if self.child is not None:
            self.child.signal(LADDER[-1].number)
            self._run(self._after_abandon())
        elif self._bringing is not None:
            self._bringing.cancel()

    async def _after_abandon(self) -> None:
        await within(self._around.clock, BURIAL_SECS, self.ended)
        await self.bury()

    async def explain(self, fault: Fault) -> Fault:
        """The same fault with the child's last words, if it died."""
        if not isinstance(fault, ChildDied) or not await within(self._around.clock, EXIT_NOTICED_SECS, self.ended):
            return fault
        if self.signalled:
            return ChildDied(teaching.evicted_while_waiting(self.key))
        return ChildDied(teaching.child_died(self.key, exit_text(self.ended.result()), self.last_lines))

    def died_loading(self, status: str) -> str:
        """What is said of one that ended before it served: over a full disk, where its last words say so."""
        say = teaching.child_disk_full if says_full(self.last_words) else teaching.child_died_loading
        return say(self.key, status, self.last_lines)

    async def _bounded(self, work: Coroutine[Any, Any, None], seconds: float) -> None:
        """Do it, but not for longer than that."""
        task = self._run(work)
        if not await within(self._around.clock, seconds, task):
            task.cancel()

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._post(Broke(self, error))

    async def aclose(self) -> None:
        """End every task that is still ours."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
