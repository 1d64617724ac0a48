"""The layout of a `--help` text: which lines begin an option, its spellings and placeholder, and what is said of it.

Knows llama-server's, sd-server's, whisper-server's, argparse's and clap's pages. Never fails and looks at each line once, whatever the text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 2**20
"""Characters that are read: the longest known help has a fifth of it, and what goes on for ever is none."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Underscores and dots are part of a flag (contract: sd-server's --llm_vision; llama-server's --fim-qwen-1.5b-default).
_FLAG = re.compile(r"--?[A-Za-z](?:[\w.-]*\w)?", re.ASCII)
_MORE = re.compile(r"(?: *[,/|] *| )(?=--?[A-Za-z])")  # between two spellings
_SHALLOW = 8  # options begin here at the latest, but where descriptions are known to begin further on …
_DEEP = 16  # … as whisper-server's: it pads what has no short form
_OPENING, _CLOSING = "<[{", ">]}"
_JOINED = 64  # lines that one list in braces may go over
_MOST = (
    16  # spellings of one option: no known one has more than five, and a line of nothing else must not cost its square
)
_SENTENCE_ENDS = re.compile(r"(?<![.])[.;:!?]$")
_WORD = re.compile(r"[^ ]")
_COMMA = re.compile(r"[ ,]*(?=--?[A-Za-z])")


class Entry(NamedTuple):
    """One option as printed: its spellings, the placeholder of its value ("" for none), the lines that describe it."""

    names: tuple[str, ...]
    value: str
    said: list[str]


class _Head(NamedTuple):
    """The beginning of an entry; `column` is where its description begins on the same line, 0 where it does not."""

    names: tuple[str, ...]
    value: str
    column: int


class _Value(NamedTuple):
    """A placeholder as printed, and where it ends on the line."""

    text: str
    end: int


class _Page:
    """What is known of the page above the line at hand."""

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self.depth = 0  # the entry's
        self.column = 0  # where its description begins; 0: not seen yet
        self.columns: set[int] = set()  # where descriptions began beside their heads
        self.usage = False  # within the lines that sum the flags up

    def begin(self, line: str, depth: int, head: _Head) -> Entry | None:
        """A new entry; what was there before it."""
        before, self.usage = self.entry, False
        self.entry = Entry(head.names, head.value, [line[head.column :]] if head.column else [])
        self.depth, self.column = depth, head.column
        if head.column:
            self.columns.add(head.column)
        return before

    def go_on(self, line: str, depth: int) -> Entry | None:
        """Not the beginning of one: more of its description, or its end, which is returned."""
        if self.entry is None or self.usage:
            return None
        if depth > self.depth:
            self.column = self.column or depth
            self.entry.said.append(line.strip())
            return None
        before, self.entry, self.column = self.entry, None, 0  # a heading, or prose at the margin
        return before


def entries(text: str) -> Iterator[Entry]:
    """All options in their order."""
    lines = [line.expandtabs().rstrip() for line in _COLOUR.sub("", text[:LONGEST]).splitlines()]
    page, index = _Page(), 0
    while index < len(lines):
        line, index = lines[index], index + 1
        depth = len(line) - len(line.lstrip())
        if not line or _begins_usage(line, depth, page):
            page.usage = bool(line)
            continue
        head = None
        if _may_begin(line, depth, page):
            line, index = _joined(lines, index, line)
            head = _read_head(line, depth, page)
        done = page.go_on(line, depth) if head is None else page.begin(line, depth, head)
        if done is not None:
            yield done
    if page.entry is not None:
        yield page.entry


def _begins_usage(line: str, depth: int, page: _Page) -> bool:
    return line[depth : depth + 6].lower() == "usage:" and (page.entry is None or depth <= page.depth)


def _may_begin(line: str, depth: int, page: _Page) -> bool:
    """Whether this depth is one of options and not of what describes them."""
    if not line.startswith("-", depth):
        return False
    if page.column:
        return depth < page.column and depth <= _DEEP
    return depth <= _SHALLOW or depth < min(_DEEP, min(page.columns, default=0))


def _joined(lines: list[str], index: int, line: str) -> tuple[str, int]:
    """With the lines over which its list in braces goes on; as it is where the brace never closes."""
    if line.rfind("{") <= line.rfind("}"):
        return line, index
    for end in range(index, min(index + _JOINED, len(lines))):
        if "}" in lines[end]:
            return line + "".join(part.strip() for part in lines[index : end + 1]), end + 1
        if not lines[end]:
            break
    return line, index


