"""Waiting for the running daemon."""

import os
from typing import Any

import pytest

from blazar.adapters.cli import following
from blazar.adapters.cli.following import Followed, follow
from blazar.adapters.files.daemonfiles import DaemonNote
from tests.support.command_line import FakeRoot, StubDaemon

CONFIG = ("GET", "/api/config")


@pytest.fixture
def shown(root: FakeRoot, stub: StubDaemon) -> dict[str, Any]:
    """A daemon of this folder, and what it answers."""
    pid = os.getpid()
    DaemonNote(root.places.run).write(stub.url, pid, root.processes.start_time(pid))
    root.use(stub)
    stub.answers[CONFIG] = (200, said := {"path": str(root.places.config_file), "behind": False})
    return said


def test_nobody_is_waited_for_where_none_runs(root: FakeRoot) -> None:
    """There is nothing to say."""
    assert follow(root) == Followed()


def test_it_is_asked_until_it_has_read_the_file(
    root: FakeRoot, stub: StubDaemon, shown: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it answers then is what holds."""

    def read(_: float) -> None:
        shown["behind"] = False

    shown["behind"] = True
    monkeypatch.setattr(following.time, "sleep", read)
    assert follow(root) == Followed(there=True, shown=shown)
    assert len(stub.asked) == 2


def test_patience_ends(root: FakeRoot, shown: dict[str, Any]) -> None:
    """A verb is not held up by a daemon that never reads it."""
    shown["behind"] = True
    assert follow(root, patience=0) == Followed(there=True, shown=shown, late=True)


def test_a_daemon_that_does_not_tell_may_be_late(root: FakeRoot, stub: StubDaemon, shown: dict[str, Any]) -> None:
    """One of another file is not: it never reads this one."""
    stub.answers[CONFIG] = (500, {"error": "no"})
    assert follow(root) == Followed(there=True, late=True)
    stub.answers[CONFIG] = (200, shown | {"path": "/elsewhere", "behind": True})
    assert follow(root) == Followed(there=True)
