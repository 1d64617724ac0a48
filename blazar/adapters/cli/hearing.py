"""Hears a daemon's events in a thread, also from the next daemon when this one is restarted. Decides nothing about what it hears.

Only what cannot get better is an end: a daemon that refuses us.
"""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from blazar.adapters.cli.client import Answer, DaemonClient, DaemonRefused
from blazar.domain.errors import BlazarError, Fault, Unreachable

AGAIN_SECS: Final = 1.0
"""Between two tries to reach a daemon that is gone."""
SILENCE_SECS: Final = 45.0
"""A daemon says at least every 15 s that it is there."""


class Heard(NamedTuple):
    """One event; or that the connection stands or fell, or what ended it for good."""

    event: dict[str, Any] | None = None
    up: bool | None = None
    error: BlazarError | None = None


class Ear:
    """`heard` is what came, in order. Leave with `close`."""

    def __init__(self, client: Callable[[], DaemonClient], path: str) -> None:
        self.heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._client, self._path = client, path
        self._stop = threading.Event()
        self._answer: Answer | None = None
        self._last = ""
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hear no more."""
        self._stop.set()
        if (answer := self._answer) is not None:
            answer.cut()
        self._thread.join(AGAIN_SECS)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._listen()
            except DaemonRefused as refused:
                self.heard.put(Heard(error=refused))
                return
            except (Unreachable, Fault):
                self.heard.put(Heard(up=False))
            self._stop.wait(AGAIN_SECS)

    def _listen(self) -> None:
        """Until the daemon ends it. A daemon that has begun anew knows no numbers of the last one, and tells all that it knows."""
        path = f"{self._path}&after={self._last}" if self._last else self._path
        with self._client().listen(path, SILENCE_SECS) as answer:
            self._answer = answer
            if self._stop.is_set():
                return
            self.heard.put(Heard(up=True))
            for number, event in told(answer.lines()):
                self._last = number or self._last
                if event is not None:
                    self.heard.put(Heard(event=event))
        self._answer = None
        self.heard.put(Heard(up=False))


def told(lines: Iterator[bytes]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The events in a stream of server-sent events, with their numbers. Of what is no JSON object only the number is told."""
    number, data = "", ""
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            number = value if value.isdigit() else ""
        elif field == "data":
            data += value
        elif not line and (data or number):
            try:
                event = json.loads(data)
            except ValueError:
                event = None
            if isinstance(event, dict) or number:
                yield number, event if isinstance(event, dict) else None
            number = data = ""
