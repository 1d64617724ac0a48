"""`engine install --kind mlx|sglang`, `--lane` and `--fork`, `engine list --available`, and updates of Python environments."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.progress import redrawn
from blazar.adapters.cli.render import Column, clean, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json, say_pruned
from blazar.application.engines.install_lane import Offered, Wish
from blazar.application.engines.list_engines import engine_row
from blazar.domain import teaching
from blazar.domain.building import Backend
from blazar.domain.kinds import EngineKind
from blazar.domain.venv_lanes import LANES

if TYPE_CHECKING:
    from blazar.domain.records import Engine

_AVAILABLE = (
    Column("LANE"),
    Column("KIND"),
    Column("SERVES"),
    Column("SOURCE"),
    Column("LICENSE"),
    Column("INSTALLED"),
)


# Which words say something beside what is installed; others would be passed over without a sound.
_BESIDE = {
    "FILE": {"--sha256", "--tag"},
    "--lane": {"--backend"},
    "--fork": {"--arch", "--backend", "--sha256", "--tag"},
    "--kind": {"--backend", "--tag"},
}


def is_meant(args: argparse.Namespace) -> bool:
    """Whether an install is none of a release's archive. Words that do not go together are refused here."""
    named = [word for word, value in (("FILE", args.file), ("--lane", args.lane), ("--fork", args.fork)) if value]
    if len(named) > 1:
        raise WrongUse(teaching.install_one_of(named))
    packaged = EngineKind(args.kind) in LANES
    if args.file and packaged:
        raise WrongUse(teaching.venv_no_archive(args.kind, LANES[EngineKind(args.kind)].package))
    lanes = bool(args.lane or args.fork) or packaged
    if not lanes:
        _refuse(args, "FILE", ("--backend", "--arch"))
        return False
    _refuse(args, named[0] if named else "--kind", ("--asset", "--sha256", "--tag", "--arch", "--backend"))
    return True


def _refuse(args: argparse.Namespace, named: str, options: Sequence[str]) -> None:
    for option in options:
        if getattr(args, option.removeprefix("--"), None) and option not in _BESIDE[named]:
            raise WrongUse(teaching.install_option_unknown(option))


def install(args: argparse.Namespace, root: Root) -> int:
    """A Python environment, a lane of the registry, or a fork."""
    if args.lane or args.fork:
        engine = _fork(args, root)
        sentence = teaching.fork_installed(engine.tag, engine.source, engine.architectures)
    else:
        with redrawn(args) as say:
            engine = root.engines.lanes.venv(EngineKind(args.kind), args.tag, args.backend, say)
        sentence = teaching.engine_installed(engine.tag, engine.active)
    pruning = root.engines.prune(engine)
    confirm(args, sentence, **engine_row(engine), pruned=list(pruning.removed))
    say_pruned(args, pruning)
    return OK


def _fork(args: argparse.Namespace, root: Root) -> "Engine":
    wish = Wish(args.sha256 or "", args.tag, _backend(args))
    with redrawn(args) as say:
        if args.lane:
            return root.engines.lanes.lane(args.lane, wish, _told(say))
        return root.engines.lanes.fork(args.fork, args.arch, wish, _told(say))


def update(args: argparse.Namespace, root: Root) -> int:
    """The newest version of a Python environment beside the one that serves, and active once it runs."""
    with redrawn(args) as say:
        done = root.engines.lanes.update_venv(EngineKind(args.kind), say)
        pruning = root.engines.prune(done.now)
    if done.changed:
        sentence = teaching.venv_updated(
            args.kind, done.now.tag, done.before.tag, stays=done.before.tag not in pruning.removed
        )
    else:
        sentence = teaching.engine_up_to_date(done.now.tag)
    confirm(
        args,
        sentence,
        **engine_row(done.now),
        before=done.before.tag,
        updated=done.changed,
        pruned=list(pruning.removed),
    )
    say_pruned(args, pruning)
    return OK


def available(args: argparse.Namespace, root: Root) -> int:
    """What the registry offers."""
    offers = root.engines.lanes.available()
    for note in offers.notes:
        print(clean(teaching.warning(note)), file=sys.stderr)
    if args.json:
        put_json({"lanes": [_row(one) for one in offers.lanes], "notes": list(offers.notes)})
    elif args.quiet:
        for one in offers.lanes:
            print(one.lane.name)
    elif offers.lanes:
        print(table(_AVAILABLE, [_cells(one) for one in offers.lanes]))
    else:
        print(teaching.no_lanes_available(), file=sys.stderr)
    return OK


def _row(one: Offered) -> dict[str, object]:
    lane = one.lane
    return {
        "name": lane.name,
        "kind": lane.kind.value,
        "repo": lane.repo,
        "commit": lane.commit,
        "architectures": list(lane.architectures),
        "license": lane.license,
        "installed": one.installed,
        "possible": one.possible,
    }


def _cells(one: Offered) -> list[str]:
    lane = one.lane
    there = one.installed or ("" if one.possible else "not for this machine")
    return [lane.name, lane.kind.value, " ".join(lane.architectures), lane.source[:-28], lane.license, there]


def _backend(args: argparse.Namespace) -> Backend | None:
    if args.backend is None:
        return None
    if args.backend not in set(Backend):
        raise WrongUse(teaching.venv_backend_unknown("llamacpp", args.backend, [*Backend]))
    return Backend(args.backend)


def _told(say: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """Bytes that came and steps that were built, as such lines: one for every tenth of each thing."""
    shown: dict[str, int] = {}

    def told(name: str, done: int, whole: int) -> None:
        tenth = 10 * done // whole if whole else 0
        if shown.get(name, -1) < tenth:
            shown[name] = tenth
            say(f"{name}: {10 * tenth} %" if whole else name)

    return told
