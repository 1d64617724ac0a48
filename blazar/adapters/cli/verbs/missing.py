"""A model that `run` names and the catalog lacks: it is downloaded, unless the word is more likely a mistyped one of the catalog's."""

import argparse
import sys

from blazar.adapters.cli.client import DaemonClient, DaemonRefused
from blazar.adapters.cli.pull_view import pulling
from blazar.adapters.cli.render import clean
from blazar.adapters.cli.root import Root
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed, NotFound, Refusal
from blazar.domain.harmless import public

NOT_FOUND = 404


def named_or_fetched(
    args: argparse.Namespace, root: Root, client: DaemonClient, model: str, refused: DaemonRefused
) -> str:
    """What the catalog calls it; raises `refused` where it is not to be had elsewhere."""
    from blazar.domain.names import near, resolve
    from blazar.domain.references import candidates, catalog_name, host_of, pull_reference

    if refused.status != NOT_FOUND:
        raise refused
    try:
        ref = pull_reference(model, [host_of(model)])  # whether that may be asked is the pull's to say
    except Malformed:
        if "://" in model:  # no name of a catalog: what is wrong with it is worth more
            raise
        raise refused from None
    known = [str(row["name"]) for row in client.call("GET", "/api/tags").get("models") or []]
    for candidate in candidates(ref):
        if (name := resolve(catalog_name(candidate), known)) in known and not _is_anothers(client, name):
            return name
    bare = not {":", "/"} & set(model)
    if bare and near(model, known):
        raise refused
    return _fetched(args, root, client, model, refused)


def _is_anothers(client: DaemonClient, name: str) -> bool:
    """What was pulled by that reference the daemon has found: a row of that name that was pulled is somebody else's model."""
    return bool(client.call("POST", "/api/show", {"model": name}).get("pulled_from"))


def _fetched(args: argparse.Namespace, root: Root, client: DaemonClient, model: str, refused: DaemonRefused) -> str:
    from blazar.adapters.cli.verbs.pulls import as_table, fetched, question_in
    from blazar.application.models.pulling import Wish

    if not args.quiet and not args.json:
        print(clean(teaching.run_pulls(model)), file=sys.stderr, flush=True)
    try:
        with pulling(args) as view:
            had = fetched(Wish(model), root, client, view)
    except BlazarError as why:
        if isinstance(why, Refusal) and question_in(why) is not None:
            raise as_table(args, why) from why
        raise Refusal(teaching.run_not_pulled(str(refused), str(why))) from why
    if not had.name:
        raise NotFound(teaching.run_no_model(public(model), had.path))
    return had.name
