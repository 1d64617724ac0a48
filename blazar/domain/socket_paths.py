"""Where a child listens that has no port: one path for each instance, always the same one. Touches no file."""

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.names import file_stem

SUFFIX = ".sock"
LONGEST = 103
"""Bytes. The field for it (sun_path) has 104 on BSD and macOS and 108 on Linux, and the last one is the terminator."""
ROOM = 40
"""Bytes that a folder must leave for names: with less it is the folder that is too long, and no name would do."""


def socket_name(key: str) -> str:
    """The file of instance `key`, reversibly spelled in safe characters."""
    return file_stem(key) + SUFFIX


def socket_path(folder: str, key: str) -> str:
    """The path in `folder`. Raises `Malformed` where the system could not bind it, naming what is too long."""
    path = f"{folder}/{socket_name(key)}"
    size, base = len(path.encode()), len(folder.encode()) + 1
    if size <= LONGEST:
        return path
    if base + ROOM > LONGEST:
        raise Malformed(teaching.socket_folder_too_long(folder, size, LONGEST), "child_transport")
    raise Malformed(teaching.socket_name_too_long(key, size, LONGEST), "child_transport")
