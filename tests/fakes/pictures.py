"""A network with the pictures that a test puts there."""

from blazar.application.ports.pictures import Fetched, Pictures
from blazar.domain.errors import Malformed


class FakePictures(Pictures):
    """Remembers what it was asked for."""

    def __init__(self, **there: Fetched) -> None:
        self.there = dict(there)
        self.asked: list[str] = []

    def fetch(self, url: str) -> Fetched:
        self.asked.append(url)
        if url not in self.there:
            raise Malformed("nothing is there")
        return self.there[url]
