"""`engine install --kind`, `engine update`, `engine check`: builds as their projects release them."""

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from blazar.adapters.cli.exits import FAILED, OK, WrongUse
from blazar.adapters.cli.progress import aside, downloading
from blazar.adapters.cli.render import Column, clean, moment, table
from blazar.adapters.cli.root import Pruning, Root
from blazar.adapters.cli.say import confirm, put_json, say_pruned
from blazar.adapters.cli.verbs import engine_lanes
from blazar.application.engines.check_currency import currency_row, passed_over, said_of
from blazar.application.engines.list_engines import engine_row
from blazar.application.engines.update_engine import Outcome
from blazar.domain import teaching
from blazar.domain.kinds import EngineKind
from blazar.domain.venv_lanes import LANES

if TYPE_CHECKING:
    from blazar.application.engines.check_currency import Currency

_CHECK = (
    Column("KIND"),
    Column("ACTIVE"),
    Column("NEWEST"),
    Column("STATE"),
    Column("LOOKED UP"),
)


def fetch(args: argparse.Namespace, root: Root) -> int:
    """Download and install the release that suits this machine, beside the builds that are there."""
    if args.asset is not None and not args.asset.strip():
        raise WrongUse(teaching.asset_empty())
    with downloading(args) as told:
        done = root.engines.fetch(EngineKind(args.kind), args.tag, args.asset, args.sha256, told)
        pruning = root.engines.prune(done.engine)
    engine, picked = done.engine, done.picked
    if done.already:
        said = teaching.engine_is_there(engine.tag)
    else:
        why = teaching.asset_why(picked.choice.asset.name, picked.choice.why)
        said = f"{teaching.engine_installed(engine.tag, engine.active)}\n{why}"
    facts = {"asset": picked.choice.asset.name, "why": picked.choice.why, "already": done.already}
    confirm(args, said, **engine_row(engine), **facts, pruned=list(pruning.removed))
    say_pruned(args, pruning)
    return OK


def update(args: argparse.Namespace, root: Root) -> int:
    """Bring the active build of a kind up to its channel. Exit code 1 where the gate held the new one back."""
    if EngineKind(args.kind) in LANES:
        return engine_lanes.update(args, root)
    with downloading(args) as told:
        done = root.engines.update(EngineKind(args.kind), told, partial(aside, args), gate=not args.no_gate)
        pruning = root.engines.prune(done.now) if done.outcome is Outcome.UPDATED else Pruning()
    before = done.before.tag if done.before is not None and done.before.tag != done.now.tag else ""
    said = teaching.engine_up_to_date(done.now.tag)
    if done.outcome is Outcome.UPDATED:
        said = teaching.engine_updated(done.now.tag, before, stays=before not in pruning.removed)
    elif done.outcome is Outcome.HELD_BACK:
        said = done.gate
    if done.outcome is Outcome.UPDATED and done.gate:
        said = f"{said}\n{done.gate}"
    facts = {"outcome": done.outcome.value, "before": before, "gate": done.gate, "pruned": list(pruning.removed)}
    confirm(args, said, **engine_row(done.now), **facts)
    say_pruned(args, pruning)
    return FAILED if done.outcome is Outcome.HELD_BACK else OK


def check(args: argparse.Namespace, root: Root) -> int:
    """Look for newer builds now; install nothing. Exit code 1 where a kind could not be looked up; 0 where none was to be."""
    rows = root.engines.check()
    aside = passed_over(root.engines.list())
    if args.json:
        put_json({"updates": [currency_row(row) for row in rows]})
    elif args.quiet:
        for row in rows:
            if row.available and not row.pinned:
                print(f"{row.kind.value} {row.newest}")
    elif rows:
        print(table(_CHECK, [_cells(row) for row in rows]))
        for row in rows:
            print(clean(said_of(row)))
    elif not aside:
        print(teaching.nothing_to_check(), file=sys.stderr)
    for build in aside if not args.quiet else ():
        print(clean(teaching.check_passed_over(build.kind.value, build.tag)), file=sys.stderr)
    return FAILED if any(row.trouble for row in rows) else OK


def _cells(row: "Currency") -> list[str]:
    state = "unknown" if row.trouble else "update" if row.available else "current"
    named = teaching.stable_named(row.active, row.stable) if row.stable else row.active
    newest = teaching.stable_named(row.newest, row.newest_stable) if row.newest_stable else row.newest
    return [row.kind.value, named, newest or "-", state, moment(row.checked_at)]
