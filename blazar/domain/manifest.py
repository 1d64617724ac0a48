"""What an engine build can be told: its `--help`, read as options. Runs nothing; a build that could not be asked has an empty one.

Spellings are kept exactly as printed, underscores included: dropping them once lost a whole family of sd-server's flags.
"""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple


class ValueKind(StrEnum):
    """What follows a flag on the command line."""

    NONE = "none"  # a switch
    INT = "int"
    FLOAT = "float"
    CHOICE = "choice"  # one of `choices`
    TEXT = "text"  # anything else: paths, lists, names


class Option(NamedTuple):
    """One option. `names` are its spellings as printed, `negative` those that switch it off (`--no-mmap`).

    `value` is the placeholder as printed ("N", "FNAME", "{none,layer}"; empty for a switch), `choices` the words that it may be
    where the help lists all of them, `default` what the help names as such ("" where it names none), `env` its variable.
    `gone`: the build lists the flag only to refuse it.
    """

    names: tuple[str, ...]
    negative: tuple[str, ...] = ()
    kind: ValueKind = ValueKind.NONE
    value: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    env: str = ""
    gone: bool = False


class Manifest(Collection[str]):
    """All options of one build; as a collection, every spelling that it accepts."""

    def __init__(self, options: Sequence[Option] = ()) -> None:
        self.options = tuple(options)

    @cached_property
    def _by_spelling(self) -> dict[str, Option]:
        return {
            name: option for option in self.options if not option.gone for name in (*option.names, *option.negative)
        }

    def find(self, spelling: str) -> Option | None:
        """The option behind a spelling, negatives included; None where the build has no such flag."""
        return self._by_spelling.get(spelling)

    def __contains__(self, spelling: object) -> bool:
        return spelling in self._by_spelling

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_spelling)

    def __len__(self) -> int:
        return len(self._by_spelling)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.options == other.options

    def __hash__(self) -> int:
        return hash(self.options)

    def same(self, one: str, other: str) -> bool:
        """Whether two spellings set the same thing (`-c` and `--ctx-size`; a flag and its negative)."""
        return one == other or (self.find(one) is not None and self.find(one) is self.find(other))
