"""Receiving by turns: of all threads that bring pieces, one at a time handles bytes in Python, while others wait in the kernel.

Eight that compete for the interpreter starve a ninth: the one of the event loop. Decides nothing about what is received.
"""

import select
from collections.abc import Iterator
from contextlib import nullcontext
from threading import Lock
from typing import Any

import httpx

MOST_DIGITS = 16
"""Of a length that a host tells: more are no length, and thousands are refused by the interpreter itself."""


class Turns:
    """One for each transfer."""

    def __init__(self) -> None:
        self._lock = Lock()

    def parts(self, answer: httpx.Response, parts: Iterator[bytes], secs: float) -> Iterator[bytes]:
        """The same parts. Silence of `secs` is left to who reads, who says so; so is an answer whose end only its reader knows."""
        line = _socket_of(answer)
        length = answer.headers.get("content-length", "")
        if line is None or not (length.isascii() and length.isdecimal() and len(length) <= MOST_DIGITS):
            yield from parts
            return
        begun, speaks = False, True
        while True:
            # What came along with the head is not in the socket any more, and after the last byte nothing will be.
            if begun and answer.num_bytes_downloaded < int(length):
                speaks = _await(line, secs)
            with self._lock if speaks else nullcontext():  # else all others would be silent with it
                part = next(parts, None)
            begun = True
            if part is None:
                return
            yield part


def _socket_of(answer: httpx.Response) -> Any:
    stream = answer.extensions.get("network_stream")
    line = stream.get_extra_info("socket") if stream is not None else None
    return line if hasattr(line, "fileno") and hasattr(select, "poll") else None


def _await(line: Any, secs: float) -> bool:
    """Until there is something to read; whether there is. A TLS socket may hold the rest of a record."""
    if getattr(line, "pending", int)() or (number := line.fileno()) < 0:
        return True
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return bool(waiting.poll(secs * 1000))
