"""The end of a log: its last bytes, its last lines. Works on a file that somebody else has opened, and opens none itself."""

from typing import BinaryIO

LONGEST_LINE = 400
"""Of a line that goes into an error message."""


def tail(file: BinaryIO, most: int) -> str:
    """The last `most` bytes as text; what is cut through at the front, or is no UTF-8, becomes a replacement character."""
    file.seek(0, 2)
    file.seek(max(0, file.tell() - most))
    return file.read().decode("utf-8", "replace")


def last_lines(text: str, count: int) -> list[str]:
    """The newest lines that say something, oldest first, each cut to a length that fits an error message."""
    lines = (line.strip()[:LONGEST_LINE] for line in text.splitlines())
    return [line for line in lines if line][-count:] if count > 0 else []
