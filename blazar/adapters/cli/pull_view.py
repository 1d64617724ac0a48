"""How far a pull is: on a terminal a line for the file and one for all of them, drawn anew; where it is piped a line now and then."""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any, Final, Protocol, TextIO

from blazar.adapters.cli.render import MIB, Style, clean, duration, is_terminal, safe_text
from blazar.application.models.pulling import DONE, Step
from blazar.domain import teaching
from blazar.domain.pace import Pace, amount

DRAWN_SECS: Final = 0.1
"""Between two drawings."""
LINE_SECS: Final = 5.0
"""Between two lines of a log that tell of progress alone."""
TICK_SECS: Final = 1.0
"""Between two looks whether anything still comes."""
LEAST_BAR: Final = 8


def step_in(line: Mapping[str, Any]) -> Step:
    """A step as a daemon's line says it; what is of another type than it should be is not said."""
    texts = {name: line[name] for name in ("status", "digest", "file", "note") if isinstance(line.get(name), str)}
    counts = {name: line[name] for name in ("total", "completed") if type(line.get(name)) is int}
    return Step(**{"status": "", **texts, **counts})


class View(Protocol):
    """Who is told of the steps. `noted` are the notes that were shown: each is shown once, however often it is told."""

    noted: Collection[str]

    def tell(self, said: Step) -> None: ...

    def tick(self) -> None:
        """Time has passed: from another thread."""
        ...

    def end(self) -> None:
        """Leave the cursor at the start of a line."""
        ...


@contextmanager
def pulling(
    args: argparse.Namespace, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
) -> Iterator[View]:
    """What to tell of the steps. What is drawn is gone afterwards."""
    stream = stream or sys.stderr
    view: View = Mute()
    if not args.quiet and not args.json:
        view = Bars(stream, now) if is_terminal(stream) else Lines(stream, now)
    ended = Event()
    ticking = Thread(target=_ticks, args=(view, ended), name="progress", daemon=True)
    if not isinstance(view, Mute):
        ticking.start()
    try:
        yield view
    finally:
        ended.set()
        if ticking.ident is not None:
            ticking.join()
        view.end()


def _ticks(view: View, ended: Event) -> None:
    while not ended.wait(TICK_SECS):
        view.tick()


class Mute(View):
    """With --quiet and --json."""

    noted: Collection[str] = ()

    def tell(self, said: Step) -> None:
        pass

    def tick(self) -> None:
        pass

    def end(self) -> None:
        pass


