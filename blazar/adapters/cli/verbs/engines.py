"""`engine list/install/use/rm`: the builds of this machine. A daemon that runs sees changes by itself (D29)."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.render import Column, ago, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json, working
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


def row_of(engine: "Engine") -> dict[str, Any]:
    """A record in the words of /api/engines."""
    return {
        "tag": engine.tag,
        "kind": engine.kind.value,
        "provenance": engine.provenance.value,
        "version": engine.version,
        "active": engine.active,
        "server_path": engine.server_path,
        "installed_at": engine.installed_at,
    }


def listing(args: argparse.Namespace, root: Root) -> int:
    """Every build; --quiet prints tags only."""
    rows = [row_of(engine) for engine in root.engines.list()]
    if args.json:
        put_json({"engines": rows})
    elif args.quiet:
        for row in rows:
            print(row["tag"])
    elif rows:
        print(table(_LIST, [_cells(row) for row in rows]))
    else:
        print(teaching.no_builds(), file=sys.stderr)
    return OK


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["tag"],
        row["kind"],
        "yes" if row["active"] else "",
        row["version"] or "-",
        row["provenance"],
        ago(row["installed_at"]),
        row["server_path"] or "-",
    ]


def install(args: argparse.Namespace, root: Root) -> int:
    """A release archive beside the builds that are there."""
    with working(args, f"installing {args.file}"):
        engine = root.engines.install(str(Path(args.file).expanduser().absolute()), args.sha256, args.tag)
    confirm(args, teaching.engine_installed(engine.tag, engine.active), **row_of(engine))
    return OK


def use(args: argparse.Namespace, root: Root) -> int:
    """Make one the active build of its kind."""
    engine = root.engines.use(args.tag)
    confirm(args, teaching.engine_active(engine.tag), **row_of(engine))
    return OK


def remove(args: argparse.Namespace, root: Root) -> int:
    """One build, row and folder."""
    root.engines.remove(args.tag)
    confirm(args, teaching.engine_removed(args.tag), removed=args.tag)
    return OK
