"""What is remembered of requests that have ended and of what happened to children, for whoever asks why. Bounded, gone with the daemon."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from blazar.application.ports.telemetry import Served, Told


class Kept(NamedTuple):
    """One request. `ended` is Unix time."""

    ended: float
    served: Served

    @property
    def at(self) -> float:
        """When it came."""
        return self.ended - self.served.seconds


class Requests(Protocol):
    """Those that ended last, the refused ones too."""

    def newest_first(self) -> Sequence[Kept]:
        """All that are remembered."""
        ...


class Happenings(Protocol):
    """What was told of children, engines and the configuration."""

    def between(self, since: float, until: float) -> Sequence[Told]:
        """In that stretch of Unix time, oldest first."""
        ...

    def last(self, model: str, before: float) -> Sequence[Told]:
        """The newest of each kind about that model until then, oldest first; remembered for longer than the rest."""
        ...
