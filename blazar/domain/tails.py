"""The end of a log: its last bytes, its last lines. Works on a file that somebody else has opened, and opens none itself."""

import re
from typing import BinaryIO

LONGEST_LINE = 400
"""Of a line that goes into an error message."""

_STEERING = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|[\x00-\x08\x0e-\x1f\x7f-\x9f]"
)
"""What colours, moves or renames a terminal: progress bars are full of it, and an error message must not carry it on."""


def tail(file: BinaryIO, most: int) -> str:
    """The last `most` bytes as text; what is cut through at the front, or is no UTF-8, becomes a replacement character."""
    file.seek(0, 2)
    file.seek(max(0, file.tell() - most))
    return file.read().decode("utf-8", "replace")


def last_lines(text: str, count: int) -> list[str]:
    """The newest lines that say something, oldest first, each plain and cut to a length that fits an error message."""
    lines = (_STEERING.sub("", line).strip()[:LONGEST_LINE] for line in text.splitlines())
    return [line for line in lines if line][-count:] if count > 0 else []
