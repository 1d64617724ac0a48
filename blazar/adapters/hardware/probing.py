"""Asking hardware that may not answer: every probe in a thread of its own, for so long and no longer.

A driver that hangs holds its caller in a system call that nothing interrupts. Its thread is given up: a daemon thread, so
that the process can still end. Whatever a probe throws is a finding for `doctor`, never an error of the caller.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import Generic, TypeVar

from blazar.domain import teaching
from blazar.domain.records import Trouble

T = TypeVar("T")

ANSWER_SECS = 15.0
"""Without persistence mode NVIDIA's library wakes every card first, a second or two each; a healthy machine answers in milliseconds."""


class ProbeFailed(Exception):
    """What was asked gave no usable answer; the text says why."""


class NotHere(ProbeFailed):
    """What would be asked is not installed or not loaded: nothing is wrong."""


class _Asked(Generic[T]):
    """One question under way. A context manager around the probe, so that what it throws ends here and not in a traceback.

    `why` is what it threw, in words: made in the probe's own thread, since an error's text can throw or hang as well.
    """

    def __init__(self, probe: Callable[[], T]) -> None:
        self._probe = probe
        self.answers: list[T] = []
        self.error: BaseException | None = None
        self.why = ""
        self.thread = Thread(target=self._run, daemon=True, name="hardware-probe")
        self.thread.start()

    def _run(self) -> None:
        with self:
            self.answers.append(self._probe())

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.why = type(error).__name__
            with suppress(BaseException):
                self.why = str(error) if isinstance(error, ProbeFailed) else repr(error)
        self.error = error
        return isinstance(error, Exception)


class Probes:
    """Asks, and remembers who never answered: such a probe is not asked again before its thread has come back."""

    def __init__(self, seconds: float = ANSWER_SECS) -> None:
        self._seconds = seconds
        self._hanging: dict[str, Thread] = {}

    def ask(self, name: str, probe: Callable[[], T], otherwise: T, troubles: list[Trouble]) -> T:
        """What `probe` finds; else `otherwise`, and why it is that goes to `troubles`."""
        before = self._hanging.get(name)
        if before is not None and before.is_alive():
            troubles.append(Trouble(name, teaching.no_answer_within(self._seconds)))
            return otherwise
        self._hanging.pop(name, None)
        asked = _Asked(probe)
        asked.thread.join(self._seconds)
        if asked.answers:
            return asked.answers[0]
        if asked.error is None:
            self._hanging[name] = asked.thread
            why = teaching.no_answer_within(self._seconds)
        elif isinstance(asked.error, NotHere):
            return otherwise
        else:
            why = asked.why
        troubles.append(Trouble(name, why))
        return otherwise
