"""Hearing a daemon's events, also those of the next one."""

import threading
from typing import Any

import pytest

from blazar.adapters.cli import hearing
from blazar.adapters.cli.client import DaemonClient, DaemonRefused
from blazar.adapters.cli.hearing import Ear, told
from tests.support.command_line import StubDaemon

PATH = "/api/events?scrub=true"


def event(number: int, kind: str) -> bytes:
    return f'id: {number}\nevent: {kind}\ndata: {{"kind":"{kind}"}}\n\n'.encode()


@pytest.fixture
def stub():
    daemon = StubDaemon()
    yield daemon
    daemon.close()


def test_events_are_read_out_of_their_stream():
    """With their numbers; comments, other fields and broken data are passed over, several lines of data are one."""
    lines = b': \nid: 7\nevent: a\ndata: {"kind":\ndata: "a"}\n\ndata: junk\n\nretry: 5\n\nid: x\ndata: {"kind":"b"}\r\n\r\n'
    assert list(told(iter(lines.splitlines(keepends=True)))) == [("7", {"kind": "a"}), ("", {"kind": "b"})]


def test_a_daemon_that_comes_back_is_heard_again(stub: StubDaemon, monkeypatch: pytest.MonkeyPatch):
    """Behind the last number that was heard; that nobody was there is told in between."""
    monkeypatch.setattr(hearing, "AGAIN_SECS", 0.01)
    hold = threading.Event()
    stub.answers["GET", PATH] = (200, [b": \n\n", event(3, "loading")])
    stub.answers["GET", f"{PATH}&after=3"] = (200, [event(4, "serving"), lambda: hold.wait(60)])
    ear = Ear(lambda: DaemonClient(stub.url), PATH)
    heard: list[Any] = [ear.heard.get(timeout=60) for _ in range(5)]
    ear.close()
    hold.set()
    assert [one.up for one in heard] == [True, None, False, True, None]
    assert [one.event["kind"] for one in heard if one.event] == ["loading", "serving"]


def test_who_is_cut_off_before_the_first_event_misses_none(stub: StubDaemon, monkeypatch: pytest.MonkeyPatch):
    """The stream begins with the number of the last event before it."""
    monkeypatch.setattr(hearing, "AGAIN_SECS", 0.01)
    hold = threading.Event()
    stub.answers["GET", PATH] = (200, [b": \n\nid: 6\n\n"])
    stub.answers["GET", f"{PATH}&after=6"] = (200, [event(7, "serving"), lambda: hold.wait(60)])
    ear = Ear(lambda: DaemonClient(stub.url), PATH)
    heard: list[Any] = [ear.heard.get(timeout=60) for _ in range(4)]
    ear.close()
    hold.set()
    assert [one.event["kind"] for one in heard if one.event] == ["serving"]


def test_a_daemon_that_refuses_is_the_end(stub: StubDaemon):
    """Trying again would change nothing."""
    stub.answers["GET", PATH] = (403, {"error": {"message": "no"}})
    ear = Ear(lambda: DaemonClient(stub.url), PATH)
    heard = ear.heard.get(timeout=60)
    ear.close()
    assert isinstance(heard.error, DaemonRefused)


def test_leaving_does_not_wait_for_the_next_event(stub: StubDaemon):
    """The connection is cut under the one that reads."""
    hold = threading.Event()
    stub.answers["GET", PATH] = (200, [b": \n\n", lambda: hold.wait(60)])
    ear = Ear(lambda: DaemonClient(stub.url), PATH)
    assert ear.heard.get(timeout=60).up
    ear.close()
    ear._thread.join(30)  # a fraction of what the daemon is silent for
    assert not ear._thread.is_alive()
    hold.set()