def _read_head(line: str, depth: int, page: _Page) -> _Head | None:
    """None for a line that begins with a flag and is a sentence."""
    names: list[str] = []
    value, at = _Value("", depth), depth
    while len(names) < _MOST and (match := _FLAG.match(line, at)) is not None:
        names.append(match[0])
        said = _read_value(line, match.end(), page)
        if said is None:
            return None
        value, at = (said if said.text else value), said.end  # whisper-server shortens it behind the short form
        more = _MORE.match(line, at)
        if more is None:
            break
        at = more.end()
    # whisper-server ends with a comma, clap says "..." of what counts
    at += next((len(mark) for mark in (",", "...") if line.startswith(mark, at)), 0)
    column = _after_blanks(line, at)
    if not names or (column == at < len(line)):  # `--flag)`, `--flag:` are words of a sentence
        return None
    if at == len(line):
        return None if page.usage else _Head(tuple(names), value.text, 0)
    if column - at == 1 and (page.usage or not (value.text or column in page.columns or line[column] == "[")):
        return None
    return _Head(tuple(names), value.text, column)


def _read_value(line: str, at: int, page: _Page) -> _Value | None:
    """The placeholder behind a spelling; None where the words there are a sentence's."""
    if line.startswith(("=", "[="), at):
        end = _end_of_word(line, at)
        return _Value(line[at:end].lstrip("=").rstrip(","), _before_comma(line, at, end))
    start = _after_blanks(line, at)
    if start in (at, len(line)) or _FLAG.match(line, start) or _MORE.match(line, at):
        return _Value("", at)
    end = stop = _before_comma(line, start, _end_of_word(line, start))
    if start - at > 1:  # whisper-server aligns what follows a short form, and once a placeholder
        aligned = _comes_flag(line, end) or line.startswith(" [", end)
        return _Value(line[start:end], end) if aligned and _is_placeholder(line[start:end]) else _Value("", at)
    while (further := _further(line, stop)) > stop:
        stop = further
    closed = _closed(line, stop) and not _SENTENCE_ENDS.search(line, start, stop)
    if start in page.columns and not closed:
        return _Value("", at)
    said = closed or stop + 1 in page.columns or _is_placeholder(line[start:end])
    return _Value(line[start:stop], stop) if said else None


def _after_blanks(line: str, at: int) -> int:
    found = _WORD.search(line, at)
    return found.start() if found else len(line)


def _further(line: str, at: int) -> int:
    """The end of one more word of the same placeholder (`START END`, `X [X ...]`); `at` where there is none."""
    start = at + 1
    if not line.startswith(" ", at) or start >= len(line) or line[start] in " -":
        return at
    end = _end_of_word(line, start)
    word = line[start:end].rstrip(",")
    stop = _before_comma(line, start, end)
    return stop if word.endswith("...]") or (word.isupper() and _closed(line, stop)) else at


def _closed(line: str, at: int) -> bool:
    """Whether a placeholder that ends here is followed by nothing, by a description, or by another spelling."""
    end = at + line.startswith(",", at)
    return end == len(line) or line.startswith("  ", end) or _comes_flag(line, at)


def _end_of_word(line: str, start: int) -> int:
    """Of a word that may hold blanks within brackets; a bracket that stays open ends at its first blank."""
    depth = 0
    first_blank = len(line)
    for at in range(start, len(line)):
        if line[at] in _OPENING:
            depth += 1
        elif line[at] in _CLOSING:
            depth = max(depth - 1, 0)
        elif line[at] == " ":
            if depth == 0:
                return at
            first_blank = min(first_blank, at)
    return first_blank if depth else len(line)


def _before_comma(line: str, start: int, end: int) -> int:
    return end - 1 if end > start and line[end - 1] == "," else end


def _comes_flag(line: str, at: int) -> bool:
    """Whether another spelling follows; `at` may be just behind the comma."""
    return "," in line[at - 1 : at + 1] and _COMMA.match(line, at) is not None


def _is_placeholder(word: str) -> bool:
    """As no sentence goes on after a flag: in brackets, or in capitals."""
    return word[:1] in _OPENING or (word[:1].isupper() and not word[1:2].islower())
