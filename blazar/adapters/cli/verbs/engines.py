"""`engine list/install/use/rollback/pin/unpin/rm`: the builds of this machine. A daemon that runs sees changes by itself (D29)."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.render import Column, clean, moment, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json, say_pruned, working
from blazar.application.engines.list_engines import engine_row
from blazar.application.engines.pin_engine import is_pinnable
from blazar.domain import teaching
from blazar.domain.kinds import EngineKind

if TYPE_CHECKING:
    from blazar.domain.records import Engine

_LIST = (
    Column("TAG"),
    Column("KIND"),
    Column("ACTIVE"),
    Column("PINNED"),
    Column("VERSION"),
    Column("PROVENANCE"),
    Column("INSTALLED"),
    Column("SERVER"),
)


def listing(args: argparse.Namespace, root: Root) -> int:
    """Every build; --quiet prints tags only."""
    if args.available:
        from blazar.adapters.cli.verbs.engine_lanes import available

        return available(args, root)
    engines = root.engines
    builds = [build for build in engines.list() if _is_asked_for(args, build)]
    if engines.trouble:
        print(clean(teaching.warning(engines.trouble)), file=sys.stderr)
    if args.json:
        put_json({"engines": [{**engine_row(build), "flaw": engines.flaw(build)} for build in builds]})
    elif args.quiet:
        for build in builds:
            print(build.tag)
    elif builds:
        print(table(_LIST, [_cells(build, engines.flaw(build)) for build in builds]))
        if engines.single:
            print(clean(teaching.lane_manual(engines.single)))
    else:
        without = teaching.no_build_pinnable if args.pinnable else teaching.no_builds
        print((teaching.no_build_pinned if args.pinned else without)(), file=sys.stderr)
    return OK


def _is_asked_for(args: argparse.Namespace, engine: "Engine") -> bool:
    if args.pinned:
        return engine.pinned
    return not args.pinnable or is_pinnable(engine)


def _cells(engine: "Engine", flaw: str) -> list[str]:
    """A build that cannot run says so in place of how it is started."""
    return [
        engine.tag,
        engine.kind.value,
        "yes" if engine.active else "",
        "yes" if engine.pinned else "",
        engine.version or "-",
        engine.provenance.value,
        moment(engine.installed_at),
        teaching.engine_broken_mark(flaw)
        if flaw
        else " ".join(engine.words),  # what is started; a wheel has no program of its own
    ]


def install(args: argparse.Namespace, root: Root) -> int:
    """A release archive beside the builds that are there; those that are too many afterwards go."""
    from blazar.adapters.cli.verbs import engine_lanes

    if engine_lanes.is_meant(args):
        return engine_lanes.install(args, root)
    if args.file is None:
        from blazar.adapters.cli.verbs.engine_releases import fetch

        return fetch(args, root)
    if not args.file.strip():
        raise WrongUse(teaching.path_empty())
    if args.asset is not None:
        raise WrongUse(teaching.asset_of_a_file())
    with working(args, f"installing {args.file}"):
        file = str(Path(args.file).expanduser().absolute())
        engine = root.engines.install(file, args.sha256, args.tag, EngineKind(args.kind))
        pruning = root.engines.prune(engine)
    confirm(
        args,
        teaching.engine_installed(engine.tag, engine.active),
        **engine_row(engine),
        pruned=list(pruning.removed),
    )
    say_pruned(args, pruning)
    return OK


def use(args: argparse.Namespace, root: Root) -> int:
    """Make one the active build of its kind."""
    return _active(args, root.engines.use(args.tag))


def rollback(args: argparse.Namespace, root: Root) -> int:
    """Make the one active that was it before."""
    return _active(args, root.engines.rollback(EngineKind(args.kind)))


def _active(args: argparse.Namespace, engine: "Engine") -> int:
    confirm(args, teaching.engine_active(engine.tag), **engine_row(engine))
    return OK


def pin(args: argparse.Namespace, root: Root) -> int:
    """Hold one as it is."""
    engine = root.engines.pin(args.tag, pinned=True)
    confirm(args, teaching.engine_pinned(engine.tag), **engine_row(engine))
    return OK


def unpin(args: argparse.Namespace, root: Root) -> int:
    """Let it go again."""
    engine = root.engines.pin(args.tag, pinned=False)
    confirm(args, teaching.engine_unpinned(engine.tag), **engine_row(engine))
    return OK


def remove(args: argparse.Namespace, root: Root) -> int:
    """One build, row and folder."""
    done = root.engines.remove(args.tag)
    confirm(
        args,
        teaching.engine_removed(args.tag, done.now),
        removed=args.tag,
        active=done.now,
        unserved=list(done.unserved),
    )
    warnings = []
    if lost := [model for model in done.unserved if model not in done.insisting]:
        warnings.append(teaching.engine_removed_last(done.kind, lost))
    if done.insisting:
        warnings.append(teaching.engine_removed_named(done.kind, done.insisting))
    for warning in warnings:
        print(clean(teaching.warning(warning)), file=sys.stderr)
    return OK
