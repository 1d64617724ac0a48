"""What an engine build can be told: its `--help`, read as options. Runs nothing; a build that could not be asked has an empty one.

What a help does not say is not guessed: sd-server prints no placeholder for some flags that take a value.

Spellings are kept exactly as printed, underscores included: dropping them once lost a whole family of sd-server's flags.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from blazar.domain.help_text import Entry, entries


class ValueKind(StrEnum):
    """What follows a flag on the command line, as far as the help tells."""

    NONE = "none"  # a switch
    INT = "int"  # or any number: some helps write N for both
    FLOAT = "float"
    CHOICE = "choice"  # one of `choices`
    TEXT = "text"  # anything else: paths, lists, names


class Option(NamedTuple):
    """One option. `names` are its spellings as printed, `negative` those that switch it off (`--no-mmap`).

    `value` is the placeholder as printed ("N", "FNAME", "{none,layer}"; empty for a switch), `choices` the words that it may be
    where the help lists all of them (of a list: its items), `default` what the help names as such ("" where it names none), `env` its variable.
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

    def __init__(self, options: Iterable[Option] = ()) -> None:
        self.options = tuple(options)

    @classmethod
    def spelled(cls, names: Iterable[str]) -> "Manifest":
        """Of a build of which nothing but some spellings is known."""
        return cls(Option((name,)) for name in sorted(names))

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

    def negative_of(self, spelling: str) -> str:
        """How the build is told the opposite of a switch; "" where it has no word for it. Long forms before short ones."""
        option = self.find(spelling)
        if option is None:
            return ""
        words = option.names if spelling in option.negative else option.negative
        return next((word for word in words if word.startswith("--")), words[0] if words else "")

    def choices(self, spelling: str) -> tuple[str, ...]:
        """What the flag may be followed by; () where the build has no such flag or does not list it."""
        option = self.find(spelling)
        return option.choices if option is not None else ()


def parse_help(text: str) -> Manifest:
    """All options of a `--help` text. Never raises: what is no help has no options."""
    return Manifest(_paired([_option(entry) for entry in entries(text)]))


_GONE = "argument has been removed"  # llama-server lists retired flags only to refuse them
_ENV = re.compile(r"[(\[]env: ?(\w+)")
_DEFAULT = re.compile(r"\bdefault: ?(?:'([^']*)'|\"([^\"]*)\"|(\[[^\]]*\])|([^,)\](]*))", re.IGNORECASE)
_DEFAULT_IS = re.compile(r"\bdefault is ([\w.+-]*\w)(?=[.,)]|$)", re.IGNORECASE)
_DEFAULT_FIRST = re.compile(r"\[([^\]\s]*) *\]")  # whisper-server begins a description with it
_LISTED = re.compile(r"(?:allowed values:|\[possible values:|one of) ?\[?((?:[\w.+-]+, ?)+[\w.+-]+)")
_BULLET = re.compile(r"- ([\w.+-]+)( \(default\))?:")
_WORD = re.compile(r"[\w.+-]+")
_WHOLE, _FRACTION = re.compile(r"[+-]?\d+"), re.compile(r"[+-]?\d+\.\d*")
_NUMBERS = frozenset({"N", "NUM", "INT", "PORT", "INDEX", "SEED", "SECONDS", "THREADS"})


def _option(entry: Entry) -> Option:
    said = " ".join(entry.said)
    choices, bulleted = _choices(entry, said)
    default = _default(said) or bulleted
    if bulleted != default and default.isidentifier() and choices and choices[0] in _bullets(entry):
        choices = tuple(dict.fromkeys((*choices, default)))  # --reasoning-format: the default has no line of its own
    found = _ENV.search(said)
    negative = _negatives(entry.names) if not entry.value else ()
    return Option(
        names=tuple(name for name in entry.names if name not in negative),
        negative=negative,
        kind=_kind(entry.value, choices, default),
        value=entry.value,
        choices=choices,
        default=default,
        env=found[1] if found else "",
        gone=_GONE in said,
    )


def _negatives(names: tuple[str, ...]) -> tuple[str, ...]:
    """`--no-mmap`, and the short forms between the last positive and it (`-cb, --cont-batching, -nocb, --no-cont-batching`)."""
    plain = [index for index, name in enumerate(names) if name.startswith("--") and not name.startswith("--no-")]
    if not plain or not any(name.startswith("--no-") for name in names):
        return ()
    return tuple(name for index, name in enumerate(names) if name.startswith("--no-") or index > plain[-1])


def _paired(options: list[Option]) -> Iterator[Option]:
    """With a switch and its negative as one, where a build lists them one after the other, as whisper-server does.

    ODD: --no-host is not the opposite of --host. The one of llama-server takes a value.
    """
    switches = {
        name: index
        for index, option in enumerate(options)
        if option.kind is ValueKind.NONE and not option.gone and not option.negative
        for name in option.names
    }
    absorbed: dict[int, Option] = {}
    for option in options:
        for name in option.names:
            positive = switches.get("--" + name.removeprefix("--no-")) if name.startswith("--no-") else None
            if positive is not None and name in switches:
                absorbed[positive] = option
    gone = {id(option) for option in absorbed.values()}
    for index, option in enumerate(options):
        if index in absorbed:
            yield option._replace(negative=absorbed[index].names)
        elif id(option) not in gone:
            yield option


def _kind(value: str, choices: tuple[str, ...], default: str) -> ValueKind:
    if "," in value and not value.startswith("{"):
        return ValueKind.TEXT  # a list
    if choices and value.strip("<>") not in _NUMBERS:
        return ValueKind.CHOICE
    plain = value.strip("<>[]").upper()
    if not value:
        return ValueKind.NONE
    if plain == "FLOAT" or _FRACTION.fullmatch(default):
        return ValueKind.FLOAT
    if plain in _NUMBERS or _WHOLE.fullmatch(default) or "..." in plain.strip("."):
        return ValueKind.INT
    return ValueKind.TEXT


def _choices(entry: Entry, said: str) -> tuple[tuple[str, ...], str]:
    """The words, and which of them a list of bullets marks as the default."""
    if words := _words_in(entry.value):
        return words, ""
    if listed := _LISTED.search(said):
        return tuple(word.strip() for word in listed[1].split(",")), ""
    bullets = _bullets(entry)
    if len(bullets) > 1 and entry.value not in _NUMBERS:
        return tuple(bullets), next((word for word, mark in bullets.items() if mark), "")
    return (), ""


def _words_in(value: str) -> tuple[str, ...]:
    """Of `{a,b}`, `<0|1>`, `[on|off]`, `a,b`; none of what stands for something else (`N0,N1,...`, `<FILE|URL>`)."""
    if value.startswith(("{", "[{")):
        return tuple(word.strip() for word in value.lstrip("[{").partition("}")[0].split(",") if word.strip())
    inside = value.strip("<>[]")
    words = tuple(inside.split("|" if "|" in inside else ","))
    said = all(_WORD.fullmatch(word) and ".." not in word and not word[0].isupper() for word in words)
    return words if said and len(words) > 1 else ()


def _bullets(entry: Entry) -> dict[str, str]:
    return {match[1]: match[2] or "" for line in entry.said if (match := _BULLET.match(line))}


def _default(said: str) -> str:
    if (first := _DEFAULT_FIRST.match(said)) and first[1] != "default":
        return first[1]
    if found := _DEFAULT.search(said):
        text = next((part for part in found.groups() if part is not None), "")
        return re.split(r"; | = |\. ", text, maxsplit=1)[0].strip().removesuffix(".")
    found = _DEFAULT_IS.search(said)
    return found[1] if found else ""
