"""Settings that name files and folders: which they are, and where one that is no whole path lies. Looks for none.

A path in config.toml counts from the folder of that file, wherever the daemon was started and wherever engines run. Words that a person
adds to a command line are the engine's to read, and no settings of this kind.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, TypeVar

from blazar.application.config.knob import Keys, knob_of
from blazar.application.config.model import Config, Override
from blazar.application.config.tuning import TUNINGS
from blazar.domain.argv import scaled

_DECLARED = {
    **Override.model_fields,
    **Config.model_fields,
    **{f"{table}.{key}": field for table, keys in TUNINGS.items() for key, field in keys.model_fields.items()},
}
PATH_KEYS: Mapping[str, Callable[[str], bool]] = {
    name: path for name, field in _DECLARED.items() if (path := knob_of(field).path) is not None
}
"""Keys by the names of `settings_for`, the daemon's own among them, and which of their texts are paths."""

_Keys = TypeVar("_Keys", bound=Keys)


def folder_of(file: str) -> str:
    """Where paths in `file` count from; "" where that is unknown."""
    path = PurePath(file)
    return str(path.parent) if path.is_absolute() else ""


def whole(path: str, folder: str) -> str:
    """The path from the root on; as it stands where `folder` is unknown."""
    return str(PurePath(folder, path)) if folder else path


def named_in(override: Override) -> Iterator[tuple[str, str]]:
    """Every path that an override says, with its key, as it stands there; of an adapter without its scale."""
    for key, names in PATH_KEYS.items():
        table, _, inner = key.rpartition(".")
        said = getattr(override, table, None) if table else override
        value = getattr(said, inner, None)
        for one in value if isinstance(value, tuple) else (value,):
            if one and names(one):
                yield key, scaled(one)[0] if key == "loras" else one


def located(settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The same settings with every path from the root on. An adapter's scale stays behind its path."""
    paths = {key: names for key, names in PATH_KEYS.items() if key in settings}
    return {**settings, **{key: _located(settings[key], names, folder) for key, names in paths.items()}}


def rooted(keys: _Keys, folder: str) -> _Keys:
    """The same keys with every path from the root on, also in the tables among them. Nobody's default is a path."""
    said = {name: getattr(keys, name) for name in keys.model_fields_set}
    fields = type(keys).model_fields
    now = {name: _rooted(value, knob_of(fields[name]).path, folder) for name, value in said.items()}
    changed = {name: value for name, value in now.items() if value != said[name]}
    return keys.model_copy(update=changed) if changed else keys


def _rooted(value: Any, names: Callable[[str], bool] | None, folder: str) -> Any:
    if names is not None:
        return _located(value, names, folder)
    if isinstance(value, Keys):
        return rooted(value, folder)
    if isinstance(value, tuple):
        return tuple(_rooted(one, None, folder) for one in value)
    if isinstance(value, dict):
        return {key: _rooted(one, None, folder) for key, one in value.items()}
    return value


def _located(value: Any, names: Callable[[str], bool], folder: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_located(one, names, folder) for one in value)
    return whole(value, folder) if value and names(value) else value
