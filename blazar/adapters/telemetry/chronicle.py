"""What happened lately, and of each model the last of every kind for longer: a model that serves for a week was loaded for some reason.

Tellers may be in any thread.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.recollection import Happenings
from blazar.application.ports.telemetry import Events, Told

LATELY: Final = 1024
MODELS: Final = 256
"""Of more the one that was told of longest ago is forgotten."""
KINDS: Final = 32
"""Of one model; there are fewer."""


class Chronicle(Events, Happenings):
    """Tells `inner` first."""

    def __init__(self, inner: Events, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        self._lately: deque[Told] = deque(maxlen=LATELY)
        self._of_models: OrderedDict[str, dict[str, Told]] = OrderedDict()
        self._lock = threading.Lock()

    def emit(self, kind: str, **facts: Any) -> None:
        self._inner.emit(kind, **facts)
        told = Told(0, self._clock.wall(), kind, facts)
        with self._lock:
            self._lately.append(told)
            if isinstance(model := facts.get("model"), str):
                self._remember(model, told)

    def _remember(self, model: str, told: Told) -> None:
        kinds = self._of_models.setdefault(model, {})
        self._of_models.move_to_end(model)
        if told.kind in kinds or len(kinds) < KINDS:
            kinds[told.kind] = told
        if len(self._of_models) > MODELS:
            self._of_models.popitem(last=False)

    def between(self, since: float, until: float) -> Sequence[Told]:
        with self._lock:
            return [told for told in self._lately if since <= told.at <= until]

    def last(self, model: str, before: float) -> Sequence[Told]:
        with self._lock:
            # What came after that moment may stand in the place of what came before it: then the shorter memory has it.
            newest = {told.kind: told for told in self._of_models.get(model, {}).values() if told.at <= before}
            for told in self._lately:
                known = newest.get(told.kind)
                if told.facts.get("model") == model and told.at <= before and (known is None or told.at >= known.at):
                    newest[told.kind] = told
        return sorted(newest.values(), key=lambda told: told.at)
