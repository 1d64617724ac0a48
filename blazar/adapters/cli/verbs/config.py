"""`config get/list/defaults/path/validate`: what holds, and who says so. Reads only."""

import argparse

from blazar.adapters.cli.exits import FAILED, OK, report
from blazar.adapters.cli.render import Column, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json
from blazar.domain import teaching
from blazar.domain.errors import BadConfig

_LIST = (Column("KEY"), Column("VALUE"), Column("FROM"))


def get(args: argparse.Namespace, root: Root) -> int:
    """One value: text as it is, anything else as the file would spell it, an unset key as nothing."""
    value, spelled = root.settings.get(args.key)
    if args.json:
        put_json(value)
    else:
        print(value if isinstance(value, str) else spelled)
    return OK


def listing(args: argparse.Namespace, root: Root) -> int:
    """Every key."""
    if args.json:
        put_json(root.settings.plain())
    else:
        print(table(_LIST, root.settings.rows()))
    return OK


def defaults(args: argparse.Namespace, root: Root) -> int:
    """A file to begin with."""
    text = root.settings.defaults()
    if args.json:
        put_json({"toml": text})
    else:
        print(text, end="")
    return OK


def path(args: argparse.Namespace, root: Root) -> int:
    """Where the file is looked for, whether it is there or not."""
    file = root.places.config_file
    if args.json:
        put_json({"path": str(file), "exists": file.is_file()})
    else:
        print(file)
    return OK


def validate(args: argparse.Namespace, root: Root) -> int:
    """Read it as the daemon would; everything that is wrong is told with its line."""
    file, there = root.places.config_file, root.places.config_file.is_file()
    facts = {"path": str(file), "exists": there}
    try:
        root.settings.plain()
    except BadConfig as wrong:
        if args.json:
            put_json({**facts, "valid": False, "problems": list(wrong.problems)})
        else:
            for problem in wrong.problems:
                report(problem, FAILED, as_json=False)
        return FAILED
    confirm(
        args, (teaching.config_valid if there else teaching.config_absent)(str(file)), **facts, valid=True, problems=[]
    )
    return OK
