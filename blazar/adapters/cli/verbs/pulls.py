"""`pull`: the daemon's where one answers, so that two who want the same share one download; else done here. Decides nothing about models."""

import argparse
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from blazar.adapters.cli.choice_view import choice_table
from blazar.adapters.cli.client import DaemonClient, DaemonFailed, DaemonRefused
from blazar.adapters.cli.ending import terminable
from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.pull_view import View, pulling, step_in
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm
from blazar.adapters.cli.verbs.models import daemon_of, rows_of, told_use, use_of
from blazar.application.models.pulling import DONE, Wish
from blazar.domain import teaching
from blazar.domain.choices import example
from blazar.domain.errors import ChoiceOpen, Fault, NotFound, Refusal
from blazar.domain.harmless import public
from blazar.domain.references import HF, HUB_VARIABLES, implied_reference, parse_reference

AUTO = "auto"
_TOKEN = re.compile(r"\b[A-Z][A-Z_]*_TOKEN\b")
"""A variable that opens private and gated repositories, as refusals name it."""


class Had(NamedTuple):
    """What a pull came to. `row` is the catalog's, empty where what came is no model by itself and lies at `path`."""

    name: str
    fresh: bool
    path: str
    notes: tuple[str, ...]
    row: dict[str, Any]
    use: str
    unserved: str = ""


def pull(args: argparse.Namespace, root: Root) -> int:
    """Have a model here, or what is newer of it."""
    wanted = wanted_of(args)
    try:
        with pulling(args) as view:
            had = fetched(wanted, root, daemon_of(root), view)
    except (ChoiceOpen, DaemonRefused) as refused:
        raise as_table(args, refused) from refused
    said = [teaching.pull_note(note) for note in had.notes if note not in view.noted]
    if had.row:
        told = teaching.pulled(had.name, had.row["size"], had.use) if had.fresh else ""
        said.append(told or teaching.pulled_already(had.name, had.use))
    elif had.path:
        said.append(teaching.adapter_came(had.path) if had.fresh else teaching.adapter_there(had.path))
    facts = {**had.row, "fresh": had.fresh, "notes": list(had.notes), **({"path": had.path} if had.path else {})}
    facts |= {"unserved": had.unserved} if had.unserved else {}
    confirm(args, "\n".join(said), **facts)
    return OK


def question_in(refused: Refusal) -> ChoiceOpen | None:
    """The question which of several is meant, asked here or by a daemon."""
    if isinstance(refused, DaemonRefused):
        return refused.choice
    return refused if isinstance(refused, ChoiceOpen) else None


def as_table(args: argparse.Namespace, refused: Refusal) -> Refusal:
    """The question which of several is meant, with its table above; any other refusal as it is."""
    choice = question_in(refused)
    if choice is None or args.json or args.quiet:
        return refused
    print(choice_table(choice.choices), file=sys.stderr)
    named = f"hf:{choice.repo}{'/' if choice.files else ':'}{example(choice.choices)}"
    return NotFound(teaching.choose_of_these(choice.repo, named, choice.asked))


def wanted_of(args: argparse.Namespace) -> Wish:
    """Raises `WrongUse`."""
    reference, draft = args.reference or "", args.draft or ""
    if not reference and draft not in ("", AUTO):  # --draft took the word that followed it
        reference, draft = draft, AUTO
    if not reference.strip():
        raise WrongUse(teaching.pull_needs_reference())
    return Wish(reference.strip(), args.name or "", tuple(map(_part, args.parts)), draft)


def _part(text: str) -> tuple[str, str]:
    """ROLE=REF."""
    role, _, reference = text.partition("=")
    if not role.strip() or not reference.strip():
        raise WrongUse(teaching.pull_part_spelling(text))
    return role.strip(), reference.strip()


def fetched(wanted: Wish, root: Root, client: DaemonClient | None, view: View) -> Had:
    """Where Ctrl-C or an order to end stops it, its sentence says how to go on."""
    try:
        with terminable():
            return _here(wanted, root, view) if client is None else _there(wanted, client, view, _hub(root))
    except KeyboardInterrupt as stop:
        raise type(stop)(teaching.pull_interrupted(_command(wanted))) from stop


