"""What there is to know about forks: the registry's list, and which architectures a release of mainstream knows."""

from typing import Protocol

from blazar.domain.capability import LaneList


class CapabilityRegistry(Protocol):
    """The list of curated lanes at one address."""

    @property
    def configured(self) -> bool:
        """Whether there is an address to ask."""
        ...

    def fetch(self) -> LaneList:
        """The list as it is now, and kept; blocking, bounded. Raises `RegistryTrouble`, `NotFound`, `Busy` or `Malformed`.

        Without an address it is empty.
        """
        ...

    def kept(self) -> LaneList:
        """The list as it was last fetched, from memory or disk; empty when it never was, or from another address."""
        ...


class ArchitectureSource(Protocol):
    """The source of mainstream releases."""

    def architectures(self, release: str) -> tuple[str, ...]:
        """Those that a llama.cpp release (`b11434`) knows; empty where that cannot be found out. Blocking, bounded; never raises."""
        ...
