"""Keys set or unset: who may be written, what it was, what holds then. Reads and writes no file: texts come in and go out.

A text is handed out only when the whole of it is valid.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from blazar.application.config.address import check_settable, find_address, place_of, typed
from blazar.application.config.dotted import Names, find_path, value_at
from blazar.application.config.edit import set_value, unset_value
from blazar.application.config.layers import load_config
from blazar.application.config.lookup import holds
from blazar.application.config.model import GROUPS, Config
from blazar.application.config.problems import read_toml
from blazar.application.config.rules import NEEDS, World
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Malformed

Wish = tuple[str, Sequence[str]]
"""A key, and the words for its value."""


class Change(NamedTuple):
    """What came of it. `before` and `text`: the file; `was` and `now`: what holds, secrets hidden."""

    key: str
    before: str
    text: str
    was: Any
    now: Any

    @property
    def changed(self) -> bool:
        """Whether the file has to be written."""
        return self.text != self.before


Edit = Callable[[str, Mapping[str, Any]], tuple[str, str]]
"""What becomes of a text and its tables: the key that was meant, and the new text."""


def set_key(text: str, path: str, key: str, words: Sequence[str], world: World | None = None) -> Change:
    """`key` with the value that the words mean. Raises `BadConfig` for a file that is wrong then, `Malformed` else."""
    return set_keys(text, path, [(key, words)], world)[0]


def set_keys(text: str, path: str, wishes: Sequence[Wish], world: World | None = None) -> list[Change]:
    """Several at once, judged when all are said: some need each other. The last change has the text."""

    def edit(key: str, words: Sequence[str]) -> Edit:
        return lambda now, raw: _set(now, raw, key, words)

    edits = [edit(key, words) for key, words in wishes]
    return _changed(text, path, edits, _Judge(path, world, teaching.config_set_together))


def _set(text: str, raw: Mapping[str, Any], key: str, words: Sequence[str]) -> tuple[str, str]:
    address = find_address(key, raw)
    check_settable(address)
    value, place = typed(address, words), place_of(address, key, raw)
    there = value_at(raw, place)
    # ODD: equal is not the same: 1, 1.0 and true are equal to Python and different in a file.
    new = text if there == value and type(there) is type(value) else set_value(text, place, value)
    return address.key, new


def unset_key(text: str, path: str, key: str, world: World | None = None) -> Change:
    """The file without `key`, known or not: what makes a file unusable can be taken out when the rest is good."""
    return unset_keys(text, path, [key], world)[0]


def unset_keys(text: str, path: str, keys: Sequence[str], world: World | None = None) -> list[Change]:
    """Several at once, as they are set."""

    def edit(key: str) -> Edit:
        return lambda now, raw: _unset(now, raw, key)

    return _changed(text, path, [edit(key) for key in keys], _Judge(path, world, teaching.config_unset_together))


def _unset(text: str, raw: Mapping[str, Any], key: str) -> tuple[str, str]:
    name, place = _meant(key, raw)
    there = value_at(raw, place)
    if isinstance(there, list) and there and all(isinstance(row, dict) for row in there) and len(place) == 1:
        raise Malformed(teaching.config_tables_by_hand(name), "key")
    return name, unset_value(text, place)


def _meant(key: str, raw: Mapping[str, Any]) -> tuple[str, Names]:
    try:
        address = find_address(key, raw)
    except Malformed:
        literally = find_path(raw, key)
        if literally is None or (len(literally) == 1 and key in GROUPS):
            raise
        return key, literally
    return address.key, place_of(address, key, raw)


class _Judge(NamedTuple):
    """How a text is read, and how a person is told that two keys go together."""

    path: str
    world: World | None
    together: Callable[[str, str], str]

    def read(self, text: str) -> Config:
        return load_config(text, self.path, world=self.world).config

    def problems(self, text: str) -> tuple[str, ...]:
        try:
            self.read(text)
        except BadConfig as wrong:
            return wrong.problems
        return ()


def _changed(text: str, path: str, edits: Iterable[Edit], judge: _Judge) -> list[Change]:
    """A file that is wrong already is no hindrance, if it is right afterwards; what held of it is unknown then."""
    names, texts = list[str](), [text]
    for edit in edits:
        name, new = edit(texts[-1], read_toml(texts[-1], path))
        names.append(name)
        texts.append(new)
    try:
        old = judge.read(text)
    except BadConfig:
        old = None
    now = _judged(text, texts[-1], judge, names)
    return [
        Change(name, before, after, None if old is None else holds(old, name), holds(now, name))
        for name, (before, after) in zip(names, pairwise(texts), strict=True)
    ]


def _judged(old: str, new: str, judge: _Judge, names: Sequence[str]) -> Config:
    """The new text as it would hold. What was wrong before is told with its lines; what this change brought, without."""
    try:
        return judge.read(new)
    except BadConfig as wrong:
        line = re.compile(re.escape(judge.path) + r" line \d+: ")
        before = {line.sub("", problem, count=1): problem for problem in judge.problems(old)}
        brought = (line.sub("", problem, count=1) for problem in wrong.problems)
        raise BadConfig([before.get(one) or one + _together(names, one, judge) for one in brought]) from wrong


def _together(names: Sequence[str], problem: str, judge: _Judge) -> str:
    """Of keys that need each other, neither can be changed alone: how both are."""
    for name in names:
        for other in NEEDS.get(name, ()):
            needs = {teaching.config_wants("needs", other), teaching.config_wants("needs", name)}
            if name in NEEDS.get(other, ()) and any(need in problem for need in needs):
                return judge.together(name, other)
    return ""
