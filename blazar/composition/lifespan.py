"""Start in order, stop in reverse: the list of parts is the shutdown plan (habit 10)."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol


class Lifecycle(Protocol):
    """Something with a life. Everything else is built synchronously and has none."""

    async def start(self) -> None: ...

    async def aclose(self) -> None: ...


class Closing:
    """Something that only has an end."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close

    async def start(self) -> None:
        """It lives already."""

    async def aclose(self) -> None:
        self._close()


@asynccontextmanager
async def running(parts: Sequence[Lifecycle]) -> AsyncIterator[None]:
    """A start that fails unwinds what already ran, and its error is what the caller sees."""
    async with AsyncExitStack() as stack:
        for part in parts:
            await part.start()
            stack.push_async_callback(part.aclose)
        yield
