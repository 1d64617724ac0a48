"""Ends what waits for a registry, from another thread: when its time is over, or when nobody wants the answer any more.

A blocked read ends when its socket is shut down; closing the client would free the descriptor under it and wake nobody.
"""

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Lock, Timer
from typing import Any

from blazar.domain.errors import BlazarError

_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")
"""Events of the HTTP client that bring a connection: the second one's socket is in the place of the first one's."""


class Cutoff:
    """Knows the sockets of one client by `trace`. Once ended, `check` raises why, for ever."""

    def __init__(self, secs: float, late: Callable[[float], BlazarError]) -> None:
        self._secs, self._late = secs, late
        self._lock = Lock()
        self._timer: Timer | None = None
        self._sockets: list[socket.socket] = []
        self._why: BlazarError | None = None
        self._ended = Event()

    def rest(self, secs: float) -> None:
        """Wait so long, which is not counted; raise as soon as it has ended. After it the time runs anew."""
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        self._ended.wait(secs)
        self.check()

    def check(self) -> None:
        """Raise if it has ended. The time runs from the first call."""
        with self._lock:
            if self._timer is None:
                self._timer = Timer(self._secs, lambda: self.end(self._late(self._secs)))
                self._timer.daemon = True
                self._timer.start()
        if self._why is not None:
            raise self._why

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """What the HTTP client tells of itself while it works for one request."""
        if not event.endswith(_CONNECTED):
            return
        connected = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets = [known for known in self._sockets if known.fileno() >= 0]
            self._sockets.append(connected)
        if self._why is not None:
            _shut(connected)

    def end(self, why: BlazarError) -> None:
        """From any thread; the first reason counts."""
        with self._lock:
            self._why = self._why or why
            sockets = list(self._sockets)
        self._ended.set()
        for connected in sockets:
            _shut(connected)

    def close(self) -> None:
        """Nothing is waited for any more."""
        with self._lock:
            timer, self._sockets = self._timer, []
        if timer is not None:
            timer.cancel()


def _shut(connected: socket.socket) -> None:
    with suppress(OSError):  # closed meanwhile
        # Not the method of a TLS socket, which would take its state away from the thread that reads.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
