"""One entry of a list of tables (`[[keys]]`) added, changed or taken out of a configuration text, and nothing else of it.

For lists of ten thousand: of the text only the entry is looked at and said anew, and the whole is judged by the standard parser.
Decides nothing about what an entry may say.
"""

from collections.abc import Mapping
from typing import Any

from blazar.application.config.edit import append_table, change_table, cut_table, same, set_value
from blazar.application.config.locate import entry_at, lines_of
from blazar.application.config.problems import read_toml
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Conflict


class Entries:
    """The list called `name` in the text of the file at `path`. Raises `BadConfig` for what is no TOML."""

    def __init__(self, text: str, path: str, name: str) -> None:
        self._text, self._path, self._name = text, path, name
        self._raw = read_toml(text, path)
        found = self._raw.get(name, [])
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise Conflict(teaching.config_not_editable(name))
        self.rows: list[dict[str, Any]] = found
        """As the file says them; nobody may change one."""

    def add(self, row: Mapping[str, Any]) -> str:
        """The text with one more, at the end."""
        rows = [*self.rows, dict(row)]
        if self._inline():
            return set_value(self._text, (self._name,), rows)
        return self._judged(append_table(self._text, self._name, row), rows)

    def change(self, index: int, changes: Mapping[str, Any]) -> str:
        """The text in which one says these values; None takes a key away."""
        new = {key: value for key, value in {**self.rows[index], **changes}.items() if value is not None}
        if new == self.rows[index]:
            return self._text
        rows = [*self.rows[:index], new, *self.rows[index + 1 :]]
        if self._inline():
            return set_value(self._text, (self._name,), rows)
        return self._judged(change_table(self._text, self._entry(index), changes), rows)

    def remove(self, index: int) -> str:
        """The text without one."""
        rows = [*self.rows[:index], *self.rows[index + 1 :]]
        if self._inline():
            return set_value(self._text, (self._name,), rows)
        return self._judged(cut_table(self._text, self._entry(index)), rows)

    def _inline(self) -> bool:
        """Whether the list is a value and not headers."""
        return self._name in self._raw and not lines_of(self._text).has((self._name, 0))

    def _entry(self, index: int) -> Any:
        where = (self._name, index)
        return entry_at(self._text, where, lines_of(self._text).find(where))

    def _judged(self, text: str, rows: list[dict[str, Any]]) -> str:
        wanted = {**self._raw, self._name: rows}
        if not rows:
            del wanted[self._name]
        try:
            right = same(read_toml(text, self._path), wanted)
        except BadConfig:
            right = False
        if not right:
            raise Conflict(teaching.config_not_editable(self._name))
        return text
