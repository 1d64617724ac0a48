"""A bounded hand-over from the hot path to one thread that writes in batches. Never blocks its producer, counts what it drops.

A thread, not a task: a slow or full disk must hold up nothing but itself. It wakes at most four times a second, and not at all
while nothing happens: each time it runs, requests wait for the interpreter.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")

BOUND = 20_000
"""Items that may wait. At 10 000 requests a second two seconds of a stuck disk; beyond that items are dropped."""
INTERVAL = 0.25
"""Seconds in which items are gathered before they are written together."""
BATCH = 50
"""Items written at once: a quarter of a millisecond of formatting, in which no token moves."""
PAUSE = 0.001
"""Seconds between two batches. Without one the thread takes the interpreter back before the event loop has woken."""


class Flusher(Generic[Item]):
    """`put` from any thread; `write` is called with batches from one thread of its own."""

    def __init__(self, name: str, write: Callable[[list[Item]], None], bound: int = BOUND) -> None:
        self.dropped = 0
        self._write = write
        self._bound = bound
        self._items: deque[Item] = deque()
        self._due = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def put(self, item: Item) -> None:
        """Hand over; about 0.2 µs."""
        if len(self._items) >= self._bound:
            self.dropped += 1
            return
        self._items.append(item)
        if not self._due.is_set():
            self._due.set()

    def start(self) -> None:
        """Begin to write; what was put before is written first."""
        self._thread.start()

    def stop(self, within: float = 5.0) -> None:
        """Write what is there and end; gives up after `within` seconds (a stuck disk must not keep the daemon alive)."""
        self._stopping.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join(within)

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._stopping.wait(INTERVAL)
            self._due.clear()  # before draining: what arrives meanwhile sets it again
            self._drain()
            if self._stopping.is_set() and not self._items:
                return

    def _drain(self) -> None:
        while self._items:
            batch = [self._items.popleft() for _ in range(min(BATCH, len(self._items)))]
            try:
                self._write(batch)
            except (OSError, ValueError):  # a full disk, or text that has no bytes: never the end of the thread
                self.dropped += len(batch)
            if self._items:
                self._stopping.wait(PAUSE)
