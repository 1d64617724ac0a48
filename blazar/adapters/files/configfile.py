"""config.toml on disk. Reads only; what the text means is `application/config`'s business."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blazar.application.config.layers import Loaded, load_config
from blazar.domain import teaching
from blazar.domain.errors import BadConfig


def read_text(path: Path) -> str:
    """The file's text; "" where there is no file. A byte-order mark, as some editors write it, is skipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise BadConfig([teaching.config_unreadable(str(path), error.strerror or str(error))]) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConfig([teaching.config_unreadable(str(path), teaching.config_not_utf8(line))]) from error


def read_config(path: Path, env: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> Loaded:
    """Everything that the file, the environment and the command line say; raises `BadConfig`."""
    return load_config(read_text(path), str(path), env, overrides)
