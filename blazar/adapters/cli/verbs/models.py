"""`import`, `list`, `show`, `rm`, `cp`: the catalog. With a daemon that runs, changes go through it (D29): it evicts first."""

import argparse
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.cli.client import DaemonClient
from blazar.adapters.cli.exits import OK, WrongUse, exit_code, report_error
from blazar.adapters.cli.render import Column, ago, outline, size, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json, working
from blazar.domain import teaching
from blazar.domain.errors import BlazarError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from blazar.domain.records import Model

MOST_LINES = 6
"""Of a text that is laid over a model, unless all of it is asked for."""
_LIST = (
    Column("NAME"),
    Column("ARCH"),
    Column("PARAMETERS", right=True),
    Column("QUANT"),
    Column("FORMAT"),
    Column("SIZE", right=True),
    Column("FIT"),
    Column("LANE"),
    Column("ADDED"),
)


def daemon_of(root: Root) -> DaemonClient | None:
    """The daemon that owns the catalog: the one named, or the live one of this data folder. Else we are alone with it.

    ODD: the default address is not tried: what answers there without a note in our folder has another catalog.
    """
    target = root.target()
    return root.client() if target.explicit or target.note else None


def add(args: argparse.Namespace, root: Root) -> int:
    """Catalog a model where it lies, by hardlink if possible (D36)."""
    if not args.path.strip():  # it would mean the current folder
        raise WrongUse(teaching.path_empty())
    parts = [_part(text) for text in args.parts]
    with working(args, f"reading {args.path}"):
        model, already = root.models.add(_whole(args.path), args.name, parts)
    use = told_use(root.models.unserved(model), use_of(model))
    said, facts = _imported(model, use, already=already), {**rows_of([model])[0], "already": already}
    if beside := root.models.projector(model):
        said, facts = f"{said}\n{teaching.projector_taken(model.name, beside)}", {**facts, "projector": beside}
    confirm(args, said, **facts)
    return OK


def _imported(model: "Model", use: str, *, already: bool) -> str:
    """With what it is good for."""
    if already:
        return teaching.model_there_already(model.name, use)
    return teaching.model_imported(model.name, model.size, linked=model.owned, use=use)


def told_use(unserved: str, use: str) -> str:
    """What it is good for, once there is an engine for it."""
    return teaching.use_unserved(unserved) if unserved else use


def use_of(model: "Model") -> str:
    """What it is good for, in a few words."""
    if model.weights == "diffusion":
        return teaching.use_drawing()
    if model.ranks:
        return teaching.use_ranking()
    return teaching.use_embedding() if model.embeds else teaching.use_text(model.name)


def _part(text: str) -> tuple[str, str]:
    """ROLE=PATH."""
    role, equals, path = text.partition("=")
    if not equals or not role.strip() or not path.strip():
        raise WrongUse(teaching.part_spelling(text))
    return role.strip(), _whole(path)


def _whole(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def rows_of(models: "Iterable[Model]") -> list[dict[str, Any]]:
    """Records as /api/tags says them, so that `list --json` is the same with and without a daemon."""
    from blazar.domain.wire.ollama_listing import tags

    return list(tags(models)["models"])


def _judged(root: Root) -> list[dict[str, Any]]:
    """With verdict and lane."""
    from blazar.domain.wire.ollama_listing import judged_tags

    return list(judged_tags(root.models.survey())["models"])


def listing(args: argparse.Namespace, root: Root) -> int:
    """Every row; --quiet prints names only, one a line."""
    client = daemon_of(root)
    if client is not None:
        rows = list(client.call("GET", "/api/tags" if args.quiet else "/api/tags?fit=true").get("models") or [])
    else:
        rows = rows_of(root.models.list()) if args.quiet else _judged(root)
    if args.json:
        put_json({"models": rows})
    elif args.quiet:
        for row in rows:
            print(row["name"])
    elif rows:
        print(table(_LIST, [_cells(row) for row in rows]))
    else:
        print(teaching.nothing_catalogued(), file=sys.stderr)
    return OK


def _cells(row: dict[str, Any]) -> list[str]:
    details = row.get("details") or {}
    return [
        str(row.get("name", "-")),
        str(details.get("family") or "-"),
        str(details.get("parameter_size") or "-"),
        str(details.get("quantization_level") or "-"),
        str(details.get("format") or "-"),
        size(row.get("size") or 0),
        str(row.get("fit") or "-"),
        str(row.get("lane") or ("none here" if row.get("fit") else "-")),
        _added(row.get("modified_at")),
    ]


def _added(moment: Any) -> str:
    try:
        return ago(datetime.fromisoformat(str(moment)).timestamp())
    except ValueError:
        return "-"


def show(args: argparse.Namespace, root: Root) -> int:
    """What is known about one model."""
    if root.target().explicit:
        facts = root.client().call("POST", "/api/show", {"model": args.model, "verbose": args.verbose})
    else:
        facts = root.models.show(args.model, verbose=args.verbose)
    if args.json:
        put_json(facts)
    else:
        facts = facts if args.verbose or "overlay" not in facts else {**facts, "overlay": _cut(facts["overlay"])}
        print(outline({**facts, "size": size(facts["size"])} if "size" in facts else facts))
    return OK


def _cut(overlay: dict[str, Any]) -> dict[str, Any]:
    """A template fills a screen before anybody gets to what follows."""
    return {key: _beginning(value) if isinstance(value, str) else value for key, value in overlay.items()}


def _beginning(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) <= MOST_LINES else "\n".join([*lines[:MOST_LINES], teaching.show_cut(len(lines))])


def remove(args: argparse.Namespace, root: Root) -> int:
    """Remove every model named; one that cannot be removed does not keep the others."""
    client, removed, code = daemon_of(root), [], OK
    for name in args.models:
        try:
            removed.append(_remove_one(name, client, root, force=args.force))
        except BlazarError as refused:
            report_error(refused, as_json=args.json)
            code = exit_code(refused)
    if removed:
        said = [teaching.model_removed(name) for name in removed]
        said += [teaching.override_left(name) for name in _still_set(removed, root)]
        confirm(args, "\n".join(said), removed=removed)
    return code


def _still_set(names: list[str], root: Root) -> list[str]:
    """Those for which the configuration has an override yet: a person's, which is not the model's to take along."""
    overrides: dict[str, Any] = {}
    with suppress(BlazarError):  # one that cannot be read is no reason to say that nothing was removed
        if not root.target().explicit:
            overrides = root.settings.plain().get("model_overrides") or {}
    return [name for name in names if name in overrides]


def _remove_one(name: str, client: DaemonClient | None, root: Root, *, force: bool) -> str:
    if client is None:
        return root.models.remove(name)
    body = {"model": name, **({"force": True} if force else {})}
    return client.remove(body) or name


def copy(args: argparse.Namespace, root: Root) -> int:
    """A second name for the same bytes."""
    client = daemon_of(root)
    if client is None:
        root.models.copy(args.source, args.target_name)
    else:
        client.call("POST", "/api/copy", {"source": args.source, "destination": args.target_name, "overwrite": False})
    confirm(
        args, teaching.model_copied(args.source, args.target_name), source=args.source, destination=args.target_name
    )
    return OK
