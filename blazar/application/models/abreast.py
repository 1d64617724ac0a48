"""Pulls of one process that want the same files at once: who waits for another's sees how far that one is. Fetches and decides nothing."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Lock

from blazar.application.models.pulling import Step


class Place:
    """One pull among those of the process. `outside`: it waits for somebody who is none of them."""

    def __init__(self, keys: Collection[str]) -> None:
        self.keys = frozenset(keys)
        self.outside = False
        self.told: dict[str, Step] = {}


class Abreast:
    """All pulls of one process, by the folders that they want."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: list[Place] = []

    @contextmanager
    def among(self, keys: Collection[str]) -> Iterator[Place]:
        """From before its turn to its end."""
        place = Place(keys)
        with self._lock:
            self._places.append(place)
        try:
            yield place
        finally:
            with self._lock:
                self._places.remove(place)

    def tell(self, place: Place, step: Step) -> None:
        """How far one of its files is."""
        with self._lock:
            place.told[step.digest] = step

    def ahead(self, place: Place) -> tuple[Step, ...] | None:
        """How far those are that want the same folders; None where nobody here has them, so that somebody else must."""
        with self._lock:
            others = [one for one in self._places if one is not place and one.keys & place.keys]
            place.outside = all(one.outside for one in others)
            return None if place.outside else tuple(step for one in others for step in one.told.values())
