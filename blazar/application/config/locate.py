"""In which line of a TOML text a key stands: the standard parser forgets positions. Only for text that it accepted."""

import re
import tomllib
from collections.abc import Iterator

Path = tuple[str | int, ...]

# Strings first, so that a bracket, a mark or a newline inside one is no structure; the rest one character a piece.
_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[A-Za-z0-9_-]+|[^\S\n]+|.|\n',
    re.DOTALL,
)
_OPEN, _CLOSE = frozenset("[{"), frozenset("]}")


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and pieces of every header and every assignment."""
    line, begun, depth = 1, 1, 0
    pieces: list[str] = []
    for found in _PIECE.finditer(text):
        piece = found.group()
        if piece == "\n" and depth == 0:
            if pieces:
                yield begun, pieces
            pieces = []
        elif piece[0] != "#" and not piece.isspace():
            if not pieces:
                begun = line
            pieces.append(piece)
            depth += (piece in _OPEN) - (piece in _CLOSE)
        line += piece.count("\n")
    if pieces:
        yield begun, pieces


def _parts(pieces: list[str]) -> tuple[str, ...]:
    """A dotted key's parts, unquoted."""
    return tuple(
        str(tomllib.loads(f"key = {piece}")["key"]) if piece[0] in "\"'" else piece for piece in pieces if piece != "."
    )


class Lines:
    """Where every key of one text stands."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        table: Path = ()
        # The parser normalises line ends before it reads; a lone \r cannot occur in accepted text.
        for line, pieces in _statements(text.replace("\r\n", "\n")):
            if pieces[0] != "[":
                self._note((*table, *_parts(pieces[: pieces.index("=")])), line)
            elif pieces[1] == "[":
                table = self._appended(_parts(pieces[2:-2]))
                self._note(table, line)
            else:
                table = self._indexed(_parts(pieces[1:-1]))
                self._note(table, line)

    def _indexed(self, parts: tuple[str, ...]) -> Path:
        """A header's path with the current index after every array of tables on the way."""
        path: Path = ()
        for part in parts:
            path = (*path, part)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _appended(self, parts: tuple[str, ...]) -> Path:
        array = (*self._indexed(parts[:-1]), parts[-1])
        index = self._counts.get(array, 0)
        self._counts[array] = index + 1
        return (*array, index)

    def _note(self, path: Path, line: int) -> None:
        for length in range(1, len(path) + 1):
            self._lines.setdefault(path[:length], line)

    def find(self, path: Path) -> int:
        """The line of `path`, else of the nearest thing around it; 1 where nothing of it is in the text."""
        for length in range(len(path), 0, -1):
            if (line := self._lines.get(path[:length])) is not None:
                return line
        return 1
