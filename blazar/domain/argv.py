"""Settings to command-line words, by a table. A flag is data: its spelling, where its value comes from, how to say it."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, NamedTuple

Emit = Callable[[str, Any], tuple[str, ...]]


def _text(value: Any) -> str:
    return str(value)


def value(name: str, setting: Any) -> tuple[str, ...]:
    """`--name V`, silent for None, "" and 0 (the engine's own default)."""
    return () if setting in (None, "", 0) else (name, _text(setting))


def always(name: str, setting: Any) -> tuple[str, ...]:
    """`--name V` whatever V is; silent only for None."""
    return () if setting is None else (name, _text(setting))


def switch(name: str, setting: Any) -> tuple[str, ...]:
    """`--name` when true."""
    return (name,) if setting else ()


def tristate(name: str, setting: Any) -> tuple[str, ...]:
    """`--name` or `--no-name`. ODD: unset is not false: None stays silent, the engine decides."""
    if setting is None:
        return ()
    return (name,) if setting else ("--no-" + name.removeprefix("--"),)


def repeat(name: str, setting: Any) -> tuple[str, ...]:
    """`--name A --name B`, order kept."""
    return tuple(word for item in setting or () for word in (name, _text(item)))


def joined(name: str, setting: Any) -> tuple[str, ...]:
    """`--name A,B`."""
    return (name, ",".join(_text(item) for item in setting)) if setting else ()


_SCALED = re.compile(r"(.+):([+-]?\d+(?:\.\d+)?)")


def scaled(item: str) -> tuple[str, str]:
    """`FILE` or `FILE:SCALE` in its parts. ODD: a colon that no number follows belongs to the path."""
    found = _SCALED.fullmatch(item)
    return (found[1], found[2]) if found else (item, "")


def adapters(name: str, setting: Any) -> tuple[str, ...]:
    """`--name A,B`, or `--name-scaled A:0.5,B:1` where one of them has a scale.

    ODD: one flag for all adapters: repeated, the last could win.
    """
    items = [scaled(item) for item in setting or ()]
    if not any(scale for _, scale in items):
        return (name, ",".join(file for file, _ in items)) if items else ()
    return (name + "-scaled", ",".join(f"{file}:{scale or 1}" for file, scale in items))


FLOOR = ""
"""The key of a flag that is always said and that no setting changes (D30)."""


def fixed(*words: str) -> Emit:
    """`--name WORDS`, whatever the settings say."""
    return lambda name, _setting: (name, *words)


def unless(idle: float | str) -> Emit:
    """`--name V` but for None, "" and the one value that means the engine's own default. ODD: 0 may be a real choice."""
    return lambda name, setting: () if setting in (None, "", idle) else (name, str(setting))


def beginnings(flag: str) -> set[str]:
    """Everything that Python's parser of command lines takes for `--flag` where no other flag begins like that."""
    return {flag[:length] for length in range(len("--x"), len(flag) + 1)}


def spelled(words: Mapping[str, str]) -> Emit:
    """`--name W` with the engine's word for ours."""
    return lambda name, setting: (name, words.get(setting, str(setting))) if setting else ()


def only_off(name: str, setting: Any) -> tuple[str, ...]:
    """`--no-name` when false, else silent: the engine does it by itself, and old builds know only the negative."""
    return (name,) if setting is False else ()


def one(name: str, setting: Any) -> tuple[str, ...]:
    """`--name 1` when true: some switches take a digit."""
    return (name, "1") if setting else ()


def object_text(name: str, setting: Any) -> tuple[str, ...]:
    """`--name JSON`."""
    return (name, json.dumps(setting, separators=(",", ":"), sort_keys=True)) if setting else ()


class Missing(Enum):
    """What happens when a build does not know a flag that has something to say."""

    SKIP = "left out, with a warning"
    REFUSE = "the load is refused"  # without it the child would be another one than was asked for


class Flag(NamedTuple):
    """One flag of one engine: `key` names the setting its value comes from ("" for one that is always said).

    `why` says in half a sentence what it is said for; a FLOOR row has to have one, elsewhere the setting speaks for itself.
    `adds`: the engine adds several of them up, so that ours is said beside a person's own and does not give way to it.
    """

    name: str
    key: str
    emit: Emit = value
    why: str = ""
    missing: Missing = Missing.SKIP
    adds: bool = False


class Decision(NamedTuple):
    """One choice on a command line: the words (empty: it was left out), the setting behind them, and why."""

    words: tuple[str, ...]
    key: str
    reason: str


class Argv(NamedTuple):
    """Words for the child, and the flags its `--help` does not know (reported, never sent): `refused` are those it needs."""

    words: tuple[str, ...]
    unknown: tuple[str, ...]
    said: tuple[tuple[Flag, tuple[str, ...]], ...] = ()
    refused: tuple[str, ...] = ()


def compile_argv(table: tuple[Flag, ...], settings: Mapping[str, Any], probed: Collection[str]) -> Argv:
    """Say every setting that has a flag. With an empty `probed` nothing is filtered (the build could not be asked)."""
    said: list[tuple[Flag, tuple[str, ...]]] = []
    absent: list[tuple[Flag, str]] = []
    for flag in table:
        words = flag.emit(flag.name, settings.get(flag.key))
        if not words:
            continue
        if probed and words[0] not in probed:
            absent.append((flag, words[0]))
        else:
            said.append((flag, words))
    return Argv(
        tuple(word for _, words in said for word in words),
        tuple(name for flag, name in absent if flag.missing is Missing.SKIP),
        tuple(said),
        tuple(name for flag, name in absent if flag.missing is Missing.REFUSE),
    )
