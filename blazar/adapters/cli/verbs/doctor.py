"""`doctor`: what was found about this installation, each row with what to do. Exit 1 when a row fails.

With --quiet only what is not well is printed.
"""

import argparse
from typing import Any

from blazar.adapters.cli.exits import FAILED, OK
from blazar.adapters.cli.render import Style, clean
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import put_json
from blazar.adapters.cli.verbs.models import daemon_of


def doctor(args: argparse.Namespace, root: Root) -> int:
    """Ask the daemon, which sees its children too; without one, look ourselves."""
    client = daemon_of(root)
    found = _with(client.call("GET", "/api/doctor"), root.remarks()) if client is not None else root.diagnose()
    if args.json:
        put_json(found)
    else:
        _print(found, quiet=args.quiet)
    rows = [row for section in found.get("sections") or [] for row in section["rows"]]
    return FAILED if any(row.get("status") == "fail" for row in rows) else OK


def _with(found: dict[str, Any], remarks: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """A daemon's report, and beside it what was named here: it runs with a file and an engine of its own."""
    for section in found.get("sections") or []:
        section["rows"] = [*section["rows"], *remarks.get(section["name"], [])]
    return found


def _print(found: dict[str, Any], *, quiet: bool) -> None:
    style = Style()
    sections = [
        (str(section["name"]), [row for row in section["rows"] if not (quiet and row.get("status") == "ok")])
        for section in found.get("sections") or []
    ]
    width = max((len(str(row["check"])) for _, rows in sections for row in rows), default=0)
    for name, rows in sections:
        if rows:
            print(style.bold(clean(name)))
        for row in rows:
            status = str(row["status"])
            mark = style.verdict(status) + " " * (4 - len(status))
            print(f"  {mark}  {clean(str(row['check'])).ljust(width)}  {clean(str(row['detail']))}")
            if row.get("remedy"):
                print(f"        {' ' * width}{style.dim('→ ' + clean(str(row['remedy'])))}")
