"""How verbs speak: results on stdout, as JSON where asked; confirmations unless --quiet. Errors are the shell's business."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from blazar.adapters.cli.render import Style, clean, is_terminal, safe_text
from blazar.domain import teaching

if TYPE_CHECKING:
    from blazar.adapters.cli.root import Pruning


def put_json(value: Any) -> None:
    """One JSON document."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def confirm(args: argparse.Namespace, sentence: str, **facts: Any) -> None:
    """Say that something was done: the facts with --json, nothing with --quiet, else the sentence."""
    if args.json:
        put_json(facts)
    elif not args.quiet:
        print(safe_text(sentence))  # a path or a name in it may steer a terminal


@contextmanager
def working(args: argparse.Namespace, what: str) -> Iterator[None]:
    """A line on a terminal while something takes long, wiped when it is done. Nothing when piped or quiet."""
    shown = is_terminal(sys.stderr) and not args.quiet and not args.json
    if shown:
        print(Style(sys.stderr).dim(f"{what} …"), end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def say_pruned(args: argparse.Namespace, pruning: "Pruning") -> None:
    """What went is said with the install itself where JSON is asked for; what could not go is a warning."""
    if pruning.removed and not args.json:
        confirm(args, teaching.engines_pruned(pruning.removed, pruning.keep))
    for why in pruning.kept:
        print(clean(teaching.warning(teaching.engine_not_pruned(why))), file=sys.stderr)
