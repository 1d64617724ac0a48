"""`watch`: what runs, waits and happens, drawn anew on a terminal, told line by line where it is piped. Decides nothing.

A daemon that is restarted is followed; one that refuses us, or was never there, is the end.
"""

import argparse
import json
import queue
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TextIO

from blazar.adapters.cli.hearing import Ear, Heard
from blazar.adapters.cli.render import Column, Style, clean, duration, is_terminal, short, size, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.verbs.children import hit
from blazar.domain import teaching
from blazar.domain.errors import Fault, Unreachable

EVERY_SECS: Final = 1.0
"""Between two looks at what runs; what happens is told at once."""
KEPT: Final = 200
"""Events that are remembered for the terminal; what does not fit is not drawn."""
EVENTS: Final = "/api/events?scrub=true"

_COLUMNS = (
    Column("NAME"),
    Column("STATE"),
    Column("BUSY", right=True),
    Column("SLOTS", right=True),
    Column("QUEUE", right=True),
    Column("TOK/S", right=True),
    Column("HIT", right=True),
    Column("MEASURED", right=True),
    Column("UNTIL"),
)
_MOVING: Final = frozenset({"until_seconds", "expires_at", "rss", "measured", "allocated", "notes"})
"""What changes by itself: no news where every line is kept."""


def watch(args: argparse.Namespace, root: Root) -> int:
    """Until Ctrl-C."""
    root.client().call("GET", "/api/ps")  # who is not there or refuses us says so at once
    view = Board(sys.stdout) if is_terminal(sys.stdout) and not args.json else Lines(sys.stdout, as_json=args.json)
    watching = Watching(root, view)
    try:
        while True:
            watching.step()
    finally:
        watching.close()


class Watching:
    """One second after another."""

    def __init__(self, root: Root, view: "View", now: Callable[[], float] = time.monotonic) -> None:
        self._root, self._view, self._now = root, view, now
        self._ear = Ear(root.client, EVENTS)

    def step(self) -> None:
        """Look once, then hear for a second. Raises what ends the watching."""
        try:
            client = self._root.client()
            rows = client.call("GET", "/api/ps").get("models") or []
            self._view.show(rows)
        except (Unreachable, Fault):
            self._view.lost(self._root.target().url)
        until = self._now() + EVERY_SECS
        while (left := until - self._now()) > 0:
            try:
                heard = self._ear.heard.get(timeout=left)
            except queue.Empty:
                return
            self._hear(heard)

    def _hear(self, heard: Heard) -> None:
        if heard.error is not None:
            raise heard.error
        if heard.event is not None:
            self._view.tell(heard.event)

    def close(self) -> None:
        """Hear no more."""
        self._ear.close()
        self._view.end()


class View:
    """Where it goes."""

    def show(self, rows: Sequence[dict[str, Any]]) -> None:
        """What runs now."""

    def tell(self, event: dict[str, Any]) -> None:
        """Something happened."""

    def lost(self, url: str) -> None:
        """Nobody answers."""

    def end(self) -> None:
        """It is over."""


