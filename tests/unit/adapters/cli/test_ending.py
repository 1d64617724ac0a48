"""An order to end while something is on its way."""

import os
import signal
import threading

import pytest

from blazar.adapters.cli.ending import Terminated, terminable


def test_an_order_to_end_is_raised_within_and_the_system_s_behind() -> None:
    """As Ctrl-C, and told apart from it."""

    def ended() -> None:
        with terminable():
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(5)

    with pytest.raises(Terminated) as caught:
        ended()
    assert isinstance(caught.value, KeyboardInterrupt)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_who_hears_of_it_already_goes_on_to() -> None:
    """Nobody's handler is replaced."""
    heard: list[int] = []

    def hear(number: int, _: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, hear)
    try:
        with terminable():
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is hear
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_outside_the_main_thread_nothing_changes() -> None:
    """No other thread may hear signals."""
    seen: list[object] = []

    def look() -> None:
        with terminable():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
