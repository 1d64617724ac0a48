"""Dials in a thread of its own, so that a stop is heard meanwhile and one time holds for all that a name stands for. Judges no address.

The library's dial hears nothing until it ends, nor does the system's resolver; whoever stops waiting leaves both to themselves.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from threading import Event, Thread
from typing import Any

import httpcore

STEP_SECS = 0.05
"""How often a stop is looked for: a client that leaves frees its place at once."""
LEAST_SECS = 1.0
"""For each of several addresses: a lost first packet is sent again after a second."""

Options = Iterable[httpcore.SOCKET_OPTION]
Dial = Callable[[str, int, float | None], httpcore.NetworkStream]
"""To a host's port, within seconds."""


class Raised:
    """Takes whatever is raised inside to where it is waited for: in a thread nobody would hear it but a terminal, as a traceback."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is not None:
            with suppress(InvalidStateError):  # nobody waits for it any more
                self._future.set_exception(error)
        return True


class Time:
    """What is left of one dial's time, for all of its addresses together; none once nobody waits."""

    def __init__(self, secs: float | None) -> None:
        self._until = None if secs is None else time.monotonic() + secs
        self.gone = Event()

    @property
    def left(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.gone.is_set() or self.left == 0.0

    def share(self, others: int) -> float | None:
        """For one address with so many behind it, which shall have their turn."""
        left = self.left
        return None if left is None else min(left, max(LEAST_SECS, left / (others + 1)))


class Dialler(httpcore.NetworkBackend):
    """The library's, that ends as soon as `check` raises why. Subclasses say what is dialled in `dialled`."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._net = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Options | None = None,
    ) -> httpcore.NetworkStream:
        def dial(place: str, at: int, secs: float | None) -> httpcore.NetworkStream:
            return self._net.connect_tcp(place, at, secs, local_address, socket_options)

        span = Time(timeout)
        future: Future[httpcore.NetworkStream] = Future()

        def body() -> None:
            with Raised(future):
                stream = self.dialled(host, port, dial, span)
                try:
                    future.set_result(stream)
                except InvalidStateError:
                    stream.close()

        Thread(target=body, name="dial", daemon=True).start()
        ended = False
        try:
            self._wait(future, span)
            ended = True
        finally:
            span.gone.set()
            if not ended and not future.cancel() and future.exception() is None:  # it came in the last moment
                future.result().close()
        return future.result()

    def dialled(self, host: str, port: int, dial: Dial, span: Time) -> httpcore.NetworkStream:
        """The connection, in the dial's thread. Whoever has several addresses asks `span` before each."""
        return dial(host, port, span.left)

    def _wait(self, future: Future[httpcore.NetworkStream], span: Time) -> None:
        while not future.done():
            self._check()
            left = span.left
            if left == 0.0:
                raise httpcore.ConnectTimeout("timed out")
            wait([future], STEP_SECS if left is None else min(STEP_SECS, left))
