"""A pull that does what a test says, in the thread that it is given."""

from collections.abc import Sequence
from threading import Event, Lock

from blazar.application.models.pulling import OnePull, Pulled, Step, Told, Wish
from blazar.domain.errors import BlazarError
from blazar.domain.records import Model


class ScriptedPull(OnePull):
    """`steps` are told one after the other; an `Event` among them is waited for. Then `error` is raised, or `model` is there."""

    def __init__(
        self,
        steps: Sequence[Step | Event] = (),
        model: Model | None = None,
        error: BaseException | None = None,
        *,
        fresh: bool = True,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.steps, self.model, self.error, self.fresh, self.notes = steps, model, error, fresh, notes
        self.wishes: list[Wish] = []
        self.stopped: list[BlazarError] = []
        self.ended = Event()
        self._lock = Lock()
        self._waits: Event | None = None

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        self.wishes.append(wish)
        try:
            for step in self.steps:
                if isinstance(step, Event):
                    self._wait(step)
                else:
                    self._raise_if_stopped()
                    told(step)
            self._raise_if_stopped()
            if self.error is not None:
                raise self.error
            return Pulled(self.model, self.fresh, notes=self.notes)
        finally:
            self.ended.set()

    def stop(self, why: BlazarError) -> None:
        with self._lock:
            self.stopped.append(why)
            if self._waits is not None:
                self._waits.set()

    def _wait(self, event: Event) -> None:
        with self._lock:
            self._waits = event
            if self.stopped:
                event.set()
        event.wait()

    def _raise_if_stopped(self) -> None:
        if self.stopped:
            raise self.stopped[0]
