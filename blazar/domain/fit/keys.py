"""Typed reading of metadata from strangers: what has the wrong type, sign or size is a `BadShape`, never another exception.

Decides nothing about models. Numbers are whole and not negative, as every key that memory depends on is unsigned in the engine.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from blazar.domain.errors import BadShape

MOST = 2**31 - 1
"""The largest number taken: the engine reads 32 bits, and sizes above half of that are attacks, not models."""

_QUOTED = 80  # characters of a hostile key that an error repeats


class Keys:
    """The metadata below `<arch>.`; keys are given without that prefix."""

    __slots__ = ("arch", "values")

    def __init__(self, metadata: Mapping[str, Any], arch: str) -> None:
        prefix = f"{arch}."
        cut = len(prefix)
        self.arch = arch
        self.values = {key[cut:]: value for key, value in metadata.items() if key.startswith(prefix)}

    def bad(self, key: str, why: str) -> BadShape:
        return BadShape(f"{self.arch}.{key}"[:_QUOTED], why)

    def has(self, key: str) -> bool:
        return key in self.values

    def number(self, key: str, default: int = 0) -> int:
        """One number; `default` where the key is absent."""
        value = self.values.get(key)
        return default if value is None else self._whole(key, value)

    def flag(self, key: str, default: bool) -> bool:
        """A flag; 0 and 1 are taken for one."""
        value = self.values.get(key)
        if value is None:
            return default
        return self._whole(key, value, flags=True) > 0

    def needed(self, key: str) -> int:
        """One number above 0 that no model can be without."""
        if not self.has(key):
            raise self.bad(key, "it is missing")
        if found := self.number(key):
            return found
        raise self.bad(key, "it is 0")

    def each(self, key: str, blocks: int, default: Sequence[int]) -> tuple[int, ...]:
        """A number a block: one for all, or an array with exactly one element a block (what the engine demands)."""
        value = self.values.get(key)
        if value is None:
            return tuple(default)
        if not _is_array(value):
            return (self._whole(key, value),) * blocks
        if len(value) != blocks:
            raise self.bad(key, f"it has {len(value)} elements for {blocks} blocks")
        return tuple(self._whole(key, one, flags=True) for one in value)

    def array(self, key: str, most: int) -> tuple[int, ...] | None:
        """An array of at most `most` numbers or flags; None where the key is absent or holds a single value."""
        value = self.values.get(key)
        if value is None or not _is_array(value):
            return None
        if len(value) > most:
            raise self.bad(key, f"it has {len(value)} elements, more than {most}")
        return tuple(self._whole(key, one, flags=True) for one in value)

    def any(self, key: str) -> bool:
        """Whether the key says anything: a number above 0, or an array with one."""
        value = self.values.get(key)
        if value is None:
            return False
        values = value if _is_array(value) else (value,)
        return any(self._whole(key, one, flags=True) > 0 for one in values)

    def _whole(self, key: str, value: Any, *, flags: bool = False) -> int:
        if isinstance(value, bool):
            if flags:
                return int(value)
            raise self.bad(key, "it is a flag where a number belongs")
        if not isinstance(value, int):
            raise self.bad(key, f"it is {_kind(value)} where a whole number belongs")
        if value < 0:
            raise self.bad(key, "it is negative")
        if value > MOST:
            raise self.bad(key, f"it is larger than {MOST}")
        return value


def whole(value: Any) -> int:
    """A raw entry as a count from 0 to `MOST`, for those that read what nobody has checked: 0 where it is no whole number."""
    return min(max(value, 0), MOST) if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_array(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _kind(value: Any) -> str:
    if _is_array(value):
        return "an array"
    return {float: "a fraction", str: "a text"}.get(type(value), "no number")
