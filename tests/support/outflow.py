"""How much a server has sent, told so that it is never behind what a reader already holds."""

import os
import select
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from typing import IO

_PATIENCE = 0.5
"""Seconds after which a full socket is looked at again: nothing is missed when its peer went meanwhile."""


class Outflow:
    """Bytes that went out by any number of threads.

    A count made after `sendall` returned is late: the reader may have everything and be done before the thread that
    sent gets to count. So each step hands bytes over and counts them under one lock, which no step holds while it waits.
    """

    def __init__(self) -> None:
        self._total = 0
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """Bytes handed to sockets so far."""
        with self._lock:
            return self._total

    def send(self, to: socket.socket, data: bytes | memoryview) -> None:
        """All of it. Errors of the socket come through, after what went out was counted."""
        if isinstance(to, ssl.SSLSocket):  # knows no MSG_DONTWAIT
            with self._lock:
                to.sendall(data)
                self._total += len(data)
            return
        rest = memoryview(data)
        while rest:
            rest = rest[self._step(to, partial(to.send, rest, socket.MSG_DONTWAIT)) :]

    def send_file(self, to: socket.socket, file: IO[bytes], start: int, end: int) -> None:
        """A span of a file, by the kernel. `ConnectionAbortedError` where the file has become shorter."""
        before = to.gettimeout()
        to.settimeout(
            _PATIENCE
        )  # a socket with a timeout does not block below Python, so `sendfile` returns when it is full
        try:
            while start < end:
                count = self._step(to, partial(os.sendfile, to.fileno(), file.fileno(), start, end - start))
                if count == 0:
                    raise ConnectionAbortedError
                start += count
        finally:
            to.settimeout(before)

    def _step(self, to: socket.socket, hand_over: Callable[[], int]) -> int:
        while True:
            with self._lock:
                try:
                    count = hand_over()
                except BlockingIOError:
                    pass
                else:
                    self._total += count
                    return count
            waiting = select.poll()  # `select` ends at descriptor 1023
            waiting.register(to, select.POLLOUT)
            waiting.poll(_PATIENCE * 1000)
