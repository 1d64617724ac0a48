"""In which of a model's tensor names a pattern of `override_tensor` is found, in time that no pattern can drive up.

The engine reads patterns as ECMAScript (`std::regex_search`, C++), which differs from Python's `re` in classes such as
`[[:digit:]]`, and both backtrack: `(a+)+$` over one long name would hold a plan for hours. So a pattern becomes a set of states,
and all names are walked at once: a state holds one bit for each name that is in it. What a walk costs is states times
characters of the longest name, whatever the pattern says. What a look-ahead asks is answered for every place of every name by one
walk from the right, before. Groups capture nothing here; greedy and lazy are the same, since only the presence of a match is asked
for. Back-references are refused: no such walk can follow them.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.expression import Assertion, Node, Unreadable, parse

MAX_STATES = 1000
"""States that one pattern may need with its look-aheads, repetitions written out: what bounds a walk."""

MAX_TOGETHER = 40_000
"""The same for all patterns of one load."""

LONGEST = 255
"""Characters of a name that are read. The engine takes no file with more than 63 (ggml's `GGML_MAX_NAME`)."""

_AT_ONCE = 1024  # names of a walk: longer numbers are hardly faster for a name, and a stranger's names fill more memory


class _State(NamedTuple):
    """One state: characters it consumes (`chars`, or all others if `others`), or an assertion it passes, or a fork.

    `ahead` is the look-ahead that an assertion asks.
    """

    next: tuple[int, ...]
    consumes: bool = False
    chars: frozenset[str] = frozenset()
    others: bool = False
    assertion: Assertion | None = None
    ahead: "_Machine | None" = None


class _Names:
    """Names by place: each number has a bit for each name."""

    def __init__(self, names: Sequence[str]) -> None:
        texts = [name[:LONGEST] for name in names]
        self.names = names
        self.everybody = (1 << len(names)) - 1
        self.longest = max(map(len, texts), default=0)
        self.ending = [0] * (self.longest + 1)
        self.chars: list[dict[str, int]] = [{} for _ in range(self.longest)]
        for number, text in enumerate(texts):
            bit = 1 << number
            self.ending[len(text)] |= bit
            for here, char in zip(self.chars, text, strict=False):
                here[char] = here.get(char, 0) | bit
        # Those that reach a place, one more than there are characters; and those that have a part of a word there.
        self.reaching = [*map(_any, (here.values() for here in self.chars)), 0]
        self.words = [_any(bits for char, bits in here.items() if _is_word(char)) for here in self.chars]

    def chosen(self, bits: int) -> Iterator[str]:
        return (name for number, name in enumerate(self.names) if bits >> number & 1)

    def having(self, chars: frozenset[str], others: bool) -> list[int]:
        """At each place those with one of these characters, or with any other."""
        found = []
        for here, reaching in zip(self.chars, self.reaching, strict=False):
            few = chars if len(chars) < len(here) else chars.intersection(here)
            bits = _any(here.get(char, 0) for char in few)
            found.append(reaching & ~bits if others else bits)
        return found

    def holding(self, assertion: Assertion) -> list[int]:
        """At each place, the one behind the last character included, those of which this holds there."""
        if assertion is Assertion.END:
            return self.ending
        if assertion is Assertion.START:
            return [self.everybody, *[0] * self.longest]
        edges = [before ^ after for before, after in zip([0, *self.words], [*self.words, 0], strict=True)]
        return edges if assertion is Assertion.BOUNDARY else [self.everybody & ~edge for edge in edges]


def _any(many: Iterable[int]) -> int:
    found = 0
    for bits in many:
        found |= bits
    return found


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


_Passing = tuple[int, tuple[int, ...], list[int] | None]
"""A state that consumes nothing: its number, where it leads, and by place the names that it lets through (None: all)."""


class _Machine:
    """A pattern's states. `backwards`: they are walked from the right, as those of a look-ahead are."""

    def __init__(self, node: Node, *, backwards: bool = False) -> None:
        self._backwards = backwards
        self._states: list[_State] = []
        self._aheads: dict[Node, _Machine] = {}
        self._accept = self._add(_State(()))
        self._start = self._build(node, self._accept)
        self.size: int = len(self._states) + sum(ahead.size for ahead in self._aheads.values())
        if self.size > MAX_STATES:
            raise Unreadable("large")

    def walk(self, names: _Names) -> list[int]:
        """By place: the names of which a match ends there; of which one begins there, if it is walked backwards."""
        consuming, passing = self._consuming(names), self._passing(names)
        matched = [0] * (names.longest + 1)
        active = [0] * len(self._states)
        for place in sorted(range(names.longest + 1), reverse=self._backwards):
            # A match may begin wherever a name has a place.
            active[self._start] |= names.reaching[place] | names.ending[place]
            _spread(active, passing, place)
            matched[place] = active[self._accept]
            read = place - 1 if self._backwards else place
            following = [0] * len(active)
            if 0 <= read < names.longest:
                for number, after, having in consuming:
                    if bits := active[number] & having[read]:
                        following[after] |= bits
            active = following
        return matched

    def _consuming(self, names: _Names) -> list[tuple[int, int, list[int]]]:
        """States that consume, where they lead, and by place the names whose character there they take."""
        sets = {(state.chars, state.others) for state in self._states if state.consumes}
        having = {one: names.having(*one) for one in sets}
        return [
            (number, state.next[0], having[state.chars, state.others])
            for number, state in enumerate(self._states)
            if state.consumes
        ]

    def _passing(self, names: _Names) -> list[_Passing]:
        """States that consume nothing, those first that were made last: most lead to states that were made before them."""
        asked = {(state.assertion, state.ahead) for state in self._states if state.assertion}
        holding = {one: _holding(names, *one) for one in asked}
        return [
            (number, state.next, holding[state.assertion, state.ahead] if state.assertion else None)
            for number, state in reversed([*enumerate(self._states)])
            if not state.consumes
        ]

    def _add(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise Unreadable("large")
        self._states.append(state)
        return len(self._states) - 1

    def _build(self, node: Node, after: int) -> int:
        """States for `node` that go on to `after`; the first one's number."""
        if node.assertion is not None:
            return self._add(_State((after,), assertion=node.assertion, ahead=self._ahead(node)))
        if node.kind == "set":
            return self._add(_State((after,), True, node.chars, node.others))
        if node.kind == "any of":
            return self._add(_State(tuple(self._build(part, after) for part in node.parts)))
        if node.kind == "repeat":
            return self._repeated(node, after)
        for part in node.parts if self._backwards else reversed(node.parts):
            after = self._build(part, after)
        return after

    def _ahead(self, node: Node) -> "_Machine | None":
        """The look-ahead's own states, made once however often it is repeated."""
        if not node.parts:
            return None
        (part,) = node.parts
        if part not in self._aheads:
            self._aheads[part] = _Machine(part, backwards=True)
        return self._aheads[part]

    def _repeated(self, node: Node, after: int) -> int:
        (part,) = node.parts
        if node.most is None:
            loop = self._add(_State((after,)))
            body = self._build(part, loop)
            self._states[loop] = _State((body, after))
            after = loop
        else:
            end = after
            for _ in range(node.most - node.least):
                after = self._add(_State((self._build(part, after), end)))
        for _ in range(node.least):
            before, after = after, self._build(part, after)
            if after == before:
                break  # nothing, however often
        return after


def _holding(names: _Names, assertion: Assertion, ahead: _Machine | None) -> list[int]:
    """By place: the names of which an assertion holds there."""
    if ahead is None:
        return names.holding(assertion)
    found = ahead.walk(names)
    if assertion is Assertion.AHEAD:
        return found
    return [names.everybody & ~bits for bits in found]


def _spread(active: list[int], passing: Sequence[_Passing], place: int) -> None:
    """Adds to `active` what is reached without consuming. Only loops lead to states made after them: each is one more round."""
    again = True
    while again:
        again = False
        for number, following, holding in passing:
            bits = active[number]
            if holding is not None:
                bits &= holding[place]
            if not bits:
                continue
            for after in following:
                if bits & ~active[after]:
                    active[after] |= bits
                    again = again or after > number


@lru_cache(maxsize=128)
def _machine(pattern: str, key: str) -> _Machine:
    try:
        return _Machine(parse(pattern))
    except Unreadable as trouble:
        raise Malformed(teaching.bad_pattern(key, pattern, trouble.why), key) from None


def found(patterns: Iterable[str], names: tuple[str, ...], key: str = "override_tensor") -> tuple[frozenset[str], ...]:
    """For each pattern the names in which it is found, as the engine would find it.

    Raises `Malformed` naming the configuration's `key` for a pattern that cannot be read, is too long or needs more than
    `MAX_STATES` states, and for the first one with which they need more than `MAX_TOGETHER`.
    """
    return _found(tuple(patterns), names, key)


# A plan asks several times for the same load.
@lru_cache(maxsize=8)
def _found(patterns: tuple[str, ...], names: tuple[str, ...], key: str) -> tuple[frozenset[str], ...]:
    machines = [_machine(pattern, key) for pattern in patterns]
    sizes = accumulate(machine.size for machine in machines)
    for pattern, size in zip(patterns, sizes, strict=True):
        if size > MAX_TOGETHER:
            raise Malformed(teaching.bad_pattern(key, pattern, "together"), key)
    sets: list[set[str]] = [set() for _ in patterns]
    for first in range(0, len(names), _AT_ONCE):
        batch = _Names(names[first : first + _AT_ONCE])
        for machine, chosen in zip(machines, sets, strict=True):
            chosen.update(batch.chosen(_any(machine.walk(batch))))
    return tuple(map(frozenset, sets))
