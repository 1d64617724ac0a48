"""What older files say otherwise: the list `api_keys` becomes `[[keys]]` tables. Doing it twice changes nothing."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from blazar.application.config.edit import append_tables, unset_value
from blazar.application.config.problems import read_toml
from blazar.domain import teaching
from blazar.domain.errors import Malformed

LEGACY = "api_keys"


class Migrated(NamedTuple):
    """The text as it should be, and the names of keys that were not under `[[keys]]` before."""

    text: str
    names: tuple[str, ...]


def migrate(text: str, path: str) -> Migrated:
    """Raises `Malformed` for `api_keys` that nobody ever wrote, `BadConfig` for what is no TOML."""
    raw = read_toml(text, path)
    if LEGACY not in raw:
        return Migrated(text, ())
    there = raw.get("keys", [])
    if not isinstance(there, list):
        raise Malformed(teaching.migrate_odd(), "keys")
    rows = list(_new_rows(raw[LEGACY], [row for row in there if isinstance(row, dict)]))
    newline = "\r\n" if "\r\n" in text else "\n"
    text = append_tables(unset_value(text, (LEGACY,)), "keys", rows, newline)
    return Migrated(text, tuple(str(row["name"]) for row in rows))


def _new_rows(legacy: Any, there: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A table for each secret that has none, under a name that is free."""
    names, secrets = {row.get("name") for row in there}, {row.get("key") for row in there}
    for number, entry in enumerate([legacy] if isinstance(legacy, str) else _listed(legacy), 1):
        row = {"key": entry} if isinstance(entry, str) else dict(entry) if isinstance(entry, Mapping) else {}
        if not isinstance(row.get("key"), str) or not row["key"]:
            raise Malformed(teaching.migrate_odd(), LEGACY)
        if row["key"] in secrets:
            continue
        name = _free(str(row.get("name") or f"key-{number}"), names)
        names.add(name)
        secrets.add(row["key"])
        yield {**row, "name": name, "key": row["key"]} if "name" in row else {"name": name, **row}


def _listed(legacy: Any) -> list[Any]:
    if not isinstance(legacy, list):
        raise Malformed(teaching.migrate_odd(), LEGACY)
    return legacy


def _free(name: str, names: set[Any]) -> str:
    """A name for another secret must be another: keys are told apart by it."""
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}-{number}"
    return found