def _command(wanted: Wish) -> str:
    """What goes on where this ended. A terminal's log is read by others: an address that holds a secret is not said again."""
    references = (wanted.reference, wanted.draft, *(reference for _, reference in wanted.parts))
    if any(public(reference) != reference for reference in references):
        return teaching.pull_same_command()
    words = ["blazar", "pull", wanted.reference, *(["--name", wanted.name] if wanted.name else [])]
    for role, reference in wanted.parts:
        words += ["--with", f"{role}={reference}"]
    if wanted.draft:
        words.append("--draft" if wanted.draft == AUTO else f"--draft={wanted.draft}")
    return shlex.join(words)


def _here(wanted: Wish, root: Root, view: View) -> Had:
    model, fresh, path, notes, unserved = root.models.pull(*wanted, told=view.tell)
    if model is None:
        return Had("", fresh, path, notes, {}, "")
    return Had(model.name, fresh, path, notes, rows_of([model])[0], told_use(unserved, use_of(model)), unserved)


def _hub(root: Root) -> str:
    """The one that this shell names: a daemon says where it asks another."""
    return next(filter(None, map(root.env.get, HUB_VARIABLES)), "") or ""


def _there(wanted: Wish, client: DaemonClient, view: View, hub: str) -> Had:
    body: dict[str, Any] = {"model": wanted.reference, "as": wanted.name}
    if hub and _asks_hub(wanted):
        body["hub"] = hub
    if wanted.parts:
        body["with"] = dict(wanted.parts)
    if wanted.draft:
        body["draft"] = wanted.draft
    last: dict[str, Any] = {}
    try:
        with _environment_told(), client.stream("/api/pull", body) as answer:
            for last in answer.events():
                view.tell(step_in(last))
    except Fault as lost:
        if isinstance(lost, DaemonFailed) or not last:
            raise
        raise _lost(str(lost), wanted) from lost
    if last.get("status") != DONE:  # its connection was closed in order: it was stopped
        raise _lost(teaching.daemon_gone(client.url), wanted)
    name, path, notes = str(last.get("model", "")), str(last.get("path", "")), tuple(map(str, last.get("notes", ())))
    row = _row(client, name) if name else {}
    unserved = str(last.get("unserved", ""))
    use = told_use(unserved, _use(client, name)) if name else ""
    return Had(name, bool(last.get("fresh")), path, notes, row, use, unserved)


def _asks_hub(wanted: Wish) -> bool:
    ref = parse_reference(wanted.reference) or implied_reference(wanted.reference)
    return ref is not None and ref.registry == HF


def _lost(why: str, wanted: Wish) -> Fault:
    """Behind the first line: what had come by then is kept, as where Ctrl-C ends it."""
    return Fault(teaching.pull_daemon_lost(why, _command(wanted)))


@contextmanager
def _environment_told() -> Iterator[None]:
    """A token that is asked for is wanted in the daemon's environment, not in that of this command."""
    try:
        yield
    except (DaemonRefused, DaemonFailed) as why:
        variable = _TOKEN.search(str(why))
        if variable is None:
            raise
        sentence = teaching.pull_daemon_environment(str(why), variable[0])
        if isinstance(why, DaemonFailed):
            raise DaemonFailed(sentence, why.status) from why
        raise DaemonRefused(sentence, why.status, why.field) from why


def _row(client: DaemonClient, name: str) -> dict[str, Any]:
    rows = client.call("GET", "/api/tags").get("models") or []
    return next((row for row in rows if row["name"] == name), {"name": name, "model": name, "size": 0})


def _use(client: DaemonClient, name: str) -> str:
    """By ollama's words for what a model can do. It was pulled, whoever removed it since."""
    able: list[str] = []
    with suppress(DaemonRefused):
        able = client.call("POST", "/api/show", {"model": name}).get("capabilities") or []
    uses = {"image": teaching.use_drawing, "rerank": teaching.use_ranking, "embedding": teaching.use_embedding}
    return next((use() for word, use in uses.items() if word in able), teaching.use_text(name))
