"""Weights on their way to become models: bytes that a client sent, by their digest."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from blazar.application.ports.kept_files import Intake


class Blobs(Protocol):
    """Blocking: call it off the loop. A digest is `sha256:` and 64 digits, or `Malformed` is raised."""

    def has(self, digest: str) -> bool: ...

    def begin(self, digest: str, expected: int = 0) -> Intake:
        """A blob of about so many bytes (0: unknown) on its way in; its `keep` raises `Malformed` where its bytes are not of this digest.

        Refused where the disk has no room for them.
        """
        ...

    def path_of(self, digest: str) -> str:
        """Where it lies. It stays for a day, and for as long as an overlay names it. Raises `NotFound`."""
        ...

    def laid_out(self, files: Mapping[str, str]) -> AbstractContextManager[Mapping[str, str]]:
        """Blobs as files called as the client calls them, side by side in one folder: name → path. Links: no byte is copied.

        Raises `NotFound` for a blob that is not there, `Malformed` for a name that is none.
        """
        ...
