"""Where releases of engines are announced. Nothing is asked unless a verb or the look for newer builds does."""

from typing import Protocol

from blazar.domain.errors import BlazarError
from blazar.domain.releases import Asset, Release


class ReleaseFeed(Protocol):
    """One host of repositories. Blocking; call it off the event loop.

    Everything raises `NotFound` (no such repository or release), `Busy` (asked too often, with the time) and `RegistryTrouble`
    (unreachable, or its answers make no sense).
    """

    def listing(self, repository: str) -> tuple[Release, ...]:
        """The last thirty or so, in the host's order; drafts left out."""
        ...

    def stable(self, repository: str) -> Release:
        """The newest that is no prerelease, as the host sees it."""
        ...

    def tagged(self, repository: str, tag: str) -> Release: ...

    def text(self, asset: Asset) -> str:
        """A small text file: checksums, a marker. At most 1 MiB."""
        ...

    def stop(self, why: BlazarError) -> None:
        """From any thread: what is being asked raises `why`, and so does all that comes after."""
        ...

    def close(self) -> None:
        """Let connections go."""
        ...
