"""Time. The only way the application learns what time it is or asks to be woken."""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A pending call that may be taken back."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Seconds as floats. `now` is monotonic and only good for differences, `wall` is Unix time."""

    def now(self) -> float: ...

    def wall(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer: ...

    async def sleep(self, delay: float) -> None: ...