class Board(View):
    """A table and the last events below it, drawn over what was drawn before."""

    def __init__(self, stream: TextIO, measure: Callable[[], tuple[int, int]] = shutil.get_terminal_size) -> None:
        self._stream, self._measure = stream, measure
        self._style = Style(stream)
        self._events: deque[str] = deque(maxlen=KEPT)
        self._rows: Sequence[dict[str, Any]] = ()
        self._trouble = ""
        self._drawn = 0

    def show(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows, self._trouble = rows, ""
        self._draw()

    def tell(self, event: dict[str, Any]) -> None:
        self._events.append(line_of(event))
        self._draw()

    def lost(self, url: str) -> None:
        self._rows, self._trouble = (), teaching.watch_lost(url)
        self._draw()

    def _draw(self) -> None:
        """A line that wrapped could not be drawn over: every line is cut, and there are no more than the terminal has."""
        width, height = self._measure()
        lines = board(self._rows, self._events, self._trouble, height - 1)
        back = f"\x1b[{self._drawn}A" if self._drawn else ""
        drawn = "".join(f"{self._styled(at, line[: width - 1])}\x1b[K\n" for at, line in enumerate(lines))
        print(f"\r{back}{drawn}\x1b[J", end="", file=self._stream, flush=True)
        self._drawn = len(lines)

    def _styled(self, at: int, line: str) -> str:
        return self._style.bold(line) if at == 0 else line


class Lines(View):
    """For a log or a program: a line for what happened, and for each child whose figures are others than before."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream, self._json = stream, as_json
        self._before: dict[str, dict[str, Any]] = {}
        self._lost = False

    def show(self, rows: Sequence[dict[str, Any]]) -> None:
        self._lost = False
        now = {str(row.get("key") or row.get("name")): row for row in rows}
        for key, row in now.items():
            still = {name: value for name, value in row.items() if name not in _MOVING}
            if self._before.get(key) != still:
                self._say({"type": "child", **row}, f"{key}  {_in_a_line(row)}")
            self._before[key] = still
        for key in [key for key in self._before if key not in now]:
            del self._before[key]

    def tell(self, event: dict[str, Any]) -> None:
        self._say({"type": "event", **event}, line_of(event))

    def lost(self, url: str) -> None:
        if not self._lost:  # once, not every second
            self._lost = True
            self._before.clear()
            said = teaching.watch_lost(url)
            self._say({"type": "lost", "why": said}, said)

    def _say(self, facts: dict[str, Any], line: str) -> None:
        print(json.dumps(facts, ensure_ascii=False) if self._json else clean(line), file=self._stream, flush=True)


def board(rows: Sequence[dict[str, Any]], events: Sequence[str], trouble: str, height: int) -> list[str]:
    """What is drawn: the children first, then as many of the newest events as there is room for."""
    if trouble:
        lines = [clean(trouble)]
    elif rows:
        lines = table(_COLUMNS, [_row(row) for row in rows]).split("\n")
    else:
        lines = [teaching.nothing_loaded()]
    lines = lines[: max(1, height)]
    room = max(0, height - len(lines) - 1)
    told = [clean(event) for event in events][-room:] if room else []
    return [*lines, "", *told] if told else lines


def _row(row: dict[str, Any]) -> list[str]:
    queued = row.get("queued") or []
    classes = ", ".join(
        f"{one.get('waiting')} {one.get('priority')} {one.get('work')}" for one in queued if one.get("waiting")
    )
    waiting = row.get("waiting") or 0
    until = row.get("until_seconds")
    return [
        str(row.get("key") or row.get("name", "-")),
        str(row.get("state", "-")) + (f" ({teaching.ps_sleeping()})" if row.get("blazar_sleeping") else ""),
        str(row.get("in_flight", 0)),
        str(row.get("slots") or "-"),
        f"{waiting} ({classes})" if classes else str(waiting),
        speed(row.get("tokens_per_second")),
        hit(row.get("cache_hint")),
        size(row.get("measured") or 0),
        duration(float(until)) if isinstance(until, int | float) else "stays",
    ]


def _in_a_line(row: dict[str, Any]) -> str:
    cells = _row(row)
    titles = ("busy", "slots", "queue", "tok/s")
    return " ".join((cells[1], *(f"{title}={cell}" for title, cell in zip(titles, cells[2:6], strict=True))))


def speed(count: Any) -> str:
    """Tokens a second."""
    return f"{count:.1f}" if isinstance(count, int | float) else "-"


def line_of(event: dict[str, Any]) -> str:
    """`12:30:01 evicted model=tiny cause=idle`."""
    if event.get("kind") == "dropped":
        return teaching.watch_missed(int(event.get("count") or 0))
    at = str(event.get("at", "")).partition("T")[2][:8]
    rest = (
        f"{name}={short(value)}"
        for name, value in event.items()
        if name not in ("at", "kind") and value not in ("", [], None)
    )
    return " ".join((at, str(event.get("kind", "")), *rest)).strip()
