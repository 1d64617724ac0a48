r"""Bytes in any slices → whole lines. Decides where a line ends and how long one may be; never looks inside one.

A slice may end anywhere: inside a UTF-8 sequence, between `\r` and `\n`. Lines are bytes, so neither can break text.
"""

from typing import Final

LONGEST_LINE: Final = 8 * 2**20
"""A child's event is a few hundred bytes; the longest seen carries a prompt echo. Without a bound a child that never
ends a line would grow the gateway's memory until the machine swaps."""


class LineSplitter:
    r"""Feed slices, get the lines they complete (without their ends). `\n`, `\r\n` and a lone `\r` end a line (SSE)."""

    __slots__ = ("_after_cr", "_held", "_limit", "_size", "overflowed")

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._limit = limit
        self.overflowed = False

    @property
    def idle(self) -> bool:
        """Whether everything fed so far was whole lines."""
        return not self._held and not self._after_cr

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes. After an overflow nothing comes any more."""
        if self._after_cr and data.startswith(b"\n"):
            # The `\r` before it has ended the line already.
            data = data[1:]
            self._after_cr = False
        if not data or self.overflowed:
            return []
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        else:
            self._after_cr = False
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._held:
            self._held.append(lines[0])
            lines[0] = b"".join(self._held)
            self._held.clear()
            self._size = 0
        if rest:
            self._held.append(rest)
            self._size += len(rest)
        if self._size > self._limit or (len(data) > self._limit and lines) or (lines and len(lines[0]) > self._limit):
            return self._within_limit(lines)
        return lines

    def flush(self) -> list[bytes]:
        """What came after the last line end, if anything."""
        if not self._held or self.overflowed:
            return []
        rest = b"".join(self._held)
        self._held.clear()
        self._size = 0
        return [rest]

    def _within_limit(self, lines: list[bytes]) -> list[bytes]:
        """The lines before the first one that is too long, the same however the bytes were sliced."""
        for at, line in enumerate(lines):
            if len(line) > self._limit:
                self._overflow()
                return lines[:at]
        if self._size > self._limit:
            self._overflow()
        return lines

    def _overflow(self) -> None:
        self.overflowed = True
        self._held.clear()
        self._size = 0
