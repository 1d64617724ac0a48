"""The words of `config` and `migrate`, with their examples. Imports nothing, as the parser that calls it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blazar.adapters.cli.parser import Family

CONFIG_EXAMPLES = """\
examples:
  blazar config path                       where the file is looked for
  blazar config defaults > config.toml     a file to begin with
  blazar config list                       every key, its value and who set it
  blazar config get default_ctx            one value
  blazar config set default_ctx 8192       write it to the file, comments stay
  blazar config unset default_ctx          take it out: the default holds
  blazar config edit                       the file in your editor
  blazar config validate                   what is wrong with the file, with line numbers
  blazar config schema > blazar.json       JSON Schema, for completion in an editor

  config.toml:
    default_ctx = 8192
    preload = ["smollm2-135m"]

    [gateway]
    port = 11434
    allowed_hosts = ["workstation.lan"]

    [[keys]]
    name = "editor"
    key = "plm_a-long-secret-of-your-own"

    [model_overrides."smollm2-135m"]
    ctx = 4096
    extra_args = ["--temp", "0"]
"""

CONFIG_GET_EXAMPLES = """\
examples:
  blazar config get port                   a key
  blazar config get gateway.port           the same, by its table
  blazar config get model_overrides.NAME.ctx    what one model has instead
  blazar config get engine_env.NAME        one variable for engines; its value is hidden
  blazar config get keys --json            tables as JSON, secrets hidden
"""

CONFIG_SET_EXAMPLES = """\
examples:
  blazar config set default_ctx 8192       a number
  blazar config set host 0.0.0.0           a text, as it is
  blazar config set preload smollm2-135m qwen3-0.6b    a list, one word an item
  blazar config set preload '["smollm2-135m"]'         the same, as TOML or JSON
  blazar config set gateway.port 11434     where the key stands, else at the root
  blazar config set semantic_cache.enabled true        a key of a table
  blazar config set engine_env.HF_HOME /data/hf        a variable for engines
  blazar config set model_overrides.smollm2-135m.ctx 4096    for one model
  blazar config set tls_cert=/etc/blazar/cert.pem tls_key=/etc/blazar/key.pem
                                           several at once: keys that need each other
  blazar config set model_overrides.NAME.extra_args -- --temp 0
                                           words with dashes stand behind --

  The rest of the file stays as it is, and the file before the change lies
  beside it (.bak; the last ten are kept). A running daemon follows by itself:
  the command returns once it has read the file, or says after 5 seconds that
  it has not yet.
"""


def add_config(verbs: "Family") -> None:
    """The family, and `migrate` beside it."""
    about = "read and change the configuration"
    config = verbs.group("config", about, "get|set|unset|list|defaults|schema|edit|path|validate", more=CONFIG_EXAMPLES)
    _add_changing(config)
    config.add(
        "list",
        "print every key with its value and where that comes from; with --quiet the keys only",
        aliases=["ls"],
        action="config-list",
        host=False,
    )
    config.add("defaults", "print the defaults as a configuration file", action="config-defaults", host=False)
    config.add("schema", "print the JSON Schema of the configuration file", action="config-schema", host=False)
    config.add("path", "print where the configuration file is looked for", action="config-path", host=False)
    config.add("validate", "check the configuration file", action="config-validate", host=False)
    verbs.add("migrate", "rewrite what the configuration file says in an older way (api_keys)", host=False)


def _add_changing(config: "Family") -> None:
    get = config.add(
        "get",
        "print the value of a key; gateway.port and model_overrides.NAME.ctx work too",
        action="config-get",
        host=False,
        more=CONFIG_GET_EXAMPLES,
    )
    get.add_argument("key", metavar="KEY")
    change = config.add(
        "set",
        "write the value of a key to the configuration file; comments and order stay",
        action="config-set",
        host=False,
        more=CONFIG_SET_EXAMPLES,
    )
    change.add_argument("key", metavar="KEY", help="as for get (blazar config list); KEY=VALUE for several at once")
    change.add_argument("values", nargs="*", metavar="VALUE", help="of a list each item, or all as TOML or JSON")
    unset = config.add("unset", "take keys out of the configuration file", action="config-unset", host=False)
    unset.add_argument("keys", nargs="+", metavar="KEY", help="as for get (blazar config list)")
    config.add(
        "edit",
        "edit the configuration file with $VISUAL or $EDITOR; only a valid one is kept",
        action="config-edit",
        host=False,
    )
