"""`engine list/install/use/rm`: the builds of this machine. A daemon that runs sees changes by itself (D29)."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.render import Column, moment, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json, working
from blazar.application.engines.list_engines import engine_row
from blazar.domain import teaching

if TYPE_CHECKING:
    from blazar.domain.records import Engine

_LIST = (
    Column("TAG"),
    Column("KIND"),
    Column("ACTIVE"),
    Column("VERSION"),
    Column("PROVENANCE"),
    Column("INSTALLED"),
    Column("SERVER"),
)


def listing(args: argparse.Namespace, root: Root) -> int:
    """Every build; --quiet prints tags only."""
    engines = root.engines
    builds = engines.list()
    if engines.trouble:
        print(teaching.warning(engines.trouble), file=sys.stderr)
    if args.json:
        put_json({"engines": [engine_row(build) for build in builds]})
    elif args.quiet:
        for build in builds:
            print(build.tag)
    elif builds:
        print(table(_LIST, [_cells(build) for build in builds]))
    else:
        print(teaching.no_builds(), file=sys.stderr)
    return OK


def _cells(engine: "Engine") -> list[str]:
    return [
        engine.tag,
        engine.kind.value,
        "yes" if engine.active else "",
        engine.version or "-",
        engine.provenance.value,
        moment(engine.installed_at),
        " ".join(engine.words),  # what is started; a wheel has no program of its own
    ]


def install(args: argparse.Namespace, root: Root) -> int:
    """A release archive beside the builds that are there."""
    if not args.file.strip():
        raise WrongUse(teaching.path_empty())
    with working(args, f"installing {args.file}"):
        engine = root.engines.install(str(Path(args.file).expanduser().absolute()), args.sha256, args.tag)
    confirm(args, teaching.engine_installed(engine.tag, engine.active), **engine_row(engine))
    return OK


def use(args: argparse.Namespace, root: Root) -> int:
    """Make one the active build of its kind."""
    engine = root.engines.use(args.tag)
    confirm(args, teaching.engine_active(engine.tag), **engine_row(engine))
    return OK


def remove(args: argparse.Namespace, root: Root) -> int:
    """One build, row and folder."""
    root.engines.remove(args.tag)
    confirm(args, teaching.engine_removed(args.tag), removed=args.tag)
    return OK
