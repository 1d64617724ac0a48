"""`config get/set/unset/list/defaults/schema/path/validate`: what holds, who says so, and one key said otherwise."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from blazar.adapters.cli.exits import FAILED, OK, WrongUse, report
from blazar.adapters.cli.following import FOLLOWED, Followed, follow
from blazar.adapters.cli.render import Column, is_terminal, safe_text, table
from blazar.adapters.cli.root import Changed, Root
from blazar.adapters.cli.say import confirm, put_json
from blazar.domain import teaching
from blazar.domain.errors import BadConfig

_ADDING = ("keys", "engine_env", "model_overrides")
"""Keys of which a variable says more and hides nothing."""

_LIST = (Column("KEY"), Column("VALUE"), Column("FROM"))


def get(args: argparse.Namespace, root: Root) -> int:
    """One value: text as it is, anything else as the file would spell it, an unset key as nothing."""
    value, spelled = root.settings.get(args.key)
    if args.json:
        put_json(value)
    else:
        # As it is for a program; a person's terminal must not be steered by it.
        text = value if isinstance(value, str) else spelled
        print(safe_text(text) if is_terminal(sys.stdout) else text)
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
    """One key, typed as it is declared, or several as KEY=VALUE: some need each other."""
    file = str(root.places.config_file)

    def sentence(done: Changed) -> str:
        if done.changed:
            return teaching.config_set(file, done.key, done.toml, done.was if done.was != done.toml else "")
        return teaching.config_set_already(file, done.key, done.toml)

    return _confirm(args, root, root.settings.change(_wishes(args.key, args.values)), sentence)


def _wishes(key: str, values: list[str]) -> list[tuple[str, list[str]]]:
    """No key has a = in its name."""
    if "=" not in key:
        return [(key, values)]
    pairs = [word.partition("=") for word in (key, *values)]
    if odd := next((name for name, mark, _ in pairs if not mark), None):
        raise WrongUse(teaching.config_pairs(odd))
    return [(name, [value]) for name, _, value in pairs]


def unset(args: argparse.Namespace, root: Root) -> int:
    """What holds without it is said."""
    file = str(root.places.config_file)

    def sentence(done: Changed) -> str:
        said = teaching.config_unset if done.changed else teaching.config_unset_already
        return said(file, done.key, done.toml)

    return _confirm(args, root, root.settings.unset(args.keys), sentence)


def _confirm(
    args: argparse.Namespace, root: Root, changes: Sequence[Changed], sentence: Callable[[Changed], str]
) -> int:
    changed = any(done.changed for done in changes)
    followed = follow(root) if changed else Followed()
    told = [_told(done, followed.shown, followed.there) for done in changes]
    said = [line for done, (_, more) in zip(changes, told, strict=True) for line in (sentence(done), *more)]
    if followed.late and not all(facts["restart"] for facts, _ in told):
        said.append(teaching.config_followed_soon(FOLLOWED))
    path = str(root.places.config_file)
    rows = [{**facts, "path": path} for facts, _ in told]
    confirm(args, "\n".join(said), **(rows[0] if len(rows) == 1 else {"changes": rows, "path": path}))
    return OK


def _told(done: Changed, running: dict[str, Any] | None, there: bool) -> tuple[dict[str, Any], list[str]]:
    """What became of a key, as facts, and what has to be said beside it."""
    name = done.key.partition(".")[0]
    here = running is not None and (running.get("values") or {}).get(name) == done.value
    restart = done.restart and there and not here
    origin = ((running or {}).get("origins") or {}).get(name) or {}
    said = [teaching.config_shadowed(done.key, done.shadow)] if done.shadow else []
    holds = origin.get("layer") in ("environment", "command line") and not here and name not in _ADDING
    if holds and (origin.get("where") or "-") != done.shadow:
        said.append(teaching.config_shadowed_there(done.key, origin["layer"], origin.get("where", "")))
    if restart:
        said.append(teaching.config_needs_restart(done.key))
    said += map(teaching.warning, done.warnings)
    facts = {"key": done.key, "value": done.value, "before": done.before, "changed": done.changed}
    return facts | {
        "shadowed_by": done.shadow or None,
        "restart": restart,
        "warnings": list(done.warnings),
    }, said


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
