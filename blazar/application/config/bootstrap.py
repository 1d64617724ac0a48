"""Keys from BLAZAR_KEYS: what the variable says, and how the file would say it. The one variable that is written down (D26).

Standard library only, and little of it: the thin verbs read the variable too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

VARIABLE = "BLAZAR_KEYS"


class NamedSecret(NamedTuple):
    """One key to be."""

    name: str
    secret: str


def new_keys(text: str, there: Iterable[Mapping[str, Any]]) -> list[NamedSecret]:
    """`name:secret` or just `secret`, separated by commas or white space; what is `there` (the file's tables) is left alone.

    A name that the file has stays as the file says: a key that was changed there must not come back by an old variable.
    """
    rows = list(there)
    names, secrets = {row.get("name") for row in rows}, {row.get("key") for row in rows}
    added: list[NamedSecret] = []
    for number, word in enumerate(text.replace(",", " ").split(), 1):
        name, mark, secret = word.partition(":")
        if not mark:
            name, secret = next(_free(number, names)), word
        if name not in names and secret not in secrets:
            added.append(NamedSecret(name, secret))
            names.add(name)
            secrets.add(secret)
    return added


def _free(number: int, names: set[Any]) -> Iterator[str]:
    """Names for a secret without one. A taken name is another secret's: this one would be dropped as if it were there."""
    while True:
        if (name := f"env-{number}") not in names:
            yield name
        number += 1


def tables_of(keys: Iterable[NamedSecret]) -> str:
    """The lines to append to a file. JSON's strings are TOML's, but for DEL."""
    return "".join(f"\n[[keys]]\nname = {_quoted(key.name)}\nkey = {_quoted(key.secret)}\n" for key in keys)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
