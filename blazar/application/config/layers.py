"""Defaults < file < environment < command line, and who set what. Reads no file: the text comes in.

Every layer is judged on its own, so that a mistake in the file is found even while a variable hides it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from blazar.application.config import bootstrap, rules
from blazar.application.config.environment import from_environment, unread
from blazar.application.config.files import folder_of, located, rooted, whole
from blazar.application.config.hoist import Problem, hoist, nearest, of_every_model
from blazar.application.config.locate import Lines, lines_of
from blazar.application.config.model import DAEMON_KEYS, INHERITING, Config, Override, cache_type_sources
from blazar.application.config.places import known_at
from blazar.application.config.problems import read_toml, spelled, unquoted, why
from blazar.application.config.switchboard import NEVER_PEGGED
from blazar.application.config.table_rules import Broken
from blazar.application.config.tuning import INSIDE, TUNINGS
from blazar.domain import teaching
from blazar.domain.errors import BadConfig


class Origin(NamedTuple):
    """Who set a key: layer is default, file, environment or command line; `where` a line or a variable."""

    layer: str
    where: str = ""


class Loaded(NamedTuple):
    """The configuration and the origin of every key of it. `folder`: where paths in it count from; "" where that is unknown."""

    config: Config
    origins: dict[str, Origin]
    warnings: tuple[str, ...] = ()
    folder: str = ""

    def rooted(self) -> Config:
        """All keys as the daemon's parts read them: every path from the root on. `config` is for those who show what was written."""
        return rooted(self.config, self.folder)

    def settings_for(self, model: str) -> dict[str, Any]:
        """What holds for one model, flat, every path from the root on."""
        return located(self.config.settings_for(model), self.folder)

    def origins_for(self, model: str) -> dict[str, str]:
        """Who set what holds for one model, by the names of `settings_for`, as people read it; a default has no entry."""
        said = {
            key: teaching.setting_from(*origin)
            for key, origin in self.origins.items()
            if origin.layer != "default"
            and key not in DAEMON_KEYS
            and key not in TUNINGS
            and not key.startswith("model_overrides.")
        }
        override = self.config.model_overrides.get(model)
        if override is not None:
            said |= dict.fromkeys(_settings_in(override), teaching.setting_from("override", model))
        sources = cache_type_sources(self.config, model)
        return said | {
            side: said[source] if source == side else teaching.setting_mirrored(source, said[source])
            for side, source in sources.items()
            if source in said
        }


def _settings_in(override: Override) -> Iterator[str]:
    """Names of the settings that an override says; a tuning table says single ones."""
    for name in override.model_fields_set:
        table = getattr(override, name)
        if table == "" and name in INHERITING:
            continue
        if name not in TUNINGS:
            yield name
        elif table is not None:
            root = INSIDE.get(name, frozenset())
            yield from (key if key in root else f"{name}.{key}" for key in table.model_fields_set)


def load_config(
    text: str,
    path: str,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    world: rules.World | None = None,
) -> Loaded:
    """Read a file's text; raises `BadConfig` with everything that is wrong with it."""
    folder = folder_of(path)
    world = _seen_from(folder, world or rules.World())
    raw = read_toml(text, path)
    lines = lines_of(text)
    values, sources, problems = hoist(raw, path, lines)
    origins = {key: Origin("file", f"line {lines.find(source)}") for key, source in sources.items()}
    config = None
    try:
        config = Config.model_validate(values)
        problems += _broken_in_file(config, world, _File(path, lines, sources))
    except ValidationError as error:
        problems += _in_file(error, _File(path, lines, sources))
    if config is None or problems:
        raise BadConfig([problem.sentence for problem in sorted(problems)])
    hidden = list[str]()
    more = [*_from_env(env or {}, values), *_from_command_line(overrides or {})]
    for key, origin, value in more:
        if origin.layer == "environment" and key != "keys" and values.get(key, value) != value:
            hidden.append(teaching.variable_over_file(origin.where, key))
        values[key] = value
        origins[key] = origin
    if more:
        config = _overlaid(values, origins, world)
    said = {key: origins.get(key, Origin("default")) for key in Config.model_fields}
    warnings = (*rules.warnings(config, world), *hidden, *unread(env or {}))
    return Loaded(config, said | _inner_origins(config, _File(path, lines, sources)), warnings, folder)


