"""The declaration as text: a defaults file, listings, single values. Repeats no fact that the declaration holds."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from blazar.application.config.dotted import find_path, said_name, value_at
from blazar.application.config.hoist import nearest
from blazar.application.config.knob import Keys, table_in
from blazar.application.config.layers import Loaded, Origin
from blazar.application.config.model import GROUPS, SECTIONS, Config
from blazar.application.config.tuning import INSIDE
from blazar.domain import teaching
from blazar.domain.errors import Malformed

REDACTED = "********"


class Row(NamedTuple):
    """One key of a listing. `toml` is how the file would say the value ("" where it is unset)."""

    key: str
    value: Any
    toml: str
    origin: Origin


def toml_value(value: Any) -> str:
    """A value as TOML, inline; "" for what is unset."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{said_name(key)} = {toml_value(item)}" for key, item in value.items() if item is not None)
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
    """A file that loads back to the defaults. Optional keys are left out, and lists of tables too: `keys = []` forbids `[[keys]]`."""
    blocks = [block for section in SECTIONS if (block := _defaults(section, f"# {section.title}"))]
    # What stands behind a table's header belongs to it, so that tables come last.
    for name, field in Config.model_fields.items():
        if isinstance(field.default, Keys):
            blocks.append(_defaults(type(field.default), f"# {field.description}", f"[{name}]"))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _defaults(table: type[Keys], *head: str) -> str:
    lines = []
    for name, field in table.model_fields.items():
        if field.default is None or table_in(field.annotation) or isinstance(field.default, dict):
            continue
        lines += [f"# {field.description}", f"{name} = {toml_value(field.default)}"]
    return "\n".join([*head, "", *lines]) if lines else ""


def redacted(config: Config) -> dict[str, Any]:
    """Plain values, without a secret."""
    plain: dict[str, Any] = config.model_dump(mode="json")
    _hide(Config, plain)
    plain["model_overrides"] = {
        name: override.model_dump(mode="json", exclude_unset=True) for name, override in config.model_overrides.items()
    }
    return plain


def _hide(table: type[Keys], plain: dict[str, Any]) -> None:
    """Put marks in the place of secrets, and leave out what entries do not say."""
    for name, field in table.model_fields.items():
        value = plain.get(name)
        inner = table_in(field.annotation)
        if value and not field.repr:
            plain[name] = dict.fromkeys(value, REDACTED) if isinstance(value, dict) else REDACTED
        elif inner is not None and isinstance(value, list):
            for index, row in enumerate(value):
                _hide(inner, row)
                value[index] = {key: said for key, said in row.items() if said is not None}


def ordered_keys() -> tuple[str, ...]:
    """Every key in the order of the documentation (inherited field order comes out reversed)."""
    return (*(name for section in SECTIONS for name in section.model_fields), "model_overrides")


def listing(loaded: Loaded) -> list[Row]:
    """Every key, what it holds and who said so; keys of tables and of overrides one by one, as `config get` takes them."""
    plain = redacted(loaded.config)
    return [row for key in ordered_keys() for row in _rows(key, plain[key], loaded)]


def _rows(key: str, shown: Any, loaded: Loaded) -> Iterator[Row]:
    value, origin = getattr(loaded.config, key), loaded.origins[key]
    inner: dict[str, tuple[Any, Origin]] = {}
    if isinstance(value, Keys):
        for name, item in shown.items():
            layer = origin.layer if name in value.model_fields_set else "default"
            inner[name] = item, loaded.origins.get(f"{key}.{name}", Origin(layer))
    elif key == "model_overrides":
        inner = {
            f"{model}.{name}": (item, loaded.origins.get(f"{key}.{model}.{name}", Origin(origin.layer)))
            for model in shown
            for name, item in shown[model].items()
        }
    if not inner:
        yield Row(key, shown, toml_value(shown), origin)
    for name, (item, said) in inner.items():
        yield Row(f"{key}.{name}", item, toml_value(item), said)


def find_value(config: Config, key: str) -> Any:
    """What `key` holds: flat, as `group.key`, `engine_env.NAME`, or `model_overrides.NAME[.key]`; secrets redacted."""
    plain = redacted(config)
    head, _, rest = key.partition(".")
    first = rest.partition(".")[0]
    named = rest if first in (GROUPS[head].model_fields if head in GROUPS else INSIDE.get(head, ())) else key
    path = find_path(plain, named)
    if path is None:
        raise Malformed(teaching.unknown_config_key(key, nearest(rest or head, plain)), "key")
    return value_at(plain, path)
