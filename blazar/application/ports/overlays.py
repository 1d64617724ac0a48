"""What was laid over models when they were created: the record of it, and the keys of the configuration that it means."""

from collections.abc import Mapping
from typing import Any, Protocol

from blazar.domain.overlay import Overlay


class Overlays(Protocol):
    """Blocking: call it off the loop."""

    def find(self, name: str) -> Overlay | None:
        """None where nothing was laid over that model, or what was cannot be read."""
        ...

    def keep(self, name: str, overlay: Overlay, settings: Mapping[str, Any], *, instead: bool = False) -> None:
        """From now on this; `settings` are keys of its override, and what an earlier overlay wrote that is not among them goes.

        `instead`: the name is another model's from now on, so what an earlier copy brought of a person's own goes, too.

        Raises `BadConfig` or `Conflict` where the configuration cannot say so, `StoreTrouble` where it cannot be written.
        """
        ...

    def renew(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """As `keep`, where nobody wished for it just now: what a person wrote into the override, or took out of it, stays so.

        Answers the keys of `settings` of which that is true. Raises what `keep` raises.
        """
        ...

    def carry(self, source: str, target: str) -> None:
        """What holds for one model for another, too: what lies over it, and what a person wrote into its override, or took out of it.

        It takes the place of what lay over the other; what a person wrote into the other's stays. What came so goes with `forget`.
        Raises what `keep` raises, and `BadConfig` where the configuration cannot be read: then all is as before.
        """
        ...

    def check_writable(self, name: str) -> None:
        """Raises what `keep` raises where nothing can be kept, or the configuration says nothing of that model yet and cannot be changed."""
        ...

    def check_forgettable(self, name: str) -> None:
        """Raises what `forget` would, as far as that can be told; a full disk is none of it."""
        ...

    def forget(self, name: str) -> None:
        """As if there never had been one. What a person wrote into the same override stays.

        Raises what `keep` raises.
        """
        ...
