"""The front of a file far away, fetched by HTTP ranges as far as it is read. Never the whole: it ends at 64 MiB.

A server that ignores ranges answers with everything from the beginning; its answer is read as it comes and dropped when
enough is there.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Self

import httpx

from blazar.adapters.net.web import Web
from blazar.application.ports.weights import Source
from blazar.domain.errors import BadModelFile

FIRST = 256 << 10
"""Bytes of the first range: all of a small header, and of any later shard's."""
MOST = 64 << 20
"""Bytes fetched of one file. Headers with the largest vocabularies are about 16 MiB."""
_RANGE = re.compile(r"bytes (\d{1,16})-(\d{1,16})/(\d{1,16}|\*)", re.ASCII)


class RangedFile(AbstractContextManager["RangedFile"], Source):
    """A file of known size at an address."""

    def __init__(self, web: Web, url: str, name: str, size: int) -> None:
        self._web, self._url, self._name, self._size = web, url, name, size
        self._held = bytearray()
        self._at = 0
        self._rest: Iterator[bytes] | None = None  # of a server that sends everything
        self._stack = ExitStack()

    @property
    def name(self) -> str:
        return self._name

    @property
    def size(self) -> int:
        return self._size

    @property
    def fetched(self) -> int:
        """Bytes that were kept of what came."""
        return len(self._held)

    def read(self, size: int, /) -> bytes:
        end = min(self._at + size, self._size)
        if end > MOST:
            raise BadModelFile(self._name, f"its header does not end within {MOST >> 20} MiB")
        while len(self._held) < end:
            self._more(end)
        data = bytes(self._held[self._at : end])
        self._at = max(self._at, end)
        return data

    def seek(self, offset: int, /) -> int:
        self._at = offset
        return offset

    def __exit__(self, *_: object) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Drop what is held, and the connection where an answer is still under way."""
        self._stack.close()
        self._held.clear()

    def _more(self, wanted: int) -> None:
        """Fetch until `wanted` bytes are held, and what a range brings beyond that: twice as much each time."""
        if self._rest is not None:
            self._take(self._rest, wanted)
            return
        start = len(self._held)
        end = min(max(wanted, 2 * start if start > FIRST else FIRST * (4 if start else 1)), MOST, self._size)
        headers = {"range": f"bytes={start}-{end - 1}"}
        with ExitStack() as stack:
            answer = stack.enter_context(self._web.get(self._url, self._name, headers))
            if answer.status_code == 206:
                self._check_range(answer, start)
                self._take(self._web.parts(answer), end)
                return
            self._check_length(answer)
            # Everything from the beginning: what we have is passed over, the rest is read as it is wanted.
            self._rest = _beyond(self._web.parts(answer), start)
            self._stack.push(stack.pop_all())
        self._take(self._rest, wanted)

    def _take(self, parts: Iterator[bytes], until: int) -> None:
        before = len(self._held)
        while len(self._held) < until:
            part = next(parts, b"")
            if not part:
                break
            self._held += part
        if len(self._held) == before:
            raise self._web.garbled(f"{self._name} ends after {before} of {self._size} bytes")
        # A range may bring more than was asked for: no more is kept than the bound allows.
        del self._held[max(until, MOST if self._rest is not None else until) :]

    def _check_range(self, answer: httpx.Response, start: int) -> None:
        match = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
        if match is None or int(match[1]) != start or match[3] not in ("*", str(self._size)):
            raise self._web.garbled(f"{self._name} is not the file that was listed, or not the part that was asked for")

    def _check_length(self, answer: httpx.Response) -> None:
        if answer.headers.get("content-length", str(self._size)) != str(self._size):
            raise self._web.garbled(f"{self._name} is not the file that was listed: its size is another one")


def _beyond(parts: Iterator[bytes], skip: int) -> Iterator[bytes]:
    for part in parts:
        if skip < len(part):
            yield part[skip:]
        skip = max(0, skip - len(part))
