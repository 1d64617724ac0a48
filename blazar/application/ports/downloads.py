"""Files that are fetched whole, kept while they are incomplete, and only visible when they are what was promised."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from blazar.domain.errors import BlazarError


class Wanted(NamedTuple):
    """One file. `size` 0 and `sha256` "" are not known; `name` is what sentences call it.

    `token` goes to the address's own host and nowhere else; `variable` is where people set it. `git` is the id that git gives its
    content, where there is no better digest; `empty`: it is known to have no bytes, so that nobody is asked for it. `etag` (without
    its quotes) is the version that is meant where another one would not do: it is one of a set.
    """

    url: str
    path: str
    name: str
    size: int = 0
    sha256: str = ""
    token: str = ""
    variable: str | None = None
    git: str = ""
    empty: bool = False
    etag: str = ""


Told = Callable[[int, int], None]
"""Bytes that are there, and bytes of the whole (0: not known yet). Called from one thread, several times a second at most."""


class Downloads(Protocol):
    """Blocking; call it off the event loop.

    Raises `NotFound`, `Forbidden`, `Busy`, `RegistryTrouble` (host or line; what came is kept and continued the next time),
    `StoreTrouble` (disk; what came is kept), `Conflict` (another process is at it).
    """

    def fetch(self, wanted: Wanted, told: Told) -> None:
        """Have the file lie at its path; nothing is asked if it does. An interrupt ends it within a second, what came is kept."""
        ...

    def tells(self, notes: Callable[[str], None]) -> None:
        """From now on `notes` hears, in a sentence, what becomes of a file that did not come as it should. From `fetch`'s thread."""
        ...

    def came(self, path: str) -> int:
        """Bytes that are there of the file that is to lie at `path`, of an earlier run; 0 where none are known of."""
        ...

    def stop(self, why: BlazarError) -> None:
        """From any thread: what is under way, and all that comes after, raises `why`."""
        ...
