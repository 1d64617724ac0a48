"""Defaults < file < environment < command line, and who set what. Reads no file: the text comes in.

Every layer is judged on its own, so that a mistake in the file is found even while a variable hides it.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from blazar.application.config import bootstrap
from blazar.application.config.hoist import Problem, hoist, nearest
from blazar.application.config.knob import knob_of
from blazar.application.config.locate import Lines
from blazar.application.config.log_filter import understood
from blazar.application.config.model import Config, Override
from blazar.application.config.problems import spelled, why
from blazar.application.config.tables import ApiKey
from blazar.domain import teaching
from blazar.domain.errors import BadConfig

_WHOLE = re.compile(r"[+-]?\d+")


class Origin(NamedTuple):
    """Who set a key: layer is default, file, environment or command line; `where` a line or a variable."""

    layer: str
    where: str = ""


class Loaded(NamedTuple):
    """The configuration and the origin of every key of it."""

    config: Config
    origins: dict[str, Origin]

    def origins_for(self, model: str) -> dict[str, str]:
        """Who set what holds for one model, as people read it; a default has no entry."""
        said = {
            key: teaching.setting_from(*origin) for key, origin in self.origins.items() if origin.layer != "default"
        }
        override = self.config.model_overrides.get(model)
        if override is not None:
            said |= dict.fromkeys(override.model_fields_set, teaching.setting_from("override", model))
        return said


def load_config(
    text: str, path: str, env: Mapping[str, str] | None = None, overrides: Mapping[str, Any] | None = None
) -> Loaded:
    """Read a file's text; raises `BadConfig` with everything that is wrong with it."""
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond what Python reads
        raise BadConfig([teaching.config_unreadable(path, teaching.config_not_toml(str(error)))]) from error
    lines = Lines(text)
    values, sources, problems = hoist(raw, path, lines)
    origins = {key: Origin("file", f"line {lines.find(source)}") for key, source in sources.items()}
    try:
        Config.model_validate(values)
    except ValidationError as error:
        problems += _in_file(error, path, lines, sources)
    if problems:
        raise BadConfig([problem.sentence for problem in sorted(problems)])
    for key, origin, value in (*_from_env(env or {}, values), *_from_command_line(overrides or {})):
        values[key] = value
        origins[key] = origin
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise BadConfig(list(_outside(error, origins))) from error
    return Loaded(config, {key: origins.get(key, Origin("default")) for key in Config.model_fields})


def _in_file(
    error: ValidationError, path: str, lines: Lines, sources: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    for detail in error.errors(include_url=False):
        first, *rest = detail["loc"]
        line = lines.find((*sources.get(str(first), ()), *rest))
        key = spelled(detail["loc"])
        if detail["type"] == "extra_forbidden":
            known = (ApiKey if first == "keys" else Override).model_fields
            hint = nearest(str(rest[-1]), known)
            yield Problem(line, teaching.config_unknown_key(path, line, key, hint))
        else:
            yield Problem(line, teaching.config_bad_value(path, line, key, why(detail)))


def _outside(error: ValidationError, origins: Mapping[str, Origin]) -> Iterator[str]:
    """The file alone was good, so what is wrong now came from a variable or the command line."""
    for detail in error.errors(include_url=False):
        key = str(detail["loc"][0])
        if detail["type"] == "extra_forbidden":
            yield teaching.unknown_config_key(key, nearest(key, Config.model_fields))
            continue
        origin = origins[key]
        named = teaching.config_environment(origin.where) if origin.where else teaching.config_command_line()
        yield teaching.setting_bad_value(named, key, why(detail))


def _from_command_line(overrides: Mapping[str, Any]) -> Iterator[tuple[str, Origin, Any]]:
    for key, value in overrides.items():
        if value is not None:
            yield key, Origin("command line"), value


def _from_env(env: Mapping[str, str], values: Mapping[str, Any]) -> Iterator[tuple[str, Origin, Any]]:
    for key, field in Config.model_fields.items():
        for name in knob_of(field).env:
            text = env.get(name, "").strip()
            if name == "RUST_LOG":
                text = understood(text)
            if text:
                yield key, Origin("environment", name), _typed(field, text)
    there = values.get("keys", [])
    if added := bootstrap.new_keys(env.get(bootstrap.VARIABLE, ""), there):
        rows = [{"name": key.name, "key": key.secret} for key in added]
        yield "keys", Origin("environment", bootstrap.VARIABLE), [*there, *rows]


def _typed(field: FieldInfo, text: str) -> Any:
    """A variable's text as the key's type has it; what is no such value stays text and is refused with its sentence."""
    if isinstance(field.default, tuple):
        return [word for part in text.split(",") if (word := part.strip())]
    if isinstance(field.default, int) and _WHOLE.fullmatch(text):
        return int(text)
    return text
