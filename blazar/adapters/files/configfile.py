"""config.toml on disk: read, and rewritten when what comes of it is valid. What the text means is `application/config`'s business."""

import contextlib
import errno
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from blazar.adapters.files.configsource import LARGEST, bytes_of, source_of
from blazar.adapters.files.rewriting import check_rewritable, rewrite
from blazar.application.config import bootstrap
from blazar.application.config.layers import Loaded, load_config
from blazar.application.config.problems import read_toml
from blazar.application.config.rules import World
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, StoreTrouble

WORLD = World(exists=os.path.exists)
"""What the rules ask of this machine."""

_MARK = b"\xef\xbb\xbf"


def read_text(path: Path) -> str:
    """The file's text; "" where there is no file. A byte-order mark, as some editors write it, is skipped."""
    return text_of(source_of(path), str(path))


def text_of(data: bytes, path: str) -> str:
    """The text that bytes mean; raises `BadConfig` for those that mean none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConfig([teaching.config_unreadable(path, teaching.config_not_utf8(line))]) from error


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """Equal as long as the file is the same one and nobody wrote to it; of a link, the file that it leads to. None: there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_dev


def read_config(path: Path, env: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> Loaded:
    """Everything that the file, the environment and the command line say; raises `BadConfig`."""
    return load_config(read_text(path), str(path), env, overrides, WORLD)


def change_config(path: Path, edit: Callable[[str], str], *, private: bool = False) -> bool:
    """Have the file say what `edit` makes of its text; whether that is anything else. Nothing but a valid text is written.

    With `private`, the file is for its owner alone afterwards. Raises `BadConfig` for a text that is not valid, and for one that was no TOML before, `StoreTrouble` where it
    cannot be written, and whatever `edit` raises.
    """

    def on_bytes(before: bytes) -> bytes:
        text = text_of(before, str(path))
        read_toml(
            text, str(path)
        )  # an edit is of tables; a person who is typing there just now is told where it breaks off
        after = edit(text)
        if after == text:
            return before
        load_config(after, str(path), world=WORLD)
        new = before[: len(_MARK) if before.startswith(_MARK) else 0] + after.encode()
        if len(new) > LARGEST:  # it could never be read again
            raise OSError(errno.EFBIG, teaching.config_too_large(LARGEST))
        return new

    try:
        with _writing(path, teaching.config_not_written):
            return rewrite(path, on_bytes, private=private)
    except StoreTrouble:
        if _says_so_already(path, edit):  # a file that must not be written is no trouble where nothing is to be written
            return False
        raise


def check_config_writable(path: Path) -> None:
    """Raises `StoreTrouble` for a file that could not be changed; changes nothing."""
    with _writing(path, teaching.config_not_written):
        check_rewritable(path)


def _says_so_already(path: Path, edit: Callable[[str], str]) -> bool:
    try:
        text = read_text(path)
        read_toml(text, str(path))
    except BadConfig:
        return False
    return edit(text) == text


def check_change(path: Path, edit: Callable[[str], str]) -> None:
    """Raises what `change_config` would, as far as that can be told without writing; changes nothing."""
    text = read_text(path)
    read_toml(text, str(path))
    if (after := edit(text)) != text:
        load_config(after, str(path), world=WORLD)
        check_config_writable(path)


def replace_config(path: Path, before: bytes, after: bytes) -> bool:
    """Have the file say `after`, if it still says `before`: False where somebody has changed it meanwhile. Errors as above."""
    load_config(text_of(after, str(path)), str(path), world=WORLD)
    same = True

    def on_bytes(now: bytes) -> bytes:
        nonlocal same
        same = now == before
        return after if same else now

    with _writing(path, teaching.config_not_written):
        rewrite(path, on_bytes)
    return same


@contextlib.contextmanager
def _writing(path: Path, sentence: Callable[[str, str], str]) -> Any:
    try:
        yield
    except OSError as error:
        raise StoreTrouble(sentence(str(path), error.strerror or str(error))) from error


def write_new_keys(path: Path, env: Mapping[str, str]) -> list[str]:
    """Append the keys of BLAZAR_KEYS that the file lacks; their names. Every other byte of the file stays as it is.

    Raises `StoreTrouble` when that cannot be done. The keys hold all the same: `read_config` takes them from the variable.
    """
    added: list[bootstrap.NamedSecret] = []

    def on_bytes(before: bytes) -> bytes:
        text = before.decode("utf-8-sig")
        added[:] = _lacking(text, env)
        return before + _appendix(text, added, str(path)) if added else before

    try:
        # Looked at first without the lock: where nothing is to be written, a folder that is read-only is no trouble.
        if _lacking(bytes_of(path).decode("utf-8-sig"), env):
            rewrite(path, on_bytes, private=True)
    except OSError as error:
        raise StoreTrouble(teaching.keys_not_written(str(path), error.strerror or str(error))) from error
    except (ValueError, RecursionError) as error:  # no TOML and no UTF-8: changed since it was read
        raise StoreTrouble(teaching.keys_not_written(str(path), str(error))) from error
    return [key.name for key in added]


def _lacking(text: str, env: Mapping[str, str]) -> list[bootstrap.NamedSecret]:
    return bootstrap.new_keys(env.get(bootstrap.VARIABLE, ""), tomllib.loads(text).get("keys", []))


def _appendix(text: str, added: list[bootstrap.NamedSecret], path: str) -> bytes:
    """What goes behind `text`, with line ends like its own."""
    more = bootstrap.tables_of(added)
    if not text:
        more = more.lstrip("\n")
    elif not text.endswith("\n"):
        more = "\n" + more
    newline = "\r\n" if "\r\n" in text else "\n"
    try:
        load_config(text, path)
    except BadConfig as error:  # it was good when it was read, and has been changed since
        raise StoreTrouble(teaching.keys_not_written(path, str(error))) from error
    try:
        load_config(text + more, path)
    except BadConfig as error:
        raise StoreTrouble(teaching.keys_not_written(path, teaching.keys_inline())) from error
    return more.replace("\n", newline).encode()
