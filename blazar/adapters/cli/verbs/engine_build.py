"""`engine build cpu|cuda`: a build made here, from the project's own source."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.progress import downloading, redrawn
from blazar.adapters.cli.render import is_terminal
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm
from blazar.application.engines.build_engine import Order
from blazar.application.engines.build_release import Wish
from blazar.application.engines.list_engines import engine_row
from blazar.domain import building, teaching

if TYPE_CHECKING:
    from blazar.domain.records import Engine

_STEP = 10
"""Percent between two lines where they are not drawn over each other."""


def build(args: argparse.Namespace, root: Root) -> int:
    """Fetch the source where none is named; configure, compile, try out, install."""
    began = time.monotonic()
    engine = _of_release(args, root) if args.source is None else _of_source(args, root)
    took = round(time.monotonic() - began, 1)
    confirm(args, teaching.engine_built(engine.tag, engine.active), **engine_row(engine), build_seconds=took)
    return OK


def _of_release(args: argparse.Namespace, root: Root) -> "Engine":
    wish = Wish(building.Backend(args.backend), args.tag or "", args.sha256 or "", args.jobs)
    with downloading(args) as fetched, _drawn(args) as told:
        return root.engines.build_release(wish, fetched, told)


def _of_source(args: argparse.Namespace, root: Root) -> "Engine":
    if not args.source.strip():
        raise WrongUse(teaching.build_source_needed())
    source = Path(args.source).expanduser().absolute()
    release = args.tag or root.engines.release_in(source.name)
    if release is None and not source.exists():
        raise WrongUse(teaching.build_source_missing(args.source))
    if release is None:
        raise WrongUse(teaching.build_source_unnamed(args.source))
    backend = building.Backend(args.backend)
    order = Order(backend, str(source), args.sha256 or "", release.removesuffix(f"-{backend}"), args.jobs)
    tag = building.tag_of(release, backend)
    with _drawn(args) as told:
        return root.engines.build(order, lambda done, whole: told(tag, done, whole))


@contextmanager
def _drawn(args: argparse.Namespace) -> Iterator[Callable[[str, int, int], None]]:
    """One line on a terminal that is drawn anew, else a line for every tenth; nothing where no words are wanted."""
    live, said = is_terminal(sys.stderr), -_STEP
    with redrawn(args) as say:

        def told(tag: str, done: int, whole: int) -> None:
            nonlocal said
            percent = 100 * done // max(whole, 1)
            if live or percent >= said + _STEP:
                said = percent
                say(f"building {tag}: {percent} % ({done} of {whole})")

        yield told
