"""Overlays in memory, with the settings that each means."""

from collections.abc import Mapping
from typing import Any

from blazar.application.ports.overlays import Overlays
from blazar.domain.overlay import Overlay


class MemoryOverlays(Overlays):
    """By model."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Overlay, dict[str, Any]]] = {}

    def find(self, name: str) -> Overlay | None:
        return self.kept[name][0] if name in self.kept else None

    def keep(self, name: str, overlay: Overlay, settings: Mapping[str, Any], *, instead: bool = False) -> None:
        self.kept[name] = (overlay, dict(settings))

    def renew(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """There is no configuration that a person could have written into."""
        self.keep(name, overlay, settings)
        return ()

    def carry(self, source: str, target: str) -> None:
        self.forget(target)
        if source in self.kept:
            self.kept[target] = self.kept[source]

    def check_writable(self, name: str) -> None:
        """Memory is."""

    def check_forgettable(self, name: str) -> None:
        """It can be."""

    def forget(self, name: str) -> None:
        self.kept.pop(name, None)
