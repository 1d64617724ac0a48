"""Which declaration a place in a configuration leads to: the keys that are known there, and whether it holds a secret."""

from collections.abc import Collection, Sequence

from blazar.application.config.knob import Keys, table_in
from blazar.application.config.model import Config

Place = Sequence[str | int]


def table_at(place: Place) -> type[Keys] | None:
    """The declaration of the table at `place`; None where there is none. Positions and names of entries are stepped over."""
    table: type[Keys] | None = Config
    inside = False
    for part in place:
        if table is None:
            return None
        if isinstance(part, str) and part in table.model_fields and not inside:
            field = table.model_fields[part]
            # Entries of a dictionary are named: the next part is a name and no key.
            inside = isinstance(field.default, dict)
            table = table_in(field.annotation)
        elif isinstance(part, str) and inside:
            inside = False
        elif isinstance(part, str):
            return None
    return table


def known_at(place: Place) -> Collection[str]:
    """Keys that could stand beside the last part of `place`."""
    table = table_at(place[:-1])
    return table.model_fields if table is not None else ()


def is_secret(place: Place) -> bool:
    """Whether what stands at `place`, or around it, may not be repeated.

    That is a secret, text in the place of a table that holds one, and all of [[keys]]: a slip of one line makes a secret a name.
    """
    if place[:1] == ("keys",) or _holds_one(table_at(place)):
        return True
    for length in range(1, len(place) + 1):
        table = table_at(place[: length - 1])
        field = table.model_fields.get(str(place[length - 1])) if table is not None else None
        if field is not None and not field.repr:
            return True
    return False


def names_variables(place: Place) -> bool:
    """Whether the names of the entries at `place` are those of variables, whose values are secrets."""
    table = table_at(place[:-1]) if place else None
    field = table.model_fields.get(str(place[-1])) if table is not None else None
    return field is not None and not field.repr and isinstance(field.default, dict)


def _holds_one(table: type[Keys] | None) -> bool:
    return table is not None and any(not field.repr for field in table.model_fields.values())
