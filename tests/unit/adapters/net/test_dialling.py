"""Dials that nobody waits for any more. They stand still until a test says what comes of them; nothing outside is dialled."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError

import httpcore
import pytest

from blazar.adapters.net import dialling
from blazar.adapters.net.dialling import Dialler, Raised, Time
from blazar.domain.errors import Busy

SOON = 10.0


class Dial:
    """Takes the place of the library's: `begun` says that it stands still, `end` that it goes on."""

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.stream = Stream()

    def __call__(self, place: str, port: int, secs: float | None, *rest: object) -> httpcore.NetworkStream:
        self.begun.set()
        assert self.end.wait(SOON)
        return self.stream


class Stream(httpcore.NetworkStream):
    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Stop:
    """`check` of a cutoff: raises once somebody stopped."""

    def __init__(self, until: Callable[[], bool]) -> None:
        self._until = until

    def __call__(self) -> None:
        if self._until():
            raise Busy("stopped")


@pytest.fixture
def dial(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dial]:
    standing = Dial()
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", lambda _, *given: standing(*given))
    yield standing
    standing.end.set()


def test_a_stop_is_heard_while_it_dials(dial: Dial) -> None:
    """At once; what the dial brings later is closed by its thread."""
    with pytest.raises(Busy, match="stopped"):
        Dialler(Stop(dial.begun.is_set)).connect_tcp("hub.example", 443, 60.0)
    assert not dial.stream.closed.is_set()
    dial.end.set()
    assert dial.stream.closed.wait(SOON)


def test_a_dial_that_outlasts_its_time_is_left(dial: Dial) -> None:
    """Also where the system's resolver hears of no time."""
    with pytest.raises(httpcore.ConnectTimeout):
        Dialler(lambda: None).connect_tcp("hub.example", 443, 0.01)
    dial.end.set()
    assert dial.stream.closed.wait(SOON)


@pytest.mark.parametrize("secs", [None, 60.0])
def test_what_comes_of_it_is_whoever_waits_s(dial: Dial, secs: float | None) -> None:
    """The connection, left open; or what was raised."""
    dial.end.set()
    backend = Dialler(lambda: None)
    assert backend.connect_tcp("hub.example", 443, secs) is dial.stream
    assert not dial.stream.closed.is_set()


def test_what_a_dial_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without a thread."""
    with socket.socket() as held:  # bound and not listening: nobody else gets the port meanwhile
        held.bind(("127.0.0.1", 0))
        with pytest.raises(httpcore.ConnectError):
            Dialler(lambda: None).connect_tcp("127.0.0.1", held.getsockname()[1], SOON)


def test_one_that_comes_in_the_last_moment_is_closed(dial: Dial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the stop and its being told."""
    dial.end.set()
    backend = Dialler(lambda: None)

    def stopped(future: Future[httpcore.NetworkStream], span: Time) -> None:
        future.result(SOON)
        raise Busy("stopped")

    monkeypatch.setattr(backend, "_wait", stopped)
    with pytest.raises(Busy):
        backend.connect_tcp("hub.example", 443, 60.0)
    assert dial.stream.closed.is_set()


def test_several_addresses_share_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its part of what is left, a second at least; none is begun when it is over, or nobody waits."""
    now = [100.0]
    monkeypatch.setattr(dialling.time, "monotonic", lambda: now[0])
    span = Time(10.0)
    assert (span.share(3), span.share(0), span.share(99)) == (2.5, 10.0, 1.0)
    now[0] = 109.5
    assert (span.share(3), span.is_over) == (0.5, False)
    now[0] = 111.0
    assert (span.left, span.is_over) == (0.0, True)
    endless = Time(None)
    assert (endless.left, endless.share(3), endless.is_over) == (None, None, False)
    endless.gone.set()
    assert endless.is_over


def test_what_a_thread_raises_is_heard_where_it_is_waited_for() -> None:
    """And nowhere else: not on a terminal, where nobody waits any more."""
    future, left = Future[None](), Future[None]()
    with Raised(future):
        raise Busy("late")
    assert isinstance(future.exception(0), Busy)
    left.cancel()
    with Raised(left):
        raise InvalidStateError
    assert left.cancelled()
