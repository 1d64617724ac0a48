"""An order to end (SIGTERM) while something is on its way ends it as Ctrl-C does: with a sentence that says what is left. Elsewhere it is the system's.

For stretches of a verb only: what catches Ctrl-C to go on (`repl`) would go on here, too.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """Raised where the main thread is. The words, if any, are the last of the verb."""


@contextmanager
def terminable() -> Iterator[None]:
    """Until its end SIGTERM raises `Terminated`; nothing changes outside the main thread, and where somebody else wants to hear of it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(*_: object) -> None:
    raise Terminated
