"""Pictures that a request names by their address."""

from typing import NamedTuple, Protocol


class Fetched(NamedTuple):
    """A picture's bytes, and what they are (`image/png`)."""

    mime: str
    data: bytes


class Pictures(Protocol):
    """Fetches from public addresses only (D14)."""

    def fetch(self, url: str) -> Fetched:
        """Called in a thread, ends within seconds. Raises `Malformed` with the reason where there is no picture to be had."""
        ...
