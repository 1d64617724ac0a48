"""Reads a header front to back in few, large reads. Believes no length before comparing it with what the file still holds."""

import struct
from typing import Protocol

from blazar.domain.errors import BadModelFile

CHUNK = 1 << 20
"""Bytes fetched at once: a vocabulary of 256 000 short tokens is about four of these."""

CUT_SHORT = "the download is incomplete"

LONGEST_STRING = 64 << 20
"""J13. No chat template or embedded tokenizer comes near."""

MOST_READ = 512 << 20
"""Bytes read in all. A sparse file can promise terabytes of vocabulary; the largest real header is below 64 MiB."""

_LENGTH = struct.Struct("<Q")


class Bytes(Protocol):
    """The part of an unbuffered binary file that is used here."""

    def read(self, size: int, /) -> bytes | None: ...

    def seek(self, offset: int, /) -> int: ...


class Cursor:
    """A position in one file of known size; every move that would leave the file raises `BadModelFile`."""

    def __init__(self, file: Bytes, size: int, path: str, chunk: int = CHUNK, cut: str = CUT_SHORT) -> None:
        self.path, self.cut = path, cut
        self._chunk = chunk
        self._file, self._size = file, size
        self._buffer, self._at = b"", 0
        self._base = 0  # where in the file the buffer begins
        self._read = 0

    @property
    def position(self) -> int:
        return self._base + self._at

    @property
    def remaining(self) -> int:
        return self._size - self.position

    def bad(self, why: str) -> BadModelFile:
        return BadModelFile(self.path, why)

    def unpack(self, layout: struct.Struct) -> tuple[int | float | bool, ...]:
        self._need(layout.size)
        values = layout.unpack_from(self._buffer, self._at)
        self._at += layout.size
        return values

    def length(self) -> int:
        """An unsigned 64-bit number."""
        self._need(8)
        (value,) = _LENGTH.unpack_from(self._buffer, self._at)
        self._at += 8
        return int(value)

    def string(self, what: str, longest: int = LONGEST_STRING) -> bytes:
        """Eight bytes of length, then that many bytes."""
        length = self._sane(self.length(), what, longest)
        return self.take(length)

    def take(self, count: int) -> bytes:
        self._need(count)
        taken = self._buffer[self._at : self._at + count]
        self._at += count
        return taken

    def skip(self, count: int) -> None:
        """Move on without reading, as far as the file goes."""
        if count > self.remaining:
            raise self.bad(f"it ends {count - self.remaining} bytes early")
        if self._at + count <= len(self._buffer):
            self._at += count
            return
        target = self.position + count
        self._file.seek(target)
        self._buffer, self._at, self._base = b"", 0, target

    def skip_strings(self, count: int, what: str) -> None:
        """Step over `count` strings. They must be walked, since only each one's length says where the next begins."""
        done = 0
        while done < count:
            self._need(8)
            done += self._stride(count - done)
            self._land(what)

    def _stride(self, count: int) -> int:
        """Step over up to `count` strings whose lengths lie in the buffer; the last may end beyond it."""
        buffer, at, unpack = self._buffer, self._at, _LENGTH.unpack_from
        last = len(buffer) - 8
        done = 0
        while done < count and at <= last:
            at += 8 + unpack(buffer, at)[0]
            done += 1
        self._at = at
        return done

    def _land(self, what: str) -> None:
        """After a stride: where the last string ended beyond the buffer, go there, if the file goes that far."""
        beyond = self._at - len(self._buffer)
        if beyond > 0:
            self._at = len(self._buffer)
            self._sane(beyond, what, LONGEST_STRING)
            self.skip(beyond)

    def _sane(self, length: int, what: str, longest: int) -> int:
        if length > self.remaining:
            raise self.bad(f"{what} claims {length} bytes and {self.remaining} are left")
        if length > longest:
            raise self.bad(f"{what} claims {length} bytes, more than {longest}")
        return length

    def _need(self, count: int) -> None:
        """Have `count` bytes in the buffer."""
        held = len(self._buffer) - self._at
        if held >= count:
            return
        if count > self.remaining:
            raise self.bad(f"it ends {count - self.remaining} bytes early")
        parts = [self._buffer[self._at :]]
        self._base, self._at = self.position, 0
        wanted = min(max(count, self._chunk), self._size - self._base) - held
        while wanted > 0 and (part := self._file.read(wanted)):
            parts.append(part)
            wanted -= len(part)
            self._read += len(part)
        self._buffer = b"".join(parts)
        if self._read > MOST_READ:
            raise self.bad(f"its header is larger than {MOST_READ >> 20} MiB")
        if len(self._buffer) < count:
            raise self.bad("it became shorter while it was read")
