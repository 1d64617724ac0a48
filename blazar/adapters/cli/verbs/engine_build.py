"""`engine build cpu|cuda`: a build made here, from the project's own source."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.progress import redrawn
from blazar.adapters.cli.render import is_terminal
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm
from blazar.application.engines.build_engine import Order, Told
from blazar.application.engines.list_engines import engine_row
from blazar.domain import building, teaching

_STEP = 10
"""Percent between two lines where they are not drawn over each other."""


def build(args: argparse.Namespace, root: Root) -> int:
    """Configure, compile, try out, install."""
    if not (args.source or "").strip():
        raise WrongUse(teaching.build_source_needed())
    source = Path(args.source).expanduser().absolute()
    release = args.tag or root.engines.release_in(source.name)
    if release is None and not source.exists():
        raise WrongUse(teaching.build_source_missing(args.source))
    if release is None:
        raise WrongUse(teaching.build_source_unnamed(args.source))
    backend = building.Backend(args.backend)
    order = Order(backend, str(source), args.sha256 or "", release.removesuffix(f"-{backend}"), args.jobs)
    began = time.monotonic()
    with _drawn(args, f"building {building.tag_of(release, backend)}") as told:
        engine = root.engines.build(order, told)
    took = round(time.monotonic() - began, 1)
    confirm(args, teaching.engine_built(engine.tag, engine.active), **engine_row(engine), build_seconds=took)
    return OK


@contextmanager
def _drawn(args: argparse.Namespace, what: str) -> Iterator[Told]:
    """One line on a terminal that is drawn anew, else a line for every tenth; nothing where no words are wanted."""
    live, said = is_terminal(sys.stderr), -_STEP
    with redrawn(args) as say:

        def told(done: int, whole: int) -> None:
            nonlocal said
            percent = 100 * done // max(whole, 1)
            if live or percent >= said + _STEP:
                said = percent
                say(f"{what}: {percent} % ({done} of {whole})")

        yield told
