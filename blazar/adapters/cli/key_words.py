"""The words of `keys`, with their examples. Imports nothing, as the parser that calls it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blazar.adapters.cli.parser import Family

KEYS_EXAMPLES = """\
examples:
  blazar keys add laptop                   a key for everything; prints its secret, once
  blazar keys add guest --model smollm2-135m --rpm 30 --daily-tokens 100000
  export OPENAI_API_KEY=$(blazar keys add editor)
  blazar keys list                         names, models and limits, no secrets
  blazar keys rotate laptop                a new secret, the old one ends at once
  blazar keys usage guest --days 7         requests and tokens by UTC day
  blazar keys rm guest

  As soon as there is a key, every request needs one. Keys are kept in
  config.toml, where their limits can be changed by hand too. A key with
  models may use these and manages nothing; the last one without stays.
"""


def add_keys(verbs: "Family") -> None:
    """The family."""
    keys = verbs.group("keys", "make and take away API keys", "add|list|rm|rotate|usage", more=KEYS_EXAMPLES)
    add = keys.add("add", "make an API key and print its secret, which is shown nowhere else", action="keys-add")
    add.add_argument("name", metavar="NAME", help="what it is called in listings and logs")
    add.add_argument(
        "--model",
        action="append",
        default=[],
        dest="models",
        metavar="MODEL",
        help="a model that it may use, and no other; repeatable (default: all, and management)",
    )
    add.add_argument("--rpm", type=int, metavar="N", help="requests per minute")
    add.add_argument("--tpm", type=int, metavar="N", help="tokens per minute, of prompts and answers")
    add.add_argument("--daily-tokens", type=int, metavar="N", help="tokens per UTC day, of prompts and answers")
    add.add_argument("--max-concurrent", type=int, metavar="N", help="requests at the same time")
    add.add_argument("--weight", type=float, metavar="W", help="share where several wait (default: 1)")
    keys.add(
        "list", "list API keys without their secrets; with --quiet their names", aliases=["ls"], action="keys-list"
    )
    remove = keys.add("rm", "remove an API key; the last one stays", action="keys-rm")
    remove.add_argument("name", metavar="NAME")
    rotate = keys.add("rotate", "give an API key a new secret and print that", action="keys-rotate")
    rotate.add_argument("name", metavar="NAME")
    usage = keys.add("usage", "print what an API key used, by UTC day, the newest first", action="keys-usage")
    usage.add_argument("name", metavar="NAME", help="of one of the keys that 'blazar keys list' shows")
    usage.add_argument("--days", type=int, default=30, metavar="N", help="at most so many days (default: 30)")
