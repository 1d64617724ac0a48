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


class _Share:
    """What one thread has sent. No two of them wait for each other."""

    def __init__(self) -> None:
        self.sent = 0
        self.lock = threading.Lock()


class Outflow:
    """Bytes that went out by any number of threads.

    A count made after `sendall` returned is late: the reader may have everything and be done before the thread that
    sent gets to count. So each step hands bytes over and counts them under a lock, which no step holds while it waits.
    """

    def __init__(self) -> None:
        self._shares: list[_Share] = []
        self._own = threading.local()

    @property
    def total(self) -> int:
        """Bytes handed to sockets so far."""
        total = 0
        for share in list(self._shares):
            with share.lock:
                total += share.sent
        return total

    def send(self, to: socket.socket, data: bytes | memoryview) -> None:
        """All of it. Errors of the socket come through, after what went out was counted."""
        if isinstance(to, ssl.SSLSocket):  # knows no MSG_DONTWAIT
            share = self._share()
            with share.lock:
                to.sendall(data)
                share.sent += len(data)
            return
        rest = memoryview(data)
        while rest:
            rest = rest[self._step(to, partial(to.send, rest, socket.MSG_DONTWAIT)) :]

    def send_file(self, to: socket.socket, file: IO[bytes], start: int, end: int) -> None:
        """A span of a file, by the kernel. `ConnectionAbortedError` where the file has become shorter."""
        before = to.gettimeout()
        to.settimeout(_PATIENCE)  # below Python it does not block then, so `sendfile` returns when it is full
        try:
            while start < end:
                count = self._step(to, partial(os.sendfile, to.fileno(), file.fileno(), start, end - start))
                if count == 0:
                    raise ConnectionAbortedError
                start += count
        finally:
            to.settimeout(before)

    def _share(self) -> _Share:
        share: _Share | None = getattr(self._own, "share", None)
        if share is None:
            share = self._own.share = _Share()
            self._shares.append(share)
        return share

    def _step(self, to: socket.socket, hand_over: Callable[[], int]) -> int:
        share = self._share()
        while True:
            with share.lock:
                try:
                    count = hand_over()
                except BlockingIOError:
                    pass
                else:
                    share.sent += count
                    return count
            waiting = select.poll()  # `select` ends at descriptor 1023
            waiting.register(to, select.POLLOUT)
            waiting.poll(_PATIENCE * 1000)
