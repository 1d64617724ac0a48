"""`keys add/list/rm/rotate/usage`: through the daemon where one runs, else in the file. A secret is printed, never typed.

The very first key is made in the file in any case: a gateway without keys lets nobody make one.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

from blazar.adapters.cli.client import DaemonClient, DaemonRefused
from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.following import follow
from blazar.adapters.cli.render import Column, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json
from blazar.adapters.cli.verbs.models import daemon_of
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Refusal
from blazar.domain.names import resolve
from blazar.domain.row_names import row_named

T = TypeVar("T")

_SETTINGS = ("models", "rpm", "tpm", "daily_tokens", "max_concurrent", "weight")
_LIST = (
    Column("NAME"),
    Column("KEY"),
    Column("MODELS"),
    Column("RPM", right=True),
    Column("TPM", right=True),
    Column("DAILY", right=True),
    Column("CONCURRENT", right=True),
    Column("WEIGHT", right=True),
)
_USAGE = (
    Column("DAY"),
    Column("REQUESTS", right=True),
    Column("PROMPT", right=True),
    Column("COMPLETION", right=True),
    Column("TOTAL", right=True),
)


def add(args: argparse.Namespace, root: Root) -> int:
    """The secret alone on stdout; what is to be known of it beside that."""
    said = {name: value for name in _SETTINGS if (value := getattr(args, name)) not in (None, [])}
    row = _managed(
        root,
        lambda client: client.call("POST", "/api/keys", {"name": args.name, **said}),
        lambda: root.keys.add(args.name, said),
    )
    if unknown := _unknown(root, args.models or ()):
        print(teaching.warning(teaching.key_models_unknown(unknown)), file=sys.stderr)
    return _tell(args, row, teaching.key_added(args.name))


def _unknown(root: Root, named: Sequence[str]) -> list[str]:
    """Which of these no model here is called. Of `REMOTE:MODEL` nothing is known here, and nothing of a catalog that cannot be read."""
    if not named:
        return []
    try:
        client = daemon_of(root)
        plain = [name for name in named if ":" not in name]
        if client is None:
            models = root.models.list()
            return [name for name in plain if row_named(name, models) is None]
        known = [str(row.get("id")) for row in client.call("GET", "/v1/models").get("data") or []]
        return [name for name in plain if resolve(name, known) not in known and not _is_there(client, name)]
    except BlazarError:
        return []


def _is_there(client: DaemonClient, name: str) -> bool:
    """Whether the daemon finds a model by it: it may be a reference that one was pulled by."""
    try:
        client.call("POST", "/api/show", {"model": name})
    except DaemonRefused as refused:
        return refused.status != HTTPStatus.NOT_FOUND
    return True


def rotate(args: argparse.Namespace, root: Root) -> int:
    """As `add`."""
    row = _managed(
        root,
        lambda client: client.call("POST", f"{_path(args.name)}/rotate"),
        lambda: root.keys.rotate(args.name),
    )
    return _tell(args, row, teaching.key_rotated(args.name))


def remove(args: argparse.Namespace, root: Root) -> int:
    """Its secret is worth nothing from now on."""
    name = _managed(
        root,
        lambda client: str(client.call("DELETE", _path(args.name)).get("deleted", args.name)),
        lambda: root.keys.remove(args.name),
    )
    confirm(args, teaching.key_removed(name), deleted=name)
    return OK


def listing(args: argparse.Namespace, root: Root) -> int:
    """Names, what they may use and how much; with --quiet the names."""
    rows = _managed(
        root,
        lambda client: client.call("GET", "/api/keys").get("keys") or [],
        lambda: root.keys.rows(),  # noqa: PLW0108 - `root.keys` imports much, and with a daemon it is not needed
    )
    if args.json:
        put_json({"keys": rows})
    elif args.quiet:
        print(*(row.get("name", "") for row in rows), sep="\n", end="\n" if rows else "")
    elif rows:
        print(table(_LIST, [_row(row) for row in rows]))
    else:
        print(teaching.no_keys_yet(), file=sys.stderr)
    return OK


def usage(args: argparse.Namespace, root: Root) -> int:
    """Days with any use; without a daemon what is written down."""
    days = _managed(
        root,
        lambda client: client.call("GET", f"{_path(args.name)}/usage?days={args.days}").get("days") or [],
        lambda: root.keys.usage(args.name, args.days),
    )
    if args.json:
        put_json({"name": args.name, "days": days})
    elif days:
        print(table(_USAGE, [_day(day) for day in days]))
    else:
        print(teaching.key_unused(args.name), file=sys.stderr)
    return OK


def _path(name: str) -> str:
    return f"/api/keys/{quote(name, safe='')}"


def _managed(root: Root, there: Callable[[DaemonClient], T], here: Callable[[], T]) -> T:
    """Through the daemon, or in the file where none runs, or where it has no keys yet: then the file is how one gets the first."""
    client = daemon_of(root)
    if client is None:
        return here()
    try:
        return there(client)
    except DaemonRefused as refused:
        if str(refused) != teaching.no_keys_configured():
            raise
        if root.target().explicit:
            raise DaemonRefused(teaching.first_key_elsewhere(client.url), refused.status) from refused
    file = client.call("GET", "/api/config").get("path")
    if file != str(root.places.config_file):
        raise Refusal(teaching.keys_in_another_file(str(file)))
    done = here()
    follow(root)
    return done


def _tell(args: argparse.Namespace, row: dict[str, Any], sentence: str) -> int:
    if args.json:
        put_json(row)
        return OK
    if not args.quiet:
        print(sentence, file=sys.stderr)
    print(row.get("key", ""))
    return OK


def _row(row: dict[str, Any]) -> list[str]:
    numbers = (row.get(name) for name in ("rpm", "tpm", "daily_tokens", "max_concurrent"))
    return [
        str(row.get("name", "-")),
        str(row.get("key", "-")),
        ", ".join(map(str, row.get("models") or ())) or "all",
        *("-" if number is None else str(number) for number in numbers),
        f"{row.get('weight', 1):g}",
    ]


def _day(day: dict[str, Any]) -> list[str]:
    return [
        str(day.get(name, "-")) for name in ("day", "requests", "prompt_tokens", "completion_tokens", "total_tokens")
    ]
