"""`completion` and `version`, and a verb that is refused by design: there are no accounts."""

import argparse
from typing import NoReturn

from blazar import __version__
from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.parser import parse
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import put_json
from blazar.domain import teaching
from blazar.domain.errors import Refusal


def completion(args: argparse.Namespace, root: Root) -> int:
    """A script for `source` or a completions folder."""
    del root
    from blazar.adapters.cli.completion import script

    text = script(args.shell)
    if args.json:
        put_json({"shell": args.shell, "script": text})
    else:
        print(text, end="")
    return OK


def version(args: argparse.Namespace, root: Root) -> int:
    """This program's version; that of a running daemon stands in `status`."""
    del root
    if args.json:
        put_json({"version": __version__})
    else:
        print(f"blazar {__version__}")
    return OK


def help_on(args: argparse.Namespace, root: Root) -> int:
    """As --help behind the verb."""
    del root
    parse([*args.words, "--help"])
    return OK


def accounts(args: argparse.Namespace, root: Root) -> NoReturn:
    """Refused (contract: no accounts)."""
    del args, root
    raise Refusal(teaching.no_accounts())
