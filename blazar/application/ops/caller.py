"""Who waits for an answer that takes long, as far as those who make it need to know: they may be told to stop."""

from collections.abc import Callable

from blazar.domain.errors import BlazarError

Stop = Callable[[BlazarError], None]


class Caller:
    """Passed along with a call that blocks in a thread. What it blocks in is stopped when the caller leaves, from any thread."""

    def __init__(self) -> None:
        self._stop: Stop | None = None
        self._left: BlazarError | None = None

    def stopped_by(self, stop: Stop) -> None:
        """From now on `stop` ends it; at once where the caller has left already. The last one said counts."""
        self._stop = stop
        if self._left is not None:
            stop(self._left)

    def leave(self, why: BlazarError) -> None:
        """Nobody waits any more, and why. Whatever comes after is stopped too."""
        self._left = why
        if self._stop is not None:
            self._stop(why)
