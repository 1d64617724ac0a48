"""Sources of releases and forks, and builds of forks, fetched to this machine."""

from typing import NamedTuple, Protocol

from blazar.application.ports.downloads import Told


class Fetched(NamedTuple):
    """Where an archive lies, and what it digests to."""

    path: str
    sha256: str


class Sources(Protocol):
    """Blocking; long. Raises what `Downloads` raises."""

    def commit(self, repo: str, commit: str, sha256: str, told: Told) -> Fetched:
        """An archive of the repository as it was at that commit; its digest is compared where there is one (`sha256`).

        Raises `Malformed` for an archive of anything else; nothing of it is kept then.
        """
        ...

    def release(self, repo: str, tag: str, sha256: str, told: Told) -> Fetched:
        """The archive that the host makes of a release's source; its digest is compared where there is one.

        Raises `RegistryTrouble` for an archive that did not come whole; nothing of it is kept then.
        """
        ...

    def asset(self, url: str, sha256: str, told: Told) -> str:
        """Path of a file with that digest."""
        ...

    def drop(self, path: str) -> None:
        """Delete what was fetched."""
        ...
