"""Group tables to flat keys. Refuses what is set twice, misplaced or unknown, each with its line and what was meant."""

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Any, NamedTuple

from blazar.application.config.knob import Keys
from blazar.application.config.locate import Lines
from blazar.application.config.model import GROUPS, TABLES, Config, Override, section_of
from blazar.application.config.override import OverrideOnly
from blazar.application.config.tuning import INSIDE, TUNINGS
from blazar.domain import teaching
from blazar.domain.names import near

SYNONYMS: dict[str, tuple[str, ...]] = {
    # What the same thing is called in other programs' configuration; spelling alone would suggest nonsense (case I1).
    "listen": ("port", "host"),
    "bind": ("host", "port"),
    "address": ("host",),
    "ctx": ("default_ctx",),
    "num_ctx": ("default_ctx",),
    "ctx_size": ("default_ctx",),
    "context": ("default_ctx",),
    "parallel": ("slots",),
    "num_parallel": ("slots",),
    "keep_alive": ("idle_timeout_secs",),
    "ttl": ("idle_timeout_secs",),
    "origins": ("cors_origins",),
    "api_key": ("keys",),
    "api_keys": ("keys",),
    "models": ("model_overrides",),
}


_OVERRIDES = "model_overrides"

CLEARLY = 0.2
"""How much less alike than the best a spelling is no hint any more: `defalt_ctx` is default_ctx, and not mcp_default."""


LIKE = 0.65
"""How alike a spelling must be: nope is not spec (0.5), nothing is not cont_batching (0.6), and slto is slots (0.67)."""


HINTED = 200
"""Problems after which no more hints are looked for: each takes a comparison with every key, and a file of another kind is none of ours."""


class Problem(NamedTuple):
    """One sentence, and the line that sorts it."""

    line: int
    sentence: str


class Hoisted(NamedTuple):
    """Flat values, where each of them stands in the file, and what is wrong with the layout."""

    values: dict[str, Any]
    sources: dict[str, tuple[str, ...]]
    problems: list[Problem]


def nearest(key: str, known: Collection[str]) -> tuple[str, ...]:
    """What a person may have meant by an unknown `key`: another program's name for it, else a similar spelling."""
    if meant := tuple(name for name in SYNONYMS.get(key, ()) if name in known):
        return meant
    if ends := tuple(name for name in known if key.endswith(f"_{name}")):  # default_ctx is the ctx of an override
        return (max(ends, key=len),)
    # Among hundreds of keys something is always similar; what is clearly less so than the best would only mislead.
    alike = {name: SequenceMatcher(None, key, name).ratio() for name in near(key, known)}
    return tuple(name for name, ratio in alike.items() if ratio >= LIKE and ratio > max(alike.values()) - CLEARLY)


def hints(key: str) -> tuple[str, ...]:
    """What a person may have meant by an unknown key that stands at the root or in a group: first one of the same name elsewhere."""
    return () if key in SYNONYMS else _elsewhere().get(key, ())


@cache
def _elsewhere() -> dict[str, tuple[str, ...]]:
    """The names that only tables have, with the tables."""
    found = dict[str, tuple[str, ...]]()
    for table, field in Config.model_fields.items():
        if isinstance(field.default, Keys):
            for name in type(field.default).model_fields:
                found[name] = (*found.get(name, ()), f"{table}.{name}")
    for name in OverrideOnly.model_fields:
        found[name] = (f"{_OVERRIDES}.NAME.{name}",)
    return {name: keys for name, keys in found.items() if name not in Config.model_fields}


def of_every_model(place: Sequence[str | int]) -> str:
    """The key that was to be said for one model and holds for all of them; "" for others."""
    table, *_, name = place
    if len(place) != 3 or table != _OVERRIDES or name not in Config.model_fields:
        return ""
    return "" if nearest(str(name), Override.model_fields) else str(name)


def hoist(raw: Mapping[str, Any], path: str, lines: Lines) -> Hoisted:
    """Flatten a parsed file."""
    result = Hoisted({}, {}, [])
    for name, value in raw.items():
        if name in GROUPS and isinstance(value, dict):
            continue
        if name in Config.model_fields:
            result.values[name] = value
            result.sources[name] = (name,)
        else:
            hinted = len(result.problems) < HINTED
            result.problems.append(_unknown(name, value, (path, lines.find((name,))), hinted))
    for name in GROUPS:
        if isinstance(table := raw.get(name), dict):
            _hoist_group(name, table, result, (path, lines))
    for name, keys in INSIDE.items():
        if isinstance(table := raw.get(name), dict):
            _hoist_out(name, keys, result, (path, lines))
    return result


def _hoist_group(group: str, table: Mapping[str, Any], result: Hoisted, file: tuple[str, Lines]) -> None:
    path, lines = file
    for key, value in table.items():
        line = lines.find((group, key))
        home = section_of(key)
        if home is GROUPS[group]:
            if key in result.values:
                result.problems.append(Problem(line, teaching.config_set_twice(path, line, key, group)))
            else:
                result.values[key] = value
                result.sources[key] = (group, key)
        elif home is not None or key in TABLES:
            where = home.group if home is not None else ""
            result.problems.append(Problem(line, teaching.config_wrong_group(path, line, key, group, where)))
        else:
            hint = hints(key) or nearest(key, Config.model_fields) if len(result.problems) < HINTED else ()
            result.problems.append(Problem(line, teaching.config_unknown_key(path, line, f"{group}.{key}", hint)))


def _hoist_out(table: str, keys: Collection[str], result: Hoisted, file: tuple[str, Lines]) -> None:
    """Root keys out of a table that has keys of its own, too."""
    path, lines = file
    kept = {}
    for key, value in result.values[table].items():
        if key not in keys:
            kept[key] = value
        elif key in result.values:
            line = lines.find((table, key))
            result.problems.append(Problem(line, teaching.config_set_twice(path, line, key, table)))
        else:
            result.values[key] = value
            result.sources[key] = (table, key)
    result.values[table] = kept


def _unknown(name: str, value: object, at: tuple[str, int], hinted: bool) -> Problem:
    path, line = at
    if name == "api_keys":
        return Problem(line, teaching.config_legacy_keys(path, line))
    if name in GROUPS:
        wants = ("header", name) if isinstance(value, list) else ("table", "")
        return Problem(line, teaching.config_bad_value(path, line, name, teaching.config_wants(*wants)))
    if name == "sdcpp":
        return Problem(line, teaching.config_bad_value(path, line, name, teaching.no_diffusion_table()))
    tables = {*GROUPS, *TABLES, *TUNINGS, "chat_template_kwargs", "engine_env"}
    # Who writes a table means a table: a similar key would only mislead.
    known = tables if isinstance(value, dict) else Config.model_fields
    elsewhere = () if isinstance(value, dict) else hints(name)
    hint = elsewhere or nearest(name, known) if hinted else ()
    if isinstance(value, dict) and not hint:
        return Problem(line, teaching.config_unknown_group(path, line, name, sorted(tables)))
    return Problem(line, teaching.config_unknown_key(path, line, name, hint))
