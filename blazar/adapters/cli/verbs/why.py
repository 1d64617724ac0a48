"""`why`: the stories of requests that have ended, as the daemon tells them. Adds no word of its own."""

import argparse
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.render import Column, Style, clean, facts, short, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json
from blazar.domain import teaching

_COLUMNS = (
    Column("TRACE"),
    Column("AT"),
    Column("KEY"),
    Column("MODEL"),
    Column("STATUS", right=True),
    Column("LOAD", right=True),
    Column("QUEUE", right=True),
    Column("FIRST", right=True),
    Column("TOTAL", right=True),
    Column("TOKENS", right=True),
    Column("WHY"),
)
_WIDEST = 60
"""Characters of a refusal in the list; the story has all of it."""


def why(args: argparse.Namespace, root: Root) -> int:
    """One request's story, or the list of the newest."""
    wishes = (("trace", args.trace), ("model", args.model), ("key", args.key), ("status", args.status))
    asked = {name: wish or "" for name, wish in wishes} | {"limit": str(args.limit)}
    answer = root.client().call("GET", "/api/why?" + urlencode({name: text for name, text in asked.items() if text}))
    rows = answer.get("requests") or []
    if args.json:
        put_json(answer)
    elif args.trace:
        print("\n\n".join(map(_story, rows)))
    elif args.quiet:
        print(*(clean(str(row.get("trace", ""))) for row in rows), sep="\n", end="\n" if rows else "")
    elif rows:
        print(table(_COLUMNS, [_row(row) for row in rows]))
    elif args.key or args.status:
        confirm(args, teaching.why_none_of_those())
    elif args.model:
        confirm(args, teaching.why_none_of_model(args.model))
    else:
        confirm(args, teaching.why_nothing())
    return OK


def _row(row: dict[str, Any]) -> list[str]:
    timings, tokens = row.get("timings") or {}, row.get("tokens") or {}
    refusal = str(row.get("refusal") or "")
    return [
        str(row.get("trace", "-")),
        _moment(row.get("at")),
        str(row.get("key") or "-"),
        str(row.get("model") or "-"),
        _status(row),
        *(_seconds(timings.get(name)) for name in ("load", "queue", "first_byte", "total")),
        f"{tokens.get('prompt', 0)}+{tokens.get('completion', 0)}",
        refusal if len(refusal) <= _WIDEST else refusal[: _WIDEST - 1] + "…",
    ]


def _story(row: dict[str, Any]) -> str:
    """Its name, what happened in order, and what else was told in its time."""
    style = Style()
    head = f"{row.get('trace')}  {row.get('method')} {row.get('path')}  {row.get('model') or ''}".rstrip()
    came = "  ".join((_moment(row.get("at")), *([f"key={row['key']}"] if row.get("key") else ())))
    lines = [
        style.bold(clean(head)),
        f"  {clean(came)}",
        *(f"  {clean(str(sentence))}" for sentence in row.get("story") or []),
    ]
    lines += [f"  {clean(str(warning))}" for warning in row.get("warnings") or []]
    noted = [(f"+{_seconds(note.get('after'))}", _told(note, "what", "after")) for note in row.get("notes") or []]
    noted += [(_clock(event.get("at")), _told(event, "kind", "at")) for event in row.get("events") or []]
    return "\n".join(lines) + ("\n" + facts(noted, "  ") if noted else "")


def _told(facts: dict[str, Any], name: str, moment: str) -> str:
    """`evicted model=tiny cause=idle`."""
    rest = (
        f"{key}={short(value)}"
        for key, value in facts.items()
        if key not in (name, moment) and value not in ("", [], None)
    )
    return " ".join((str(facts.get(name, "")), *rest))


def _status(row: dict[str, Any]) -> str:
    """`200 left`: of a stream the status alone does not say how it ended."""
    status, outcome = str(row.get("status", "-")), row.get("outcome")
    return f"{status} {outcome}" if outcome in ("left", "broken") else status


def _local(stamp: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(stamp)).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def _moment(stamp: Any) -> str:
    """An RFC 3339 stamp as the clock on the wall has it, with how far that is from UTC."""
    moment = _local(stamp)
    return "-" if moment is None else moment.isoformat(" ", "seconds")


def _clock(stamp: Any) -> str:
    """The time of day, likewise."""
    moment = _local(stamp)
    return "-" if moment is None else moment.strftime("%H:%M:%S.%f")[:12]


def _seconds(count: Any) -> str:
    return "-" if not isinstance(count, int | float) else f"{count:.3f}" if count < 10 else f"{count:.1f}"
