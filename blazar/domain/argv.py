"""Settings to command-line words, by a table. A flag is data: its spelling, where its value comes from, how to say it."""

from collections.abc import Callable, Collection, Mapping
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


class Flag(NamedTuple):
    """One flag of one engine: `key` names the setting its value comes from."""

    name: str
    key: str
    emit: Emit = value


class Argv(NamedTuple):
    """Words for the child, and the flags its `--help` does not know (reported, never sent)."""

    words: tuple[str, ...]
    unknown: tuple[str, ...]


def compile_argv(table: tuple[Flag, ...], settings: Mapping[str, Any], probed: Collection[str]) -> Argv:
    """Say every setting that has a flag. With an empty `probed` nothing is filtered (the build could not be asked)."""
    words: list[str] = []
    unknown: list[str] = []
    for flag in table:
        said = flag.emit(flag.name, settings.get(flag.key))
        if not said:
            continue
        if probed and said[0] not in probed:
            unknown.append(said[0])
        else:
            words.extend(said)
    return Argv(tuple(words), tuple(unknown))
