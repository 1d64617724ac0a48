"""API keys: what one may do, what may be done to it, and how its secret looks. Pure: reads no file, compares no secret.

A key is its name: usage, quotas, turns and kept things follow the name through a rotation of its secret.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Conflict, Forbidden, Malformed
from blazar.domain.names import resolve

PREFIX: Final = "plm_"
"""How secrets of ours begin, so that scanners of repositories and logs know one (D26)."""
SECRET_BYTES: Final = 24
"""192 bits: found by its digest, so that guessing is all that is left, and that is hopeless beyond 128."""
_TAIL: Final = 4
"""Characters of a secret that listings show, to tell which one a client has."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Key(NamedTuple):
    """One configured API key. `models` limits it to these; empty is an unscoped key, which may manage. A limit of None is none."""

    name: str
    key: str
    models: tuple[str, ...] = ()
    rpm: int | None = None
    tpm: int | None = None
    daily_tokens: int | None = None
    max_concurrent: int | None = None
    weight: float = 1.0

    @property
    def scoped(self) -> bool:
        """Whether it may only use its models, and manage nothing."""
        return bool(self.models)

    def __repr__(self) -> str:
        """Without the secret: a key may get into a traceback."""
        return f"Key({self.name!r}, {redacted(self.key)!r})"


def new_secret(token: Callable[[int], str]) -> str:
    """A secret that nobody has; `token` gives so many random bytes as hex digits."""
    return PREFIX + token(SECRET_BYTES)


def redacted(secret: str) -> str:
    """What may be shown of a secret: of a long one of ours its end, of any other nothing."""
    if secret.startswith(PREFIX) and len(secret) >= len(PREFIX) + 2 * SECRET_BYTES:
        return f"{PREFIX}…{secret[-_TAIL:]}"
    return "********"


def check_key_name(name: str) -> str:
    """Give `name` back if a new key may be called so, else raise `Malformed`. What a file calls its keys is the file's affair."""
    if not _NAME.fullmatch(name):
        raise Malformed(teaching.bad_key_name(name), "name")
    return name


def check_manager(keys: Collection[Key], caller: str) -> None:
    """Raise `Forbidden` unless the key called `caller` may manage keys: there must be keys, and its own must be unscoped."""
    if not keys:
        raise Forbidden(teaching.no_keys_configured())
    key = next((key for key in keys if key.name == caller), None)
    if key is None or key.scoped:
        raise Forbidden(teaching.key_is_scoped(caller))


def scopes_in_vain(
    scopes: Mapping[str, Collection[str]], models: Collection[str], meant: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Keys, and the models that they are limited to and that are not there, however they are spelled.

    `meant` is which row a name means (`row_names.py`), as a request with that key finds it.
    """
    for key, names in scopes.items():
        yield from ((key, name) for name in names if resolve(meant(name), models) not in models)


def check_left(before: Collection[Key], after: Collection[Key]) -> None:
    """Raise `Conflict` where a change would leave no key, or take the last one away that may manage.

    Without keys the gateway would be open to everybody (contract), without an unscoped one nobody could manage it any more.
    """
    if before and not after:
        raise Conflict(teaching.last_key())
    if any(not key.scoped for key in before) and all(key.scoped for key in after):
        raise Conflict(teaching.last_unscoped_key())
