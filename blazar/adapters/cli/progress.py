"""How far a download is: a bar on a terminal, a line for every tenth where it is piped, nothing with --quiet and --json."""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from blazar.adapters.cli.ending import terminable
from blazar.adapters.cli.render import Style, duration, is_terminal, safe_text
from blazar.domain import teaching

STEP = 10
"""Percent between two lines."""
OFTEN = 0.1
"""Seconds between two drawings."""

Told = Callable[[str, int, int], None]


@contextmanager
def downloading(args: argparse.Namespace, stream: TextIO | None = None) -> Iterator[Told]:
    """What to tell of bytes: a file's name, how many are there, how many there will be. The bar is gone afterwards.

    An order to end is heard meanwhile, as Ctrl-C is.
    """
    stream = stream or sys.stderr
    with terminable():
        if args.quiet or args.json:
            yield lambda *_: None
            return
        view = Bar(stream) if is_terminal(stream) else Lines(stream)
        try:
            yield view.tell
        finally:
            view.end()


LONGEST = 100
"""Characters of a line that is drawn anew: a longer one would wrap, and its beginning could not be wiped."""


@contextmanager
def redrawn(args: argparse.Namespace, stream: TextIO | None = None) -> Iterator[Callable[[str], None]]:
    """One line on a terminal that is drawn anew, else line after line; nothing where no words are wanted."""
    stream = stream or sys.stderr
    if args.quiet or args.json:
        yield lambda _: None
        return
    live = is_terminal(stream)

    def say(text: str) -> None:
        line = safe_text(text)
        if live:
            print(f"\r\x1b[K{Style(stream).dim(line[:LONGEST])}", end="", file=stream, flush=True)
        else:
            print(line, file=stream, flush=True)

    try:
        yield say
    finally:
        if live:
            print("\r\x1b[K", end="", file=stream, flush=True)


def aside(args: argparse.Namespace, sentence: str, stream: TextIO | None = None) -> None:
    """A line of its own between bars."""
    stream = stream or sys.stderr
    if not args.quiet and not args.json:
        wipe = "\r\x1b[K" if is_terminal(stream) else ""
        print(f"{wipe}{safe_text(sentence)}", file=stream, flush=True)


class Lines:
    """For a log: a line when a file begins, every tenth, and when it is there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._said: dict[str, int] = {}

    def tell(self, name: str, done: int, total: int) -> None:
        percent = 100 * done // total if total else 0
        step = percent - percent % STEP
        if step > self._said.get(name, -1):
            self._said[name] = step
            whole = _mib(total) if total else ""
            told = teaching.downloading(safe_text(name), _mib(done), whole) + (f" ({step} %)" if total else "")
            print(told, file=self._stream, flush=True)

    def end(self) -> None:
        """Nothing is left to be wiped."""


class Bar:
    """One line that is drawn anew: name, bar, how much, how fast, how long still."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, now
        self._style = Style(stream)
        self._name = ""
        self._began = self._drawn = 0.0
        self._first = 0

    def tell(self, name: str, done: int, total: int) -> None:
        now = self._now()
        if name != self._name:
            self._name, self._began, self._first, self._drawn = name, now, done, 0.0
        if now - self._drawn < OFTEN and done != total:
            return
        self._drawn = now
        print(f"\r\x1b[K{self._line(done, total, now)}", end="", file=self._stream, flush=True)

    def _line(self, done: int, total: int, now: float) -> str:
        speed = (done - self._first) / (now - self._began) if now > self._began else 0.0
        left = f"  {duration((total - done) / speed)}" if speed > 0 and total > done else ""
        figures = f"{_mib(done)} of {_mib(total)}  {_mib(speed)}/s{left}" if total else _mib(done)
        room = shutil.get_terminal_size().columns - len(self._name) - len(figures) - 5
        filled = room * done // total if total and room > 4 else 0
        bar = f"  {'█' * filled}{self._style.dim('░' * (room - filled))}  " if room > 4 else "  "
        return f"{safe_text(self._name)}{bar}{figures}"

    def end(self) -> None:
        """Wipe it."""
        if self._name:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def _mib(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"
