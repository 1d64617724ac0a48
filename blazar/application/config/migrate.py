"""What older files say otherwise: the list `api_keys` becomes `[[keys]]` tables. Doing it twice changes nothing, and no comment is lost."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from blazar.application.config.edit import append_tables, takes_tables, unset_value
from blazar.application.config.locate import Lines, placed, remarks_in
from blazar.application.config.problems import read_toml
from blazar.domain import teaching
from blazar.domain.errors import Malformed

LEGACY = "api_keys"


class Migrated(NamedTuple):
    """The text as it should be, and the names of keys that were not under `[[keys]]` before."""

    text: str
    names: tuple[str, ...]


class _Odd(Exception):
    """What nobody ever wrote: a word of `teaching.migrate_odd`, and the item that it is about."""

    def __init__(self, what: str = "", item: int = 0) -> None:
        self.what, self.item = what, item


def migrate(text: str, path: str) -> Migrated:
    """Raises `Malformed` for `api_keys` that nobody ever wrote, `BadConfig` for what is no TOML."""
    raw = read_toml(text, path)
    if LEGACY not in raw:
        return Migrated(text, ())
    there = raw.get("keys", [])
    line = Lines(text).find((LEGACY,))
    if not isinstance(there, list):
        raise Malformed(teaching.migrate_odd(path, line), "keys")
    try:
        rows = dict(_new_rows(raw[LEGACY], [row for row in there if isinstance(row, dict)]))
    except _Odd as odd:
        raise Malformed(teaching.migrate_odd(path, line, odd.what, odd.item), LEGACY) from odd
    newline = "\r\n" if "\r\n" in text else "\n"
    text, remarks = _without_remarks(text, rows if takes_tables(text, "keys") else {}, newline)
    above = [remarks.get(item, []) for item in rows]
    text = append_tables(unset_value(text, (LEGACY,)), "keys", [*rows.values()], newline, above)
    return Migrated(text, tuple(str(row["name"]) for row in rows.values()))


def _without_remarks(text: str, moving: Mapping[int, Any], newline: str) -> tuple[str, dict[int, list[str]]]:
    """The text without the comments that go along with an item; others are put on lines of their own, which stay."""
    found: dict[int, list[str]] = {}
    for row in reversed([row for row in placed(text) if row.path[0] == LEGACY]):
        entry = row.path[1] if len(row.path) > 1 else None
        for remark in reversed([*remarks_in(text, row.statement)]):
            item = entry if isinstance(entry, int) else 0 if moving and remark.item < 0 else remark.item
            head, rest = text[: remark.at].rstrip(" \t"), text[remark.at + len(remark.text) :]
            if item in moving:
                found.setdefault(item, []).insert(0, remark.text)
                text = head + rest
            else:
                text = f"{head}{newline}{remark.text}{rest}"
    return text, found


def _new_rows(legacy: Any, there: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """A table for each secret that has none, under a name that is free; and which item of the list it was."""
    names, secrets = {row.get("name") for row in there}, {row.get("key") for row in there}
    for item, entry in enumerate([legacy] if isinstance(legacy, str) else _listed(legacy)):
        row = _row_of(entry, item + 1)
        if row["key"] in secrets:
            continue
        name = _free(str(row.get("name") or f"key-{item + 1}"), names)
        names.add(name)
        secrets.add(row["key"])
        yield item, {**row, "name": name, "key": row["key"]} if "name" in row else {"name": name, **row}


def _row_of(entry: Any, number: int) -> dict[str, Any]:
    if not isinstance(entry, str | Mapping):
        raise _Odd("kind", number)
    row = {"key": entry} if isinstance(entry, str) else dict(entry)
    if not isinstance(row.get("key", ""), str):
        raise _Odd("kind", number)
    if not row.get("key"):
        raise _Odd("empty" if "key" in row else "keyless", number)
    return row


def _listed(legacy: Any) -> list[Any]:
    if not isinstance(legacy, list):
        raise _Odd
    return legacy


def _free(name: str, names: set[Any]) -> str:
    """A name for another secret must be another: keys are told apart by it."""
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}-{number}"
    return found
