"""One report, several listeners: a finished request is told to the meter, the access log and the audit log."""

from collections.abc import Callable, Collection

from blazar.application.ports.telemetry import Meter, Served


class FanoutMeter(Meter):
    """The meter, and whoever else wants to hear of finished requests. Listeners are called in order and must not block."""

    def __init__(self, meter: Meter, *listeners: Callable[[Served], None]) -> None:
        self._meter = meter
        self._tell = (meter.on_served, *listeners)

    def add(self, listener: Callable[[Served], None]) -> None:
        """From now on it hears of finished requests, too, after the others."""
        self._tell = (*self._tell, listener)

    def remove(self, listener: Callable[[Served], None]) -> None:
        """From now on it does not."""
        self._tell = tuple(tell for tell in self._tell if tell != listener)

    def on_served(self, served: Served) -> None:
        for tell in self._tell:
            tell(served)

    def on_spawn(self, model: str, seconds: float) -> None:
        self._meter.on_spawn(model, seconds)

    def on_evicted(self, model: str, cause: str) -> None:
        self._meter.on_evicted(model, cause)

    def on_crashed(self, model: str) -> None:
        self._meter.on_crashed(model)

    def exposition(self, models: Collection[str] | None = None) -> bytes:
        return self._meter.exposition(models)