class Files:
    """The files of one pull as far as they were told, and how fast they come."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, Step] = {}
        self._fetched = 0
        self._pace = Pace()
        self._came_at = now()

    def tell(self, said: Step) -> bool:
        """Whether more of it came, or it is new."""
        key = said.digest or said.file
        before = self._known.get(key)
        self._known[key] = said
        if before is not None:
            self._fetched += max(0, said.completed - before.completed)
        self._pace.tell(self._now(), self._fetched)
        more = before is None or said.completed > before.completed
        if more:
            self._came_at = self._now()
        return more

    @property
    def stalled(self) -> float:
        """Seconds in which nothing came."""
        return self._now() - self._came_at

    @property
    def count(self) -> int:
        return len(self._known)

    @property
    def whole(self) -> Step:
        """All of them as one. A size that nobody knows makes the sum unknown."""
        files = self._known.values()
        total = sum(file.total for file in files) if all(file.total for file in files) else 0
        there = sum(1 for file in files if file.total and file.completed >= file.total)
        return Step("", "", total, sum(file.completed for file in files), teaching.pull_all(there, len(files)))

    def figures(self, said: Step) -> str:
        """How much, how fast, how long still."""
        there, total = amount(said.completed, said.total), amount(said.total, said.total)
        if said.total and said.completed >= said.total:
            return total
        parts = [f"{there} of {total}" if said.total else there]
        if self.stalled >= LINE_SECS:
            return "  ".join([*parts, teaching.pull_stalled(duration(self.stalled))])
        if self._pace.rate:
            parts.append(f"{self._pace.rate / MIB:.1f} MiB/s")
        left = self._pace.left(said.total - said.completed) if said.total else None
        return "  ".join([*parts, *([duration(left)] if left is not None else [])])


class Lines(View):
    """For a log: each status, a file when it begins and when it is there, and every few seconds how far it is."""

    def __init__(self, stream: TextIO, now: Callable[[], float]) -> None:
        self._stream, self._now = stream, now
        self._files = Files(now)
        self._said = float("-inf")
        self._last = ""
        self._lock = Lock()
        self._under_way: Step | None = None
        self.noted: set[str] = set()

    def tick(self) -> None:
        """A log that nothing is added to looks like one of a process that hangs."""
        with self._lock:
            said = self._under_way
            if said is not None and self._files.stalled >= LINE_SECS and self._now() - self._said >= LINE_SECS:
                self._put(said)

    def tell(self, said: Step) -> None:
        with self._lock:
            self._tell(said)

    def _tell(self, said: Step) -> None:
        if said.note and said.note not in self.noted:
            self.noted.add(said.note)
            self._print(teaching.pull_note(said.note))
        if not said.digest and not said.file:
            self._under_way = None
            if said.status not in (self._last, DONE):
                self._last = said.status
                self._print(said.status)
            return
        done = bool(said.total) and said.completed >= said.total
        more = self._files.tell(said)
        self._under_way = None if done else said
        if more and (done or self._now() - self._said >= LINE_SECS):
            self._put(said)

    def _put(self, said: Step) -> None:
        self._said = self._now()
        self._print(f"{said.file or said.status}: {', '.join(self._files.figures(said).split('  '))}")

    def end(self) -> None:
        pass

    def _print(self, text: str) -> None:
        print(clean(text), file=self._stream, flush=True)


class Bars(View):
    """For a person: the file under way, below it all files where there are several, or the status."""

    def __init__(self, stream: TextIO, now: Callable[[], float]) -> None:
        self._stream, self._now, self._style = stream, now, Style(stream)
        self._files = Files(now)
        self._drawn_at = float("-inf")
        self._lines = 0
        self._lock = Lock()
        self._under_way: Step | None = None
        self.noted: set[str] = set()

    def tick(self) -> None:
        """That nothing comes any more must show, too."""
        with self._lock:
            if self._under_way is not None and self._files.stalled >= LINE_SECS:
                self._draw_file(self._under_way)

    def tell(self, said: Step) -> None:
        with self._lock:
            self._tell(said)

    def _tell(self, said: Step) -> None:
        if said.note and said.note not in self.noted:
            self.noted.add(said.note)
            self._wipe()
            print(safe_text(teaching.pull_note(said.note)), file=self._stream, flush=True)
        if said.status == DONE:
            return
        if not said.digest and not said.file:
            self._under_way = None
            self._draw([self._style.dim(f"{clean(said.status)} …")])
            return
        done = bool(said.total) and said.completed >= said.total
        self._files.tell(said)
        self._under_way = None if done else said
        if done or self._now() - self._drawn_at >= DRAWN_SECS:
            self._draw_file(said)

    def _draw_file(self, said: Step) -> None:
        self._drawn_at = self._now()
        self._draw([self._bar(one) for one in ([said, self._files.whole] if self._files.count > 1 else [said])])

    def end(self) -> None:
        self._wipe()
        self._stream.flush()

    def _bar(self, said: Step) -> str:
        figures = self._files.figures(said)
        columns = shutil.get_terminal_size().columns - 1
        name = clean(said.file or said.status)
        room = columns - len(figures) - 2
        if len(name) > room - 2 - LEAST_BAR:  # a line that wraps could not be wiped
            return f"{name[: max(0, room)]}  {figures}"[:columns]
        width = room - len(name) - 2
        filled = width * said.completed // said.total if said.total else 0
        return f"{name}  {'█' * filled}{self._style.dim('░' * (width - filled))}  {figures}"

    def _draw(self, lines: list[str]) -> None:
        self._wipe()
        print("\n".join(lines), end="", file=self._stream, flush=True)
        self._lines = len(lines)

    def _wipe(self) -> None:
        if self._lines:
            up = "\x1b[1A\x1b[K" * (self._lines - 1)
            print(f"\r\x1b[K{up}", end="", file=self._stream)
        self._lines = 0
