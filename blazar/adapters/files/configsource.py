"""The bytes of config.toml. Knows nothing of what they mean: an editor is started on them before anything is imported that does."""

import errno
import os
import stat
from pathlib import Path

from blazar.domain import teaching
from blazar.domain.errors import BadConfig

LARGEST = 4 * 2**20
"""Bytes that are read: ten thousand overrides have a tenth of it, and what takes minutes to parse is no configuration."""


def source_of(path: Path) -> bytes:
    """The file as it is; nothing where there is none. Raises `BadConfig`."""
    try:
        return bytes_of(path)
    except OSError as error:
        raise BadConfig([teaching.config_unreadable(str(path), error.strerror or str(error))]) from error


def bytes_of(path: Path) -> bytes:
    """The file's bytes; none where there is no file. Raises `OSError`, for a pipe or a device too: those may never end."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return b""
    if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode):  # a folder has an error of its own
        if facts.st_size > LARGEST:
            raise OSError(errno.EFBIG, teaching.config_too_large(LARGEST))
        return path.read_bytes()
    if path.samefile(os.devnull):
        return b""
    raise OSError(errno.EINVAL, teaching.config_no_regular_file())
