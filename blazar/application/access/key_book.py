"""The `[[keys]]` of the configuration, changed one at a time: judged, said in the file, or refused. Opens no file itself.

What holds are the file's keys and those that BLAZAR_KEYS adds to them. Every rule is judged on both, and where the file is locked: two
changes at once are one after the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from blazar.application.config.bootstrap import new_keys
from blazar.application.config.entries import Entries
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Conflict, NotFound
from blazar.domain.key_settings import LIMITS, checked_settings
from blazar.domain.keys import Key, check_key_name, check_left, new_secret

TABLE: Final = "keys"

Change = Callable[[Callable[[str], str]], bool]
"""Has the file say what an edit makes of its text; whether that is anything else. Blocks. Raises `BadConfig`, `StoreTrouble`."""

Judge = Callable[[Sequence[Key]], None]
"""Raises where whoever asks may not change keys, given those that hold now."""


def anybody(_: Sequence[Key]) -> None:
    """Who may write the file may change keys."""


@dataclass(frozen=True, slots=True)
class KeyBook:
    """`variable` is what BLAZAR_KEYS says, `token` makes random hex digits. Every method blocks, and raises what `change` does."""

    path: str
    change: Change
    variable: str
    token: Callable[[int], str]

    def add(self, name: str, settings: Mapping[str, Any], judge: Judge = anybody) -> Key:
        """A new key with a secret of its own, which is told here and nowhere else."""
        row = {"name": check_key_name(name), "key": new_secret(self.token), **_kept(checked_settings(settings))}

        def edit(entries: Entries, held: Sequence[Key]) -> str:
            judge(held)
            if any(key.name == name for key in held):
                raise Conflict(teaching.key_name_taken(name))
            if not any(not key.scoped for key in held) and row.get("models"):
                raise Conflict(teaching.first_key_scoped())
            return entries.add(row)

        self._edited(edit)
        return key_of(row)

    def update(self, name: str, settings: Mapping[str, Any], judge: Judge = anybody) -> Key:
        """Other settings; None takes one away. The secret stays."""
        wanted = checked_settings(settings)
        done: list[Key] = []

        def edit(entries: Entries, held: Sequence[Key]) -> str:
            judge(held)
            index = self._index(entries, held, name)
            row = _kept({**entries.rows[index], **wanted})
            check_left(held, [key_of(row) if key.name == name else key for key in held])
            done[:] = [key_of(row)]
            return entries.change(index, wanted)

        self._edited(edit)
        return done[-1]

    def rotate(self, name: str, judge: Judge = anybody) -> Key:
        """A new secret; the old one is worth nothing from then on."""
        secret = new_secret(self.token)
        done: list[Key] = []

        def edit(entries: Entries, held: Sequence[Key]) -> str:
            judge(held)
            index = self._index(entries, held, name)
            row = {**entries.rows[index], "key": secret}
            self._check_gone(entries, index, row)
            done[:] = [key_of(row)]
            return entries.change(index, {"key": secret})

        self._edited(edit)
        return done[-1]

    def remove(self, name: str, judge: Judge = anybody) -> Key:
        """The key that went. The last one never does."""
        done: list[Key] = []

        def edit(entries: Entries, held: Sequence[Key]) -> str:
            judge(held)
            index = self._index(entries, held, name)
            check_left(held, [key for key in held if key.name != name])
            self._check_gone(entries, index, None)
            done[:] = [key_of(entries.rows[index])]
            return entries.remove(index)

        self._edited(edit)
        return done[-1]

    def _edited(self, edit: Callable[[Entries, Sequence[Key]], str]) -> None:
        def on_text(text: str) -> str:
            entries = Entries(text, self.path, TABLE)
            return edit(entries, self._held(entries.rows))

        try:
            self.change(on_text)
        except BadConfig as wrong:  # by hand, since the daemon read it: no fault of what was asked for
            raise Conflict(teaching.keys_file_unusable(str(wrong))) from wrong

    def _held(self, rows: Sequence[Mapping[str, Any]]) -> list[Key]:
        added = [Key(key.name, key.secret) for key in new_keys(self.variable, rows)]
        return [*map(key_of, rows), *added]

    def _index(self, entries: Entries, held: Sequence[Key], name: str) -> int:
        for index, row in enumerate(entries.rows):
            if row.get("name") == name:
                return index
        if any(key.name == name for key in held):
            raise Conflict(teaching.key_of_variable(name))
        raise NotFound(teaching.key_not_found(name))

    def _check_gone(self, entries: Entries, index: int, instead: Mapping[str, Any] | None) -> None:
        """A secret that the variable brings would come back, under its name or another one, as soon as the file lacks it."""
        old = entries.rows[index]
        rows = [*entries.rows[:index], *([instead] if instead else []), *entries.rows[index + 1 :]]
        if any(key.secret == old.get("key") or key.name == old.get("name") for key in new_keys(self.variable, rows)):
            raise Conflict(teaching.key_of_variable(str(old.get("name"))))


def key_of(row: Mapping[str, Any]) -> Key:
    """An entry as rules know it. What a file says is judged by its declaration; here it only must not break."""
    models = row.get("models")
    return Key(
        str(row.get("name", "")),
        str(row.get("key", "")),
        tuple(models) if isinstance(models, list | tuple) else (),
        **{limit: row.get(limit) for limit in LIMITS},
        weight=row.get("weight", 1.0),
    )


def _kept(row: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in row.items() if value is not None}
