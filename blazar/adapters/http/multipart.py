"""A multipart/form-data body (RFC 7578), read as it comes. Holds the end of the bytes that may be the beginning of an edge, no more.

Not Werkzeug's decoder: cut between the last two bytes of an edge, it takes the line break before the edge for data. Stands before
Quart and decides nothing about what the parts mean.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from werkzeug.http import parse_options_header

from blazar.domain import teaching
from blazar.domain.errors import Malformed

LONGEST_HEAD: Final = 16 * 1024
"""Bytes of one part's header."""
_AFTER_EDGE: Final = re.compile(rb"[ \t]{0,64}\r\n")
_UNDECIDED: Final = re.compile(rb"-?|[ \t]{0,64}\r?")


class Part(NamedTuple):
    """A part begins; `filename` is None where it is a plain field."""

    name: str
    filename: str | None


class _At(Enum):
    PREAMBLE = auto()
    HEAD = auto()
    DATA = auto()
    END = auto()


class FormReader:
    """Bytes in; parts and their bytes out. `done` once the last edge was seen."""

    def __init__(self, boundary: bytes) -> None:
        self._edge = b"\r\n--" + boundary
        self._held = bytearray(b"\r\n")  # the first edge may stand at the very beginning
        self._at = _At.PREAMBLE

    @property
    def done(self) -> bool:
        """What follows is nobody's."""
        return self._at is _At.END

    def feed(self, data: bytes) -> Iterator[Part | bytes]:
        """What these bytes bring; raises `Malformed` where they are no form."""
        self._held += data
        while True:
            if self._at is _At.HEAD:
                part = self._head()
                if part is None:
                    return
                self._at = _At.DATA
                yield part
            elif self._at is _At.END:
                self._held.clear()
                return
            else:
                data, more = self._up_to_edge()
                if data and self._at is _At.DATA:
                    yield data
                if not more:
                    return
                self._at = _At.END if self._held.startswith(b"--") else _At.HEAD

    def _up_to_edge(self) -> tuple[bytes, bool]:
        """Bytes that are sure to stand before the next edge, and whether it was found; then what is held begins behind it."""
        held, edge, start = self._held, self._edge, 0
        while (found := held.find(edge, start)) >= 0:
            behind = found + len(edge)
            if held.startswith(b"--", behind) or _AFTER_EDGE.match(held, behind):
                data = bytes(held[:found])
                del held[:behind]
                return data, True
            if _UNDECIDED.fullmatch(held, behind):
                break  # the next bytes say whether it is one
            start = found + 1
        sure = found if found >= 0 else max(0, len(held) - len(edge) + 1)
        data = bytes(held[:sure])
        del held[:sure]
        return data, False

    def _head(self) -> Part | None:
        """The header of a part; what is held begins with the rest of the edge's line."""
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            if len(self._held) > LONGEST_HEAD:
                raise Malformed(teaching.upload_broken(), "file")
            return None
        lines = bytes(self._held[:end]).decode("utf-8", "replace").split("\r\n")
        del self._held[: end + 4]
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip().lower() == "content-disposition":
                kind, options = parse_options_header(value.strip())
                if kind.lower() == "form-data" and "name" in options:
                    return Part(options["name"], options.get("filename"))
        raise Malformed(teaching.upload_broken(), "file")
