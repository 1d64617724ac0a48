"""What `config get` answers: what holds of a key, also where nobody said it, and every key of a group. Reads no file."""

from typing import Any, NamedTuple

from blazar.application.config.address import find_address
from blazar.application.config.dotted import Names
from blazar.application.config.model import GROUPS, Config, Override
from blazar.application.config.render import find_value, redacted, toml_value
from blazar.domain.errors import Malformed


class Found(NamedTuple):
    """A value, and how the file would spell it: an unset key as nothing, a group one key a line."""

    value: Any
    toml: str


def look_up(config: Config, key: str) -> Found:
    """Raises `Malformed` with near keys for what is none."""
    if key in GROUPS and key not in Config.model_fields:
        rows = {name: find_value(config, name) for name in GROUPS[key].model_fields}
        lines = (f"{name} = {toml}" for name, value in rows.items() if (toml := toml_value(value)))
        return Found(rows, "\n".join(lines))
    value = _said_or_held(config, key)
    return Found(value, toml_value(value))


def _said_or_held(config: Config, key: str) -> Any:
    try:
        return find_value(config, key)
    except Malformed:
        return _held(config, find_address(key, redacted(config)).path)


def holds(config: Config, key: str) -> Any:
    """The same of a key that may be none: None for what is not there."""
    try:
        return _said_or_held(config, key)
    except Malformed:
        return None


def _held(config: Config, path: Names) -> Any:
    """Of what an override could say and does not: what holds for every model, else the default. Entries with free names have none."""
    if path[0] != "model_overrides":
        return None
    _, *inner = path[1:] or ("",)
    if not inner:
        return None
    try:
        return find_value(config, ".".join(inner))
    except Malformed:
        field = Override.model_fields.get(inner[0])
        return field.default if field is not None and len(inner) == 1 else None
