"""The bytes of config.toml. Knows nothing of what they mean: an editor is started on them before anything is imported that does."""

import errno
import os
import stat
from pathlib import Path

from blazar.domain import teaching
from blazar.domain.errors import BadConfig


def source_of(path: Path) -> bytes:
    """The file as it is; nothing where there is none. Raises `BadConfig`."""
    try:
        return bytes_of(path)
    except OSError as error:
        raise BadConfig([teaching.config_unreadable(str(path), error.strerror or str(error))]) from error


def bytes_of(path: Path) -> bytes:
    """The file's bytes; none where there is no file. Raises `OSError`, for a pipe or a device too: those may never end."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return b""
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):  # a folder has an error of its own
        return path.read_bytes()
    if path.samefile(os.devnull):
        return b""
    raise OSError(errno.EINVAL, teaching.config_no_regular_file())
