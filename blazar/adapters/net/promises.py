"""By which digest a file is what was promised: its SHA-256, else the id that git gives its bytes. Reads nothing itself.

Facts: git's id of a file is the SHA-1 of `blob`, its length in bytes, a NUL and its content.
"""

import hashlib
from typing import Protocol

from blazar.application.ports.downloads import Wanted

SHA256, GIT = "sha256", "git id"
"""What sentences call the two."""


class Digest(Protocol):
    """One that is fed bytes, as `hashlib` has them."""

    def update(self, data: memoryview, /) -> None: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> "Digest": ...


def promised(wanted: Wanted) -> str:
    """In hexadecimal; "" where nobody promised anything. Without a size git's id cannot be counted as the bytes arrive."""
    return wanted.sha256 or (wanted.git if wanted.size or wanted.empty else "")


def kind_of(wanted: Wanted) -> str:
    """Of what was promised."""
    return SHA256 if wanted.sha256 or not wanted.git else GIT


def digest_for(wanted: Wanted) -> Digest:
    """A new one of that kind."""
    if kind_of(wanted) == SHA256:
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % wanted.size, usedforsecurity=False)  # git's choice; it tells damage, not forgery
