"""The declaration as text: a defaults file, listings, single values. Repeats no fact that the declaration holds."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from blazar.application.config.hoist import nearest
from blazar.application.config.layers import Loaded, Origin
from blazar.application.config.model import GROUPS, SECTIONS, TABLES, Config
from blazar.domain import teaching
from blazar.domain.errors import Malformed

REDACTED = "********"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Row(NamedTuple):
    """One key of a listing. `toml` is how the file would say the value ("" where it is unset)."""

    key: str
    value: Any
    toml: str
    origin: Origin


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """A value as TOML, inline; "" for what is unset."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {toml_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if value is None:
        return ""
    if isinstance(value, bool | str):
        # JSON's words and strings are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def defaults_toml() -> str:
    """A file that loads back to the defaults. Optional keys are left out, and tables too: `keys = []` forbids `[[keys]]`."""
    blocks = []
    for section in SECTIONS:
        lines = []
        for name, field in section.model_fields.items():
            if field.default is None or name in TABLES or isinstance(field.default, dict):
                continue
            lines += [f"# {field.description}", f"{name} = {toml_value(field.default)}"]
        if lines:
            blocks.append("\n".join([f"# {section.title}", "", *lines]))
    return "\n\n".join(blocks) + "\n"


def redacted(config: Config) -> dict[str, Any]:
    """Plain values, without a secret."""
    plain: dict[str, Any] = config.model_dump(mode="json")
    for key in plain["keys"]:
        key["key"] = REDACTED
    # Engine variables carry tokens as often as switches.
    plain["engine_env"] = dict.fromkeys(plain["engine_env"], REDACTED)
    plain["model_overrides"] = {
        name: override.model_dump(mode="json", exclude_unset=True) for name, override in config.model_overrides.items()
    }
    return plain


def ordered_keys() -> tuple[str, ...]:
    """Every key in the order of the documentation (inherited field order comes out reversed)."""
    return (*(name for section in SECTIONS for name in section.model_fields), "model_overrides")


def listing(loaded: Loaded) -> list[Row]:
    """Every key, what it holds and who said so."""
    plain = redacted(loaded.config)
    return [Row(key, plain[key], toml_value(plain[key]), loaded.origins[key]) for key in ordered_keys()]


def find_value(config: Config, key: str) -> Any:
    """What `key` holds: flat, as `group.key`, `engine_env.NAME`, or `model_overrides.NAME[.key]`; secrets redacted."""
    plain = redacted(config)
    head, _, rest = key.partition(".")
    if head in GROUPS and rest in GROUPS[head].model_fields:
        head, rest = rest, ""
    if head in plain and not rest:
        return plain[head]
    if head == "model_overrides":
        overrides = plain["model_overrides"]
        model, _, field = rest.rpartition(".")  # names may hold dots, so the last one divides
        if rest in overrides:
            return overrides[rest]
        if field in overrides.get(model, ()):
            return overrides[model][field]
    elif head == "engine_env" and rest in plain["engine_env"]:
        return plain["engine_env"][rest]
    raise Malformed(teaching.unknown_config_key(key, nearest(rest or head, plain)), "key")
