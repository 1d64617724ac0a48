"""A model that is crowded gets a slot more (D18): at once where its engine takes as many as come, else with its next child.

That one takes the place of the first in a quiet moment, so that nobody waits for it, and only where the plan has room. A crowd that
leaves none is held for it once: what runs may end, and who waits gets in before its bound is over. Decides whether; `Instance` starts and
stops.
"""

from typing import TYPE_CHECKING

from blazar.application.ports.clock import Clock
from blazar.application.supervise.fit_settings import slots_for
from blazar.application.supervise.surroundings import Launch
from blazar.domain.admission.queue import AdmissionQueue
from blazar.domain.admission.slots import Crowd, one_more

if TYPE_CHECKING:
    from blazar.application.ports.clock import Timer

QUIET_SECS = 5.0
"""Seconds of rest before a child is replaced by a wider one: between two requests of one client there is less."""

HELD_SECS = 10.0
"""How long a crowd is kept back for a wider child: what runs has ended by then, or another minute shows a better moment. A third of what
an ordinary request waits."""


class Growth:
    """Watches one queue."""

    __slots__ = ("_clock", "_crowd", "_line", "crowded", "holds", "timer", "wanted")

    def __init__(self, clock: Clock, line: AdmissionQueue) -> None:
        self._clock, self._line = clock, line
        self._crowd = Crowd()
        self.wanted = False  # the child that serves is to be replaced by a wider one
        self.timer: Timer | None = None
        self.holds = False  # new requests are kept back for it
        self.crowded: Timer | None = None  # rings when no quiet moment has come

    def due(self) -> bool:
        """Asked after anything that may have changed who waits: whether it is time for a slot more. True once a minute."""
        waiting = self._line.is_open and self._line.waiting > 0
        if not waiting and not self._crowd.gathers:
            return False
        now = self._clock.now()
        self._crowd.note(now, waiting=waiting)
        if not self._crowd.lasts(now):
            return False
        self._crowd.forget()
        return True

    def forget(self) -> None:
        """There is another child, or none."""
        self._crowd.forget()
        self.wanted = self.holds = False
        self.calm()
        self.wait(None)

    def wait(self, timer: "Timer | None") -> None:
        """For a quiet moment no longer than that."""
        if self.crowded is not None:
            self.crowded.cancel()
        self.crowded = timer

    def calm(self) -> None:
        """No quiet moment is waited for any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def wider(launch: Launch, slots: int) -> int:
    """How many slots it is to have instead; as many as it has where somebody chose them, or nothing would follow from more."""
    open_slots = launch.manners.slotted and not slots_for(launch.settings)
    return one_more(slots) if open_slots and (launch.manners.gathers or launch.sized is not None) else slots
