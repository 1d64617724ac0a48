"""The configuration page of the documentation, made from the declaration."""

import re
from collections.abc import Iterator
from typing import Any

from blazar.application.config import bootstrap
from blazar.application.config.environment import variables
from blazar.application.config.knob import LARGEST, Keys, knob_of, table_in
from blazar.application.config.model import SECTIONS, Config, Override
from blazar.application.config.render import toml_value
from blazar.application.config.tables import ApiKey
from blazar.application.config.tuning import TUNINGS
from blazar.application.config.variables import VARIABLES
from blazar.application.config.waiting import WAITING

_HEAD = """\
# Configuration

Blazar reads one file, `config.toml` (`blazar config path` says where it looks). Every key is optional; without a file all defaults hold.
The daemon reads it when it starts, and again when it has changed or on SIGHUP; a file that is wrong then is told and not used.

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

A path that does not begin at the root counts from the folder of `config.toml`; `~` is not read. Words in `extra_args` and the like reach
engines as they are written, and a path among them counts from the folder `run` below the data folder, where engines run. A file that an engine
would be told of and that is not there refuses the load, and the refusal names key and path.

What is marked "no effect yet" is accepted and checked, and nothing in this version reads it; `blazar config validate` names such keys of a file, and
`blazar config list` marks them.

Whenever Blazar writes the file, the file as it was stays beside it, with the time and `.bak` behind its name: the last ten, older ones go.

What changes in the file holds from the next look at it, at most a few seconds later: for new requests at once, for a model's engine as soon as
it is idle. `blazar config set`, `unset` and `edit` return once a running daemon has read the file, or say after 5 seconds that it has not yet
(`behind` of `GET /api/config`). `host`, `port`, `tls_cert` and `tls_key` are read at the start only; `blazar doctor` names those that wait for a restart.
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
rpm = 60
```

What limits count, what is charged and what a client sees: [what a key may use](quotas.md).
"""

_MORE = {
    "remotes": """\
The key must not travel in clear where others can read it, so a URL is judged when the daemon starts, without looking a name up:

| URL | what happens |
| --- | --- |
| `https://`, any host | accepted |
| `http://` to `127.0.0.1`, `localhost`, `[::1]` | accepted: it never leaves this machine |
| `http://` to an address of the local network (`10.*`, `192.168.*`, `172.16.*` to `172.31.*`, `169.254.*`, `fd00::/8`, `fe80::/10`) | accepted, with a warning |
| `http://` to anything else, names included | refused, unless `allow_insecure_http = true`; then with a loud warning |

```toml
[[remotes]]
name = "bigbox"
url = "https://bigbox.lan:8000"
key = "plm_…"
```
""",
    "failover": """\
```toml
[[remotes]]
name = "bigbox"
url = "http://192.168.1.9:11435"

[[failover]]
name = "assistant"
alias = "primary"

[[failover.targets]]
model = "qwen3-8b:q4_k_m"

[[failover.targets]]
remote = "bigbox"
model = "qwen3-8b:q4_k_m"
```
""",
    "mcp": """\
Such a program runs with the rights of the daemon and its whole environment; `env_clear` starts it with an empty one, into which
`allowed_env` lets single variables (`PATH` too, if its program is to be found by name). What is said about a process cannot be said
about a URL.

```toml
mcp_default = "none"

[[mcp]]
name = "fetch"
command = ["/opt/mcp/fetch-server"]
env_clear = true
allowed_env = ["HOME"]

[mcp.env]
FETCH_TIMEOUT = "30"

[[mcp]]
name = "notes"
url = "http://127.0.0.1:8808/mcp"
```
""",
    "sglang": """\
```toml
[sglang]
attention_backend = "triton"

[model_overrides."qwen3-32b-awq".sglang]
tp_size = 2
```
""",
}
"""What a table's chapter says beside its keys."""

_OVERRIDES = """\
## Overrides for one model

A table `[model_overrides.NAME]` replaces settings for one model. Its keys are those marked "per model" above and these:

```toml
[model_overrides."smollm2-135m"]
ctx = 4096
pin = true
```
"""

_VARIABLES = """\
## Environment variables

A variable that sets a key wins over the file and loses to the command line; where it is empty it sets nothing. A list is written with commas
between its items; `true`, `1`, `yes` and `on` are true, `false`, `0`, `no` and `off` are false. Only `BLAZAR_KEYS` is ever written to the file.
"""


def kind_of(schema: dict[str, Any]) -> str:
    """A property's JSON schema in a few words."""
    return " or ".join(dict.fromkeys(_kind(option) for option in _options(schema)))


