"""Where in a TOML text a key stands: the standard parser forgets positions. Only for text that it accepted."""

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

Path = tuple[str | int, ...]

# Strings first, so that a bracket, a mark or a newline inside one is no structure; the rest one character a piece.
_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[A-Za-z0-9_-]+|[^\S\n]+|.|\n',
    re.DOTALL,
)
_OPEN, _CLOSE = frozenset("[{"), frozenset("]}")
# A whole line that is beyond doubt: nothing, a comment, a header of one bare name, or a bare name with a value that ends on it.
# Most lines are; a file with ten thousand API keys is looked through in a third of the time.
_PLAIN = re.compile(
    r"(?:(?P<nothing>[ \t]*(?:#[^\n]*)?)|(?P<open>\[\[?)(?P<header>[A-Za-z0-9_-]+)(?P<close>\]\]?)"
    r"|(?P<key>[A-Za-z0-9_-]+) = (?:\"[^\"\\\n]*\"|[A-Za-z0-9_.+-]+|\[(?:\"[^\"\\\n]*\"(?:, )?)*\]))\r?\n"
)


class Statement(NamedTuple):
    """One header or assignment: its line number, and the offsets of its lines in the text, with the last line's end."""

    line: int
    start: int
    end: int
    pieces: list[str]


class Placed(NamedTuple):
    """What a statement says: the path it opens or sets, and (of an assignment) the path of the table around it."""

    path: Path
    table: Path
    header: bool
    statement: Statement


def _statements(text: str, at: int = 0, line: int = 1) -> Iterator[Statement]:
    """Every header and every assignment, in order; from the start of a line on, which is no line within one."""
    while at < len(text):
        if (plain := _PLAIN.match(text, at)) is not None:
            end = plain.end()
            if (key := plain["key"]) is not None:
                yield Statement(line, at, end, [key, "="])
            elif (header := plain["header"]) is not None:
                yield Statement(line, at, end, [*plain["open"], header, *plain["close"]])
            line += 1
        else:
            odd = _next_statement(text, at, line)
            if odd is None:
                return
            yield odd
            end = odd.end
            line += text.count("\n", at, end)
        at = end


def _next_statement(text: str, at: int, line: int) -> Statement | None:
    """The first one at or behind a line's start, however it is written."""
    begun, start, depth = line, at, 0
    pieces: list[str] = []
    for found in _PIECE.finditer(text, at):
        piece = found.group()
        if piece == "\n" and depth == 0:
            if pieces:
                return Statement(begun, start, found.end(), pieces)
        elif piece[0] != "#" and not piece.isspace():
            if not pieces:
                begun, start = line, text.rfind("\n", 0, found.start()) + 1
            pieces.append(piece)
            depth += (piece in _OPEN) - (piece in _CLOSE)
        line += piece.count("\n")
    return Statement(begun, start, len(text), pieces) if pieces else None


def comments_in(text: str) -> list[str]:
    """Every comment of a text, from its mark to the end of its line."""
    return [found.group().rstrip("\r") for found in _PIECE.finditer(text) if found.group()[0] == "#"]


class Remark(NamedTuple):
    """A comment behind something: its offset in the text, and which item of the statement's list it is about (-1: none)."""

    at: int
    item: int
    text: str


def remarks_in(text: str, statement: Statement) -> Iterator[Remark]:
    """The comments of a statement that do not stand on lines of their own."""
    depth, item, awaited, alone = 0, -1, False, True
    for found in _PIECE.finditer(text, statement.start, statement.end):
        piece = found.group()
        if piece[0] == "#":
            if not alone:
                yield Remark(found.start(), item if depth else -1, piece.rstrip("\r"))
        elif piece == "\n":
            alone = True
        elif not piece.isspace():
            alone = False
            if awaited and depth == 1 and piece != "]":
                item += 1
            depth += (piece in _OPEN) - (piece in _CLOSE)
            awaited = depth == 1 and piece in ("[", ",")


def _parts(pieces: list[str]) -> tuple[str, ...]:
    """A dotted key's parts, unquoted."""
    return tuple(
        str(tomllib.loads(f"key = {piece}")["key"]) if piece[0] in "\"'" else piece for piece in pieces if piece != "."
    )


class _Tables:
    """Which entry of its array a header means: the last one so far."""

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}

    def opened(self, parts: tuple[str, ...]) -> Path:
        """A header's path with the current index after every array of tables on the way."""
        path: Path = ()
        for part in parts:
            path = (*path, part)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def appended(self, parts: tuple[str, ...]) -> Path:
        """The path of one more entry."""
        array = (*self.opened(parts[:-1]), parts[-1])
        index = self._counts.get(array, 0)
        self._counts[array] = index + 1
        return (*array, index)


def placed(text: str) -> Iterator[Placed]:
    """Every statement with its path."""
    tables = _Tables()
    table: Path = ()
    for statement in _statements(text):
        pieces = statement.pieces
        if pieces[0] != "[":
            yield Placed((*table, *_parts(pieces[: pieces.index("=")])), table, header=False, statement=statement)
        else:
            array = pieces[1] == "["
            table = tables.appended(_parts(pieces[2:-2])) if array else tables.opened(_parts(pieces[1:-1]))
            yield Placed(table, table, header=True, statement=statement)


def entry_at(text: str, where: Path, line: int) -> list[Placed]:
    """The header and the keys of one entry of a list of tables, whose header is on that line."""
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    rows: list[Placed] = []
    for statement in _statements(text, at, line):
        header = statement.pieces[0] == "["
        if header and rows:
            break
        key = () if header else _parts(statement.pieces[: statement.pieces.index("=")])
        rows.append(Placed((*where, *key), where, header, statement))
    return rows


class Lines:
    """Where every key of one text stands."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        for path, _, _, statement in placed(text):
            self._note(path, statement.line)

    def _note(self, path: Path, line: int) -> None:
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:  # and so is whatever is around it
                return
            self._lines[path[:length]] = line

    def has(self, path: Path) -> bool:
        """Whether a statement is about `path`."""
        return path in self._lines

    def find(self, path: Path) -> int:
        """The line of `path`, else of the nearest thing around it; 1 where nothing of it is in the text."""
        for length in range(len(path), 0, -1):
            if (line := self._lines.get(path[:length])) is not None:
                return line
        return 1


@lru_cache(maxsize=1)
def lines_of(text: str) -> Lines:
    """`Lines`, the last one kept: for the same reason as the last tables are (`problems.py`)."""
    return Lines(text)
