"""How results look: tables, sizes, durations, colours. Plain when piped or when NO_COLOR is set. Prints nothing by itself."""

import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from blazar.domain.pace import size_told

GIB, MIB = 2**30, 2**20
_WORD = 40
"""Characters up to which several parts of a list share a line; paths do not."""


class Column(NamedTuple):
    """One column: its heading, and whether it holds numbers (flush right)."""

    title: str
    right: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, no trailing blanks, headings first. Never cut: a pipe may read it."""
    titles = [column.title for column in columns]
    widths = [max(len(row[i]) for row in (titles, *rows)) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, columns, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join(line([clean(cell) for cell in row]) for row in (titles, *rows))


def facts(rows: Sequence[tuple[str, str]], indent: str = "") -> str:
    """`name  value` lines, names padded to one width."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{indent}{name.ljust(width)}  {clean(value)}".rstrip() for name, value in rows)


def outline(value: Mapping[str, Any], commands: Collection[str] = ()) -> str:
    """A nested answer as `name  value` lines, named as in JSON; what is empty is left out.

    Lists whose key is in `commands` are command lines, shown ready to be pasted.
    """
    return facts(_outlined(value, "", commands))


def _outlined(value: Mapping[str, Any], prefix: str, commands: Collection[str]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, item in value.items():
        if isinstance(item, Mapping):
            rows += _outlined(item, f"{prefix}{key} ", commands)
        elif item not in (None, "", [], ()):
            rows += [(prefix + key if at == 0 else "", line) for at, line in enumerate(_lines(item, key in commands))]
    return rows


def _lines(item: Any, command: bool) -> list[str]:
    """A value as lines: lists of words in one, lists of sentences and texts of several lines below one another."""
    if not isinstance(item, list | tuple):
        return _plain(item).expandtabs(4).rstrip().splitlines() or [""]
    if command:
        from shlex import join

        return [join(map(str, item))]
    parts = ["  ".join(map(_plain, part.values())) if isinstance(part, Mapping) else _plain(part) for part in item]
    if any(" " in part or len(part) > _WORD for part in parts):
        return [line for part in parts for line in part.splitlines() or [""]]
    return [", ".join(parts)]


def _plain(item: Any) -> str:
    if isinstance(item, bool):
        return "yes" if item else "no"
    return f"{item:.6g}" if isinstance(item, float) else str(item)


_CONTROL = [*range(32), *range(0x7F, 0xA0)]
_TURNS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""They turn round what stands beside them (UAX #9): a name that reads as another one."""
_IN_A_CELL = dict.fromkeys([*_CONTROL, *_TURNS], "?")
_IN_A_TEXT = {code: None for code in _CONTROL if chr(code) not in "\n\t"}


def clean(text: str) -> str:
    """Without characters that control anything: a name from a hostile file must not drive the terminal."""
    return text.translate(_IN_A_CELL)


def safe_text(text: str) -> str:
    """Model output for a terminal: newlines and tabs stay, escape sequences do not reach it."""
    return text.translate(_IN_A_TEXT)


def size(count: float) -> str:
    """Bytes in GiB, the unit of all listings (case B20); in a smaller one where that would read as next to nothing, as sentences do."""
    return size_told(int(count))


def duration(seconds: float) -> str:
    """`12s`, `4m 30s`, `2h 5m`, `3d 4h`: two units at most."""
    whole = max(0, round(seconds))
    for unit, below, big, small in ((86400, 3600, "d", "h"), (3600, 60, "h", "m"), (60, 1, "m", "s")):
        if whole >= unit:
            rest = whole % unit // below
            return f"{whole // unit}{big}" + (f" {rest}{small}" if rest else "")
    return f"{whole}s"


def short(fact: Any) -> str:
    """A fact of an event as one word of a line."""
    if isinstance(fact, list):
        return "; ".join(map(str, fact))
    return f"{fact:.3f}" if isinstance(fact, float) else str(fact)


def ago(moment: float, now: float | None = None) -> str:
    """How long ago a Unix time was; a dash for never."""
    return f"{duration((time.time() if now is None else now) - moment)} ago" if moment > 0 else "-"


def moment(unix: float) -> str:
    """A Unix time as this machine's clock shows it; a dash for never."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix)) if unix > 0 else "-"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


_BAR = {"weights": "34", "kv": "36", "compute": "33", "other": "35", "in use": "31"}


class Style:
    """Escape sequences, or nothing where colour is unwanted."""

    def __init__(self, stream: TextIO | None = None, env: Mapping[str, str] | None = None) -> None:
        env = os.environ if env is None else env
        self.on = is_terminal(stream or sys.stdout) and not env.get("NO_COLOR") and env.get("TERM") != "dumb"

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def stretch(self, part: str, text: str) -> str:
        """A part of a bar in its colour; what nobody claims is dim."""
        return self._paint(_BAR.get(part, "2"), text)

    def verdict(self, status: str) -> str:
        """`ok`, `warn` and `fail` in green, yellow and red."""
        return self._paint({"ok": "32", "warn": "33", "fail": "31"}.get(status, "0"), status)
