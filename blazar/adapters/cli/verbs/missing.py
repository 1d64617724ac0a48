"""A model that `run` names and the catalog lacks: it is downloaded, unless the word is more likely a mistyped one of the catalog's."""

import argparse
import sys

from blazar.adapters.cli.client import DaemonClient, DaemonRefused
from blazar.adapters.cli.pull_view import pulling
from blazar.adapters.cli.render import clean
from blazar.adapters.cli.root import Root
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed, NotFound, Refusal

NOT_FOUND = 404


def named_or_fetched(
    args: argparse.Namespace, root: Root, client: DaemonClient, model: str, refused: DaemonRefused
) -> str:
    """What the catalog calls it; raises `refused` where it is not to be had elsewhere."""
    from blazar.domain.names import near, resolve
    from blazar.domain.references import candidates, catalog_name, pull_reference

    if refused.status != NOT_FOUND:
        raise refused
    try:
        ref = pull_reference(model)
    except Malformed:
        raise refused from None
    known = [str(row["name"]) for row in client.call("GET", "/api/tags").get("models") or []]
    for candidate in candidates(ref):
        if (name := resolve(catalog_name(candidate), known)) in known:
            return name
    bare = not {":", "/"} & set(model)
    if bare and near(model, known):
        raise refused
    return _fetched(args, root, client, model, refused)


def _fetched(args: argparse.Namespace, root: Root, client: DaemonClient, model: str, refused: DaemonRefused) -> str:
    from blazar.adapters.cli.verbs.pulls import Wanted, fetched

    if not args.quiet and not args.json:
        print(clean(teaching.run_pulls(model)), file=sys.stderr, flush=True)
    try:
        with pulling(args) as view:
            had = fetched(Wanted(model), root, client, view)
    except BlazarError as why:
        raise Refusal(teaching.run_not_pulled(str(refused), str(why))) from why
    if not had.name:
        raise NotFound(teaching.run_no_model(model, had.path))
    return had.name
