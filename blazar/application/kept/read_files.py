"""Reads files that a request only names, of those that its owner sent before."""

from collections.abc import Iterable
from contextlib import closing
from typing import Final

from blazar.application.files.shelf import FileShelf
from blazar.application.ports.kept_files import Reading
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.responses_items import Attached

MOST_BYTES: Final = 32 * 2**20
"""Of all files of one request: as base64 they fit into the largest body (D12), so naming a file allows no more than sending it."""


class ReadFiles:
    """Blocking: call it off the loop."""

    def __init__(self, shelf: FileShelf) -> None:
        self._shelf = shelf

    def __call__(self, ids: Iterable[str], owner: str) -> dict[str, Attached]:
        """By their ids. Raises `NotFound` for one that is not there, also for somebody else's (A29)."""
        found: dict[str, Attached] = {}
        room = MOST_BYTES
        for id_ in ids:
            note, reading = self._shelf.open(id_, owner)
            with closing(reading):
                data = b"" if note.size > room else _whole(reading, room + 1)
            if note.size > room or len(data) > room:
                raise Malformed(teaching.files_too_large_to_read(MOST_BYTES), "input")
            room -= len(data)
            found[id_] = Attached(note.name, data)
        return found


def _whole(reading: Reading, most: int) -> bytes:
    """To the end, or so many bytes: how many a file has is known from its row alone."""
    parts: list[bytes] = []
    while most > 0 and (data := reading.read(most)):
        parts.append(data)
        most -= len(data)
    return b"".join(parts)
