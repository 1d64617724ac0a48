"""The configuration page of the documentation, made from the declaration."""

from collections.abc import Iterator
from typing import Any

from blazar.application.config import bootstrap
from blazar.application.config.knob import Keys, knob_of
from blazar.application.config.model import SECTIONS, Config, Override
from blazar.application.config.render import toml_value
from blazar.application.config.tables import ApiKey

_HEAD = """\
# Configuration

Blazar reads one file, `config.toml` (`blazar config path` says where it looks). Every key is optional; without a file all defaults hold.
The daemon reads it when it starts.

A key's value comes from the command line (`blazar serve --port 0`), else from its environment variable, else from the file, else from the
default. `blazar config list` shows every value and who set it; `blazar config defaults` prints a file with all defaults. An unknown key, a
value of the wrong type or a value out of range stops the start with its line number.

Keys are written flat. For readability, the keys of a section that names a table may be written below that table instead:

```toml
default_ctx = 8192

[gateway]
port = 11434
allowed_hosts = ["workstation.lan"]
```

The same key both at the root and in its table is refused, and so is a key in a table that is not its own.
"""

_KEYS = f"""\
## API keys

As soon as one `[[keys]]` table stands in the file, every request needs a key (`Authorization: Bearer …` or `x-api-key`); `/health` and
`/healthz` never do. `{bootstrap.VARIABLE}` brings keys along: `name:secret`, or just the secret, separated by commas or white space. When the
daemon starts, those whose name and secret are not in the file yet are appended to it (the file as it was stays beside it, with the time and
`.bak` behind its name); where the file cannot be written they hold until the daemon stops. A name that the file has already is left as it says.

```toml
[[keys]]
name = "editor"
key = "plm_…"
models = ["smollm2-135m"]
```
"""

_OVERRIDES = """\
## Overrides for one model

A table `[model_overrides.NAME]` replaces settings for one model. Its keys are those marked "per model" above and these:

```toml
[model_overrides."smollm2-135m"]
ctx = 4096
pin = true
```
"""


def kind_of(schema: dict[str, Any]) -> str:
    """A property's JSON schema in a few words."""
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    option = options[0] if options else schema
    if "enum" in option:
        return ", ".join(f"`{toml_value(word)}`" for word in option["enum"])
    word = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}.get(
        option.get("type", ""), ""
    )
    if option.get("type") == "array":
        return "list of texts" if option.get("items", {}).get("type") == "string" else "tables"
    if option.get("type") == "object":
        return "table"
    low, high = option.get("minimum"), option.get("maximum")
    if (above := option.get("exclusiveMinimum")) is not None:
        return f"{word}, more than {above:g}"
    if low is not None and high is not None:
        return f"{word}, {low:g} to {high:g}"
    return f"{word}, at least {low:g}" if low is not None else word


def _rows(section: type[Keys], names: Iterator[str]) -> Iterator[str]:
    properties = section.model_json_schema()["properties"]
    for name in names:
        field = section.model_fields[name]
        knob = knob_of(field)
        default = f"`{toml_value(field.default)}`" if field.default is not None and not field.is_required() else "–"
        marks = ["per model"] if knob.per_model else []
        marks += [f"environment: {', '.join(f'`{variable}`' for variable in reversed(knob.env))}"] if knob.env else []
        told = f" ({'; '.join(marks)})" if marks else ""
        yield f"| `{name}` | {kind_of(properties[name])} | {default} | {field.description}{told} |"


def _table(section: type[Keys], names: Iterator[str]) -> str:
    return "\n".join(["| key | value | default | meaning |", "| --- | --- | --- | --- |", *_rows(section, names)])


def configuration_page() -> str:
    """The whole page, ending in a newline."""
    parts = [_HEAD]
    for section in SECTIONS[:-1]:
        below = f"May be written below `[{section.group}]`.\n\n" if section.group else ""
        doc = f"{section.__doc__}\n\n" if section.__doc__ else ""
        parts.append(f"## {section.title}\n\n{doc}{below}{_table(section, iter(section.model_fields))}\n")
    parts.append(_KEYS + "\n" + _table(ApiKey, iter(ApiKey.model_fields)) + "\n")
    own = (name for name in Override.model_fields if name not in Config.model_fields)
    parts.append(_OVERRIDES + "\n" + _table(Override, own) + "\n")
    return "\n".join(parts)