def _options(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a value may be; TOML has no null."""
    if "anyOf" in schema:
        for option in schema["anyOf"]:
            yield from _options(option)
    elif schema.get("type") != "null":
        yield schema


def _kind(option: dict[str, Any]) -> str:
    if "enum" in option:
        return ", ".join(f"`{toml_value(word)}`" for word in option["enum"])
    word = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}.get(
        option.get("type", ""), ""
    )
    if option.get("type") == "array":
        return "list of texts" if option.get("items", {}).get("type") == "string" else "tables"
    if option.get("type") == "object" or "$ref" in option:
        return "table"
    low, high = option.get("minimum"), option.get("maximum")
    if high == LARGEST:  # where numbers end is no news to anybody
        high = None
    if (above := option.get("exclusiveMinimum")) is not None:
        below = option.get("exclusiveMaximum")
        until = f", at most {high:g}" if high is not None else f", less than {below:g}" if below is not None else ""
        return f"{word}, more than {above:g}{until}"
    if low is not None and high is not None:
        return f"{word}, {low:g} to {high:g}"
    return f"{word}, at least {low:g}" if low is not None else word


def _rows(section: type[Keys], names: Iterator[str]) -> Iterator[str]:
    properties = section.model_json_schema()["properties"]
    for name in names:
        field = section.model_fields[name]
        knob = knob_of(field)
        plain = field.default is not None and not field.is_required() and not isinstance(field.default, Keys)
        default = f"`{toml_value(field.default)}`" if plain else "–"
        marks = ["no effect yet"] if (f"keys.{name}" if section is ApiKey else name) in WAITING else []
        marks += ["per model"] if knob.per_model else []
        marks += [f"environment: {', '.join(f'`{variable}`' for variable in reversed(knob.env))}"] if knob.env else []
        told = f" ({'; '.join(marks)})" if marks else ""
        yield f"| `{name}` | {kind_of(properties[name])} | {default} | {field.description}{told} |"


def _table(section: type[Keys], names: Iterator[str]) -> str:
    return "\n".join(["| key | value | default | meaning |", "| --- | --- | --- | --- |", *_rows(section, names)])


def _entry(name: str, table: type[Keys], repeats: bool, more: str = "") -> Iterator[str]:
    """A table's own chapter, and those of the tables in it."""
    title = f"[[{name}]]" if repeats else f"[{name}]"
    extra = f"{_MORE[name]}\n" if name in _MORE else ""
    mark = " No effect yet." if name in WAITING else ""
    yield f"## `{title}`\n\n{table.__doc__}{more}{mark}\n\n{extra}{_table(table, iter(table.model_fields))}\n"
    for key, field in table.model_fields.items():
        if (inner := table_in(field.annotation)) is not None:
            yield from _entry(f"{name}.{key}", inner, True)


def _variables() -> str:
    """All variables by name: those of the table, and those that set a key."""
    rows = dict(VARIABLES)
    for variable, key in variables():
        rows[variable] = f"Sets `{key}`."
    rows["RUST_LOG"] = "Sets `log_level` where BLAZAR_LOG does not; directives for other programs are passed over."
    lines = [f"| `{name}` | {rows[name]} |" for name in sorted(rows)]
    return "\n".join([_VARIABLES, "| variable | purpose |", "| --- | --- |", *lines]) + "\n"


def configuration_page() -> str:
    """The whole page, ending in a newline."""
    parts = [_HEAD]
    for section in SECTIONS[:-1]:
        below = f"May be written below `[{section.group}]`.\n\n" if section.group else ""
        doc = f"{section.__doc__}\n\n" if section.__doc__ else ""
        plain = (name for name, field in section.model_fields.items() if table_in(field.annotation) is None)
        parts.append(f"## {section.title}\n\n{doc}{below}{_table(section, plain)}\n")
    parts.append(_KEYS + "\n" + _table(ApiKey, iter(ApiKey.model_fields)) + "\n")
    for section in SECTIONS:
        for name, field in section.model_fields.items():
            inner = table_in(field.annotation)
            if inner is not None and inner is not ApiKey:
                below = f" May be written below `[{section.group}]`." if section.group else ""
                parts += _entry(name, inner, isinstance(field.default, tuple), below)
    own = (name for name in Override.model_fields if name not in Config.model_fields or name in TUNINGS)
    parts.append(_OVERRIDES + "\n" + _table(Override, own) + "\n")
    parts.append(_variables())
    body = "\n".join(parts[1:])
    return "\n".join([_HEAD, contents(body), body])


def contents(body: str) -> str:
    """A list of links to the chapters of a text, as GitHub names them."""
    seen: dict[str, int] = {}
    lines = ["Contents:", ""]
    for title in re.findall(r"^## (.+)$", body, re.MULTILINE):
        anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        again = seen.get(anchor, 0)
        seen[anchor] = again + 1
        lines.append(f"- [{title}](#{anchor}{f'-{again}' if again else ''})")
    return "\n".join(lines) + "\n"
