"""A file in memory that counts what is asked of it, and one that is mostly a hole."""


class CountedFile:
    """Bytes to read; `size` may promise more than there is, which then reads as zeros (a sparse file)."""

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self._data, self.size = data, len(data) if size is None else size
        self._at = 0
        self.reads = 0
        self.bytes_read = 0

    def read(self, count: int, /) -> bytes:
        self.reads += 1
        end = min(self._at + count, self.size)
        part = self._data[self._at : end].ljust(end - self._at, b"\0")
        self._at = end
        self.bytes_read += len(part)
        return part

    def seek(self, offset: int, /) -> int:
        self._at = offset
        return offset
