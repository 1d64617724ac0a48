"""Reads a regular expression as ECMAScript has it (the dialect of C++'s `std::regex`) into a tree. Matches nothing."""

import string
from enum import StrEnum
from typing import NamedTuple

MAX_LENGTH = 512
"""Characters of a pattern. A tensor's name has at most 63 (ggml's `GGML_MAX_NAME`)."""
MAX_NESTING = 20
MAX_REPEAT = 255
MAX_LOOKAHEADS = 8
"""Look-aheads of a pattern, none within another: each is a walk of its own over every name."""


class Unreadable(ValueError):
    """The expression cannot be read; `why` is a key of teaching's table of flaws."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Assertion(StrEnum):
    """What must hold at a position without consuming anything."""

    START = "^"
    END = "$"
    BOUNDARY = r"\b"
    NO_BOUNDARY = r"\B"
    AHEAD = "?="
    NOT_AHEAD = "?!"


class Node(NamedTuple):
    """A part of an expression. `kind`: `sequence`, `any of`, `set` or `repeat` (of its one part); or an `assertion`."""

    kind: str
    parts: "tuple[Node, ...]" = ()
    chars: frozenset[str] = frozenset()
    others: bool = False
    least: int = 0
    most: int | None = None
    assertion: Assertion | None = None


_DIGIT = frozenset(string.digits)
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_SPACE = frozenset(" \t\n\r\f\v")
_SETS = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_HEX = {"x": 2, "u": 4}
_NAMED = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, [*range(32), 127])),
    "d": _DIGIT,
    "digit": _DIGIT,
    "graph": frozenset(map(chr, range(33, 127))),
    "lower": frozenset(string.ascii_lowercase),
    "print": frozenset(map(chr, range(32, 127))),
    "punct": frozenset(string.punctuation),
    "s": _SPACE,
    "space": _SPACE,
    "upper": frozenset(string.ascii_uppercase),
    "w": _WORD,
    "xdigit": frozenset(string.hexdigits),
}
_ANY = frozenset("\n\r")
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ALL = frozenset(map(chr, range(256)))


def parse(pattern: str) -> Node:
    """The tree of `pattern`. Raises `Unreadable`."""
    if len(pattern) > MAX_LENGTH:
        raise Unreadable("long")
    reader = _Reader(pattern)
    node = reader.alternatives(0)
    if reader.rest():
        raise Unreadable("bracket")
    return node


class _Reader:
    """A position in an expression."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._lookaheads = 0
        self._stacked = 0
        self._looking = False

    def rest(self) -> bool:
        return self._at < len(self._text)

    def _take(self, expected: str) -> bool:
        if not self._text.startswith(expected, self._at):
            return False
        self._at += len(expected)
        return True

    def _next(self) -> str:
        if not self.rest():
            raise Unreadable("end")
        char = self._text[self._at]
        self._at += 1
        return char

    def alternatives(self, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise Unreadable("large")
        parts = [self._sequence(depth)]
        while self._take("|"):
            parts.append(self._sequence(depth))
        return parts[0] if len(parts) == 1 else Node("any of", tuple(parts))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.rest() and self._text[self._at] not in "|)":
            parts.append(self._quantified(self._atom(depth)))
        return Node("sequence", tuple(parts))

    def _quantified(self, atom: Node) -> Node:
        """An atom and its quantifiers; a second one stands for a group around the first."""
        while self.rest():
            bounds = self._bounds()
            if bounds is None:
                break
            if atom.assertion is not None:
                raise Unreadable("quantifier")
            self._stacked += atom.kind == "repeat"
            if self._stacked > MAX_NESTING:
                raise Unreadable("large")
            self._take("?")
            atom = Node("repeat", (atom,), least=bounds[0], most=bounds[1])
        return atom

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in _QUANTIFIERS.items():
            if self._take(sign):
                return bounds
        if not self._take("{"):
            return None
        body, closed, after = self._text[self._at :].partition("}")
        least, comma, most = body.partition(",")
        numbers = [number for number in (least, most) if number]
        if not closed or not least or not all(n.isascii() and n.isdigit() and len(n) <= 4 for n in numbers):
            raise Unreadable("quantifier")
        self._at = len(self._text) - len(after)
        upper = int(most) if most else None if comma else int(least)
        if max(int(least), upper or 0) > MAX_REPEAT:
            raise Unreadable("large")
        if upper is not None and upper < int(least):
            raise Unreadable("quantifier")
        return int(least), upper

    def _atom(self, depth: int) -> Node:
        char = self._next()
        match char:
            case "(":
                return self._group(depth)
            case "[":
                return self._class()
            case ".":
                return Node("set", chars=_ANY, others=True)
            case "^" | "$":
                return Node("", assertion=Assertion(char))
            case "\\":
                return self._escape()
            case "*" | "+" | "?" | "{":
                raise Unreadable("quantifier")
            case _:
                return Node("set", chars=frozenset(char))

    def _group(self, depth: int) -> Node:
        ahead = next((a for a in (Assertion.AHEAD, Assertion.NOT_AHEAD) if self._take(a.value)), None)
        if ahead is None and not self._take("?:") and self._take("?"):
            raise Unreadable("group")
        if ahead is not None:
            self._lookaheads += 1
            if self._looking or self._lookaheads > MAX_LOOKAHEADS:
                raise Unreadable("large")
            self._looking = True
        inside = self.alternatives(depth + 1)
        if not self._take(")"):
            raise Unreadable("bracket")
        if ahead is None:
            return inside
        self._looking = False
        return Node("", (inside,), assertion=ahead)

    def _escape(self) -> Node:
        char = self._next()
        if char in "bB":
            return Node("", assertion=Assertion("\\" + char))
        if char.lower() in _SETS:
            return Node("set", chars=_SETS[char.lower()], others=char.isupper())
        if char in "123456789":
            raise Unreadable("reference")
        return Node("set", chars=frozenset(self._escaped(char)))

    def _escaped(self, char: str) -> str:
        """The one character that an escape stands for."""
        if char in _HEX:
            digits = self._text[self._at : self._at + _HEX[char]]
            if len(digits) < _HEX[char] or not all(digit in string.hexdigits for digit in digits):
                raise Unreadable("escape")
            self._at += len(digits)
            return chr(int(digits, 16))
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isascii() and char.isalnum():
            raise Unreadable("escape")
        return char

    def _class(self) -> Node:
        others = self._take("^")
        chars: set[str] = set()
        while not self._take("]"):
            low = self._member()
            if len(low) == 1 and self._text[self._at : self._at + 2] not in ("-]", "-") and self._take("-"):
                high = self._member()
                if len(high) != 1 or min(high) < min(low):
                    raise Unreadable("range")
                low = frozenset(map(chr, range(ord(min(low)), ord(min(high)) + 1)))
            chars |= low
        return Node("set", chars=frozenset(chars), others=others)

    def _member(self) -> frozenset[str]:
        """One entry of a bracketed class: a character, or the set that a name or an escape stands for."""
        if self._take("[:"):
            name, closed, after = self._text[self._at :].partition(":]")
            if not closed or name not in _NAMED:
                raise Unreadable("class")
            self._at = len(self._text) - len(after)
            return _NAMED[name]
        char = self._next()
        if char != "\\":
            return frozenset(char)
        char = self._next()
        if char.lower() in _SETS:
            inside = _SETS[char.lower()]
            return inside if char.islower() else _ALL - inside
        return frozenset("\b" if char == "b" else self._escaped(char))
