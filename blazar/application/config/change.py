"""One key set or unset: who may be written, what it was, what holds then. Reads and writes no file: texts come in and go out.

A text is handed out only when the whole of it is valid.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blazar.application.config.address import check_settable, find_address, place_of, typed
from blazar.application.config.dotted import Names, find_path, value_at
from blazar.application.config.edit import set_value, unset_value
from blazar.application.config.layers import load_config
from blazar.application.config.model import GROUPS, Config
from blazar.application.config.problems import read_toml
from blazar.application.config.render import find_value
from blazar.application.config.rules import World
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Malformed


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


def set_key(text: str, path: str, key: str, words: Sequence[str], world: World | None = None) -> Change:
    """`key` with the value that the words mean. Raises `BadConfig` for a file that is wrong already, `Malformed` else."""
    old = load_config(text, path, world=world).config
    raw = tomllib.loads(text)
    address = find_address(key, raw)
    check_settable(address)
    value, place = typed(address, words), place_of(address, key, raw)
    there = value_at(raw, place)
    # ODD: 1, 1.0 and true are equal to Python and different in a file.
    new = text if there == value and type(there) is type(value) else set_value(text, place, value)
    judged = _judged(text, new, path, world)
    return Change(address.key, text, new, holds(old, address.key), holds(judged, address.key))


def unset_key(text: str, path: str, key: str, world: World | None = None) -> Change:
    """The file without `key`, known or not: what makes a file unusable can be taken out when the rest is good."""
    raw = read_toml(text, path)
    name, place = _meant(key, raw)
    there = value_at(raw, place)
    if isinstance(there, list) and there and all(isinstance(row, dict) for row in there) and len(place) == 1:
        raise Malformed(teaching.config_tables_by_hand(name), "key")
    new = unset_value(text, place)
    judged = _judged(text, new, path, world)
    try:
        was = holds(load_config(text, path, world=world).config, name)
    except BadConfig:
        was = None
    return Change(name, text, new, was, holds(judged, name))


def holds(config: Config, key: str) -> Any:
    """What `key` comes to: of an override that does not say it, what holds for every model. None for what is not there."""
    try:
        return find_value(config, key)
    except Malformed:
        last = key.rpartition(".")[2]
        return find_value(config, last) if key.startswith("model_overrides.") and last in Config.model_fields else None


def _meant(key: str, raw: Mapping[str, Any]) -> tuple[str, Names]:
    try:
        address = find_address(key, raw)
    except Malformed:
        literally = find_path(raw, key)
        if literally is None or (len(literally) == 1 and key in GROUPS):
            raise
        return key, literally
    return address.key, place_of(address, key, raw)


def _judged(old: str, new: str, path: str, world: World | None) -> Config:
    """The new text as it would hold. What was wrong before is told with its lines; what this change brought, without."""
    try:
        return load_config(new, path, world=world).config
    except BadConfig as wrong:
        load_config(old, path, world=world)
        line = re.compile(re.escape(path) + r" line \d+: ")
        raise BadConfig([line.sub("", problem, count=1) for problem in wrong.problems]) from wrong
