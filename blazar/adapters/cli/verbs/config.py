"""`config get/set/unset/list/defaults/schema/path/validate`: what holds, who says so, and one key said otherwise."""

import argparse

from blazar.adapters.cli.exits import FAILED, OK, report
from blazar.adapters.cli.locate import read_note
from blazar.adapters.cli.render import Column, table
from blazar.adapters.cli.root import Changed, Root
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
    """Every key; with --quiet the names only, as completion wants them, whatever is in the file."""
    if args.json:
        put_json(root.settings.plain())
    elif args.quiet:
        print("\n".join(root.settings.keys()))
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


def schema(args: argparse.Namespace, root: Root) -> int:
    """For editors; JSON in any case."""
    del args
    put_json(root.settings.schema())
    return OK


def set_value(args: argparse.Namespace, root: Root) -> int:
    """One key, typed as it is declared."""
    file = str(root.places.config_file)
    done = root.settings.change(args.key, args.values)
    if done.changed:
        said = [teaching.config_set(file, done.key, done.toml, done.was if done.was != done.toml else "")]
    else:
        said = [teaching.config_set_already(file, done.key, done.toml)]
    return _confirm(args, root, done, said)


def unset(args: argparse.Namespace, root: Root) -> int:
    """What holds without it is said."""
    file = str(root.places.config_file)
    done = root.settings.unset(args.key)
    sentence = teaching.config_unset if done.changed else teaching.config_unset_already
    return _confirm(args, root, done, [sentence(file, done.key, done.toml)])


def _confirm(args: argparse.Namespace, root: Root, done: Changed, said: list[str]) -> int:
    running = done.restart and read_note(root.places.run, root.processes) is not None
    if done.shadow:
        said.append(teaching.config_shadowed(done.key, done.shadow))
    if running:
        said.append(teaching.config_needs_restart(done.key))
    facts = {"key": done.key, "value": done.value, "before": done.before, "changed": done.changed}
    path = str(root.places.config_file)
    confirm(args, "\n".join(said), **facts, path=path, shadowed_by=done.shadow or None, restart=running)
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
    warned = list(root.settings.warnings())
    said = [
        (teaching.config_valid if there else teaching.config_absent)(str(file)),
        *map(teaching.warning, warned),
    ]
    confirm(args, "\n".join(said), **facts, valid=True, problems=[], warnings=warned)
    return OK
