"""A sink that remembers, and lets a test await what it waits for."""

import asyncio
from collections.abc import Callable

from blazar.application.ports.upstream import Headers, Sink
from blazar.domain.errors import Fault

WATCHDOG = 20.0


class Recorder(Sink):
    """Every call in order, as tuples: ("head", status), ("body", data), ("end",), ("fault", type)."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.status = 0
        self.headers: Headers = ()
        self.body = b""
        self.fault: Fault | None = None
        self.over = False
        self._news = asyncio.Event()

    def on_head(self, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers
        self._note("head", status)

    def on_body(self, data: bytes) -> None:
        self.body += data
        self._note("body", data)

    def on_end(self) -> None:
        self.over = True
        self._note("end")

    def on_fault(self, fault: Fault) -> None:
        self.fault, self.over = fault, True
        self._note("fault", type(fault))

    def _note(self, *call: object) -> None:
        self.calls.append(call)
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once the condition holds; it is looked at after every call."""
        async with asyncio.timeout(WATCHDOG):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def done(self) -> None:
        """Return at the end or the fault."""
        await self.until(lambda: self.over)
