"""Whether a tensor's name holds a pattern of `override_tensor`, in time linear in the name whatever the pattern.

The engine reads patterns as ECMAScript (`std::regex_search`, C++), which differs from Python's `re` in classes such as
`[[:digit:]]`, and both backtrack: `(a+)+$` over one long name would hold a plan for hours. So a pattern becomes a set of states
that is walked once per character, and the walks are remembered. Groups capture nothing here; greedy and lazy are the same, since
only the presence of a match is asked for. Back-references are refused: no such walk can follow them.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.expression import Assertion, Node, Unreadable, parse

MAX_STATES = 1000
"""States that one pattern may need, repetitions written out: what bounds the walk of one name."""

_REMEMBERED = 2000  # stands kept for one pattern before they are forgotten: some patterns have 2^states of them


class _State(NamedTuple):
    """One state: characters it consumes (`chars`, or all others if `others`), or an assertion it passes, or a fork."""

    chars: frozenset[str]
    others: bool
    consumes: bool
    assertion: Assertion | None
    next: tuple[int, ...]


class _Here(NamedTuple):
    """A position of a walk: the kind of the character before it, the one at it ("" at the end), and the whole text."""

    before: str
    char: str
    text: str
    at: int


_START, _WORD, _OTHER = "start", "word", "other"


def _kind(char: str) -> str:
    return _WORD if char == "_" or (char.isascii() and char.isalnum()) else _OTHER


class _Stand:
    """Where a walk can be: states, the kind of the character before, and the moves from here that were made once."""

    __slots__ = ("before", "moves", "states")

    def __init__(self, states: frozenset[int], before: str) -> None:
        self.states = states
        self.before = before
        self.moves: dict[str, _Stand] = {}


_MATCHED = _Stand(frozenset(), "")


class _Machine:
    """A pattern's states, and the stands that walks have come to. `anchored`: a match begins where the walk does, not anywhere."""

    def __init__(self, node: Node, *, anchored: bool = False) -> None:
        self._anchored = anchored
        self._states: list[_State] = []
        self._ahead: dict[int, _Machine] = {}
        self._accept = self._add(_State(frozenset(), False, False, None, ()))
        self._start = self._build(node, self._accept)
        self._known: dict[tuple[frozenset[int], str], _Stand] = {}

    def found(self, text: str, at: int = 0) -> bool:
        """Whether the pattern matches in `text`, read from position `at` on."""
        stand = self._stand(frozenset((self._start,)), _kind(text[at - 1]) if at else _START)
        for index in range(at, len(text)):
            stand = stand.moves.get(text[index]) or self._move(stand, text, index)
            if stand is _MATCHED:
                return True
        return self._accept in self._closed(stand.states, _Here(stand.before, "", text, len(text)))

    def _stand(self, states: frozenset[int], before: str) -> _Stand:
        """The one stand with these states."""
        if len(self._known) >= _REMEMBERED:
            for stand in self._known.values():
                stand.moves.clear()
            self._known.clear()
        return self._known.setdefault((states, before), _Stand(states, before))

    def _move(self, stand: _Stand, text: str, at: int) -> _Stand:
        """Where the character at `at` leads, remembered unless the pattern looks ahead: then the rest of the text decides."""
        here = _Here(stand.before, text[at], text, at)
        closed = self._closed(stand.states, here)
        following = _MATCHED
        if self._accept not in closed:
            after = set() if self._anchored else {self._start}
            for number in closed:
                state = self._states[number]
                if state.consumes and (here.char in state.chars) != state.others:
                    after.update(state.next)
            following = self._stand(frozenset(after), _kind(here.char))
        if not self._ahead:
            stand.moves[here.char] = following
        return following

    def _closed(self, current: frozenset[int], here: _Here) -> set[int]:
        """`current` and what is reached from it without consuming a character."""
        seen: set[int] = set()
        waiting = list(current)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if not state.consumes and self._passes(number, here):
                waiting.extend(state.next)
        return seen

    def _passes(self, number: int, here: _Here) -> bool:
        assertion = self._states[number].assertion
        match assertion:
            case None:
                return True
            case Assertion.START:
                return here.before == _START
            case Assertion.END:
                return here.char == ""
            case Assertion.BOUNDARY | Assertion.NO_BOUNDARY:
                edge = (here.before == _WORD) != (here.char != "" and _kind(here.char) == _WORD)
                return edge == (assertion is Assertion.BOUNDARY)
            case _:
                return self._ahead[number].found(here.text, here.at) == (assertion is Assertion.AHEAD)

    def _add(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise Unreadable("large")
        self._states.append(state)
        return len(self._states) - 1

    def _fork(self, *after: int) -> int:
        return self._add(_State(frozenset(), False, False, None, after))

    def _build(self, node: Node, after: int) -> int:
        """States for `node` that go on to `after`; the first one's number."""
        if node.assertion is not None:
            number = self._add(_State(frozenset(), False, False, node.assertion, (after,)))
            if node.parts:
                self._ahead[number] = _Machine(node.parts[0], anchored=True)
            return number
        if node.kind == "set":
            return self._add(_State(node.chars, node.others, True, None, (after,)))
        if node.kind == "any of":
            return self._fork(*(self._build(part, after) for part in node.parts))
        if node.kind == "repeat":
            return self._repeated(node, after)
        for part in reversed(node.parts):
            after = self._build(part, after)
        return after

    def _repeated(self, node: Node, after: int) -> int:
        (part,) = node.parts
        if node.most is None:
            loop = self._fork(after)
            body = self._build(part, loop)
            self._states[loop] = self._states[loop]._replace(next=(body, after))
            after = loop
        else:
            end = after
            for _ in range(node.most - node.least):
                after = self._fork(self._build(part, after), end)
        for _ in range(node.least):
            after = self._build(part, after)
        return after


@lru_cache(maxsize=128)
def finder(pattern: str, key: str = "override_tensor") -> Callable[[str], bool]:
    """A test for names in which `pattern` is found, as the engine would find it.

    Raises `Malformed` naming the configuration's `key` for a pattern that cannot be read, is too long or needs more than
    `MAX_STATES` states.
    """
    try:
        machine = _Machine(parse(pattern))
    except Unreadable as trouble:
        raise Malformed(teaching.bad_pattern(key, pattern, trouble.why), key) from None
    return machine.found
