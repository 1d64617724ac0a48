"""`search`: repositories of models by a word, with what to take of each. Always done here: a daemon knows no more of them than we do."""

import argparse
import sys
from typing import TYPE_CHECKING

from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.render import Column, Style, clean, size, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import put_json, working
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.about import TOO_LARGE
from blazar.domain.wire.ollama_listing import human_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blazar.domain.search import Hit

_COLUMNS = (
    Column("REPOSITORY"),
    Column("DOWNLOADS", right=True),
    Column("LIKES", right=True),
    Column("PARAMETERS", right=True),
    Column("TAKE"),
    Column("SIZE", right=True),
    Column("FITS"),
)


def search(args: argparse.Namespace, root: Root) -> int:
    """A row each, most downloaded first; --quiet prints what can be pulled, one a line. Nothing found is no failure."""
    word = " ".join(args.words)
    try:
        with working(args, f"searching for {word}"):
            hits = root.search(word, args.limit)
    except Malformed as wrong:
        raise WrongUse(str(wrong)) from wrong
    if args.json:
        put_json({"word": word, "models": [hit._asdict() for hit in hits]})
    elif args.quiet:
        _put_quietly(hits)
    elif hits:
        print(table(_COLUMNS, [_cells(hit) for hit in hits]))
        print(Style(sys.stderr).dim(clean(teaching.search_about(hits[0].repo))), file=sys.stderr)
    else:
        print(clean(teaching.search_nothing(word)), file=sys.stderr)
    return OK


def _put_quietly(hits: "Sequence[Hit]") -> None:
    """What is printed is pulled unread: nothing that `pull` would ask about or not find, and nothing that cannot run here."""
    known = [hit for hit in hits if hit.take]
    for hit in known:
        if hit.verdict != TOO_LARGE:
            print(clean(f"{hit.repo}:{hit.take}"))
    if left := len(hits) - len(known):
        print(clean(teaching.search_left_out(left)), file=sys.stderr)
    if large := sum(hit.verdict == TOO_LARGE for hit in known):
        print(clean(teaching.search_too_large(large)), file=sys.stderr)


def _cells(hit: "Hit") -> list[str]:
    return [
        hit.repo,
        human_count(hit.downloads),
        human_count(hit.likes),
        human_count(hit.parameters) if hit.parameters else "-",
        hit.take or "-",
        f"~{size(hit.size)}" if hit.size else "-",
        (hit.verdict or "-") + (" (gated)" if hit.gated else ""),
    ]
