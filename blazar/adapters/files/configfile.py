"""config.toml on disk. What the text means is `application/config`'s business; the one thing written are new keys (D26)."""

import contextlib
import os
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blazar.application.config import bootstrap
from blazar.application.config.layers import Loaded, load_config
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, StoreTrouble


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


def write_new_keys(path: Path, env: Mapping[str, str]) -> list[str]:
    """Append the keys of BLAZAR_KEYS that the file lacks; their names. Every other byte of the file stays as it is.

    Raises `StoreTrouble` when that cannot be done. The keys hold all the same: `read_config` takes them from the variable.
    """
    target = path.resolve()  # a link, as dotfile managers make them, must stay one
    try:
        before = _writable_bytes(target)
        text = before.decode("utf-8-sig")
        added = bootstrap.new_keys(env.get(bootstrap.VARIABLE, ""), tomllib.loads(text).get("keys", []))
        if added:
            _replace(target, before, before + _appendix(text, added, str(path)))
    except OSError as error:
        raise StoreTrouble(teaching.keys_not_written(str(path), error.strerror or str(error))) from error
    except ValueError as error:  # no TOML and no UTF-8: changed since it was read
        raise StoreTrouble(teaching.keys_not_written(str(path), str(error))) from error
    return [key.name for key in added]


def _appendix(text: str, added: list[bootstrap.NamedSecret], path: str) -> bytes:
    """What goes behind `text`, with line ends like its own."""
    more = bootstrap.tables_of(added)
    if not text:
        more = more.lstrip("\n")
    elif not text.endswith("\n"):
        more = "\n" + more
    newline = "\r\n" if "\r\n" in text else "\n"
    try:
        load_config(text + more, path)
    except BadConfig as error:  # the text itself was good
        raise StoreTrouble(teaching.keys_not_written(path, teaching.keys_inline())) from error
    return more.replace("\n", newline).encode()


def _writable_bytes(file: Path) -> bytes:
    """What is in the file; nothing where there is none. A file that its owner made read-only is meant to stay as it is."""
    if not file.exists():
        return b""
    if not os.access(file, os.W_OK):
        raise PermissionError(0, teaching.config_read_only())
    return file.read_bytes()


def _replace(file: Path, before: bytes, after: bytes) -> None:
    """In one step and on the disk: a reader, or a crash, sees the old file or the new one. Secrets are for the owner alone."""
    file.parent.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    if before:
        _write(file.with_name(f"{file.name}.{stamp}.bak"), before)
    temporary = file.with_name(f".{file.name}.{stamp}.tmp")
    try:
        _write(temporary, after)
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # the name is safe only with its folder; not every file system can say so
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write(file: Path, data: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