def _overlaid(values: Mapping[str, Any], origins: Mapping[str, Origin], world: rules.World) -> Config:
    """With what variables and the command line say."""
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise BadConfig(list(_outside(error, origins))) from error
    if broken := [_named(rule, origins) for rule in rules.problems(config, world)]:
        raise BadConfig(broken)
    return config


def _seen_from(folder: str, world: rules.World) -> rules.World:
    return world._replace(exists=lambda path: world.exists(whole(path, folder)))


class _File(NamedTuple):
    """The text that is being read: where each key stands in it."""

    path: str
    lines: Lines
    sources: Mapping[str, tuple[str, ...]]

    def line(self, place: Sequence[str | int]) -> int:
        """Of the flat key `place[0]`, or of what is inside it."""
        first, *rest = place
        return self.lines.find((*self.sources.get(str(first), ()), *rest))


def _in_file(error: ValidationError, file: _File) -> Iterator[Problem]:
    details = error.errors(include_url=False)
    for detail in details:
        place = detail["loc"]
        inside = (other for other in details if other is not detail and other["loc"][: len(place)] == place)
        # An entry that is wrong is not counted: a list of one would be too short as well.
        if detail["type"] != "too_short" or next(inside, None) is None:
            line, key = file.line(place), spelled(place)
            if detail["type"] == "extra_forbidden" and (header := unquoted(place, detail["input"])):
                yield Problem(
                    line, teaching.config_bad_value(file.path, line, key, teaching.config_name_in_parts(header))
                )
            elif detail["type"] == "extra_forbidden" and (name := of_every_model(place)):
                told = teaching.config_unknown_key(file.path, line, key, ()) + teaching.config_for_all(name)
                yield Problem(line, told)
            elif detail["type"] == "extra_forbidden" and not _never(place):
                yield Problem(
                    line, teaching.config_unknown_key(file.path, line, key, nearest(str(place[-1]), known_at(place)))
                )
            else:
                yield Problem(line, teaching.config_bad_value(file.path, line, key, _never(place) or why(detail)))


def _never(place: Sequence[str | int]) -> str:
    """Why a key cannot be set that people expect there; "" for others."""
    *table, name = place
    return teaching.never_pegged(str(name)) if table == ["warm_peg"] and name in NEVER_PEGGED else ""


def _broken_in_file(config: Config, world: rules.World, file: _File) -> Iterator[Problem]:
    for place, reason in rules.problems(config, world):
        line = file.line(place)
        yield Problem(line, teaching.config_bad_value(file.path, line, spelled(place), reason))


def _named(rule: Broken, origins: Mapping[str, Origin]) -> str:
    """The file alone was good: it is a variable or the command line that a key of some layer does not go with."""
    layer, where = origins.get(str(rule.where[0]), Origin("default"))
    named = teaching.config_environment(where) if layer == "environment" else teaching.setting_from(layer, where)
    return teaching.setting_bad_value(named, spelled(rule.where), rule.why)


def _inner_origins(config: Config, file: _File) -> dict[str, Origin]:
    """The single keys of tuning tables that the file sets, by the names that settings have, and those of overrides by their own."""
    return {
        f"model_overrides.{model}.{key}": Origin("file", f"line {file.line(('model_overrides', model, key))}")
        for model, override in config.model_overrides.items()
        for key in override.model_fields_set
    } | {
        f"{table}.{key}": Origin("file", f"line {file.line((table, key))}")
        for table in TUNINGS
        for key in getattr(config, table).model_fields_set
    }


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
    for key, variable, value in from_environment(env):
        yield key, Origin("environment", variable), value
    there = values.get("keys", [])
    if added := bootstrap.new_keys(env.get(bootstrap.VARIABLE, ""), there):
        rows = [{"name": key.name, "key": key.secret} for key in added]
        yield "keys", Origin("environment", bootstrap.VARIABLE), [*there, *rows]
