"""When a batch may ask: never in front of anybody. The one seam where a queue with priorities takes over.

Batches ask one request at a time; with a queue that knows LOW priority, `free` is always true and the ticket says the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from blazar.application.supervise.views import InstanceView
from blazar.domain import names


@dataclass(frozen=True, slots=True)
class Turns:
    """Looks at who is served and who waits, now."""

    views: Callable[[], Sequence[InstanceView]]

    def free(self, model: str) -> bool:
        """Whether nobody waits for any model, and a place at this one is free or it is not loaded at all."""
        views = self.views()
        if any(view.waiting for view in views):
            return False
        meant = names.resolve(model, {view.model for view in views})
        mine = [view for view in views if view.model == meant]
        return not mine or any(view.in_flight < view.slots for view in mine)
