"""The watch verb: what is drawn, what is told line by line, and how it ends."""

import io
import json
import threading
from typing import Any

import pytest

from blazar.adapters.cli.verbs import watch as watching
from blazar.adapters.cli.verbs.watch import EVENTS, Board, Lines, Watching, board, line_of
from tests.support.command_line import Cli, FakeRoot, StubDaemon

ROW: dict[str, Any] = {
    "key": "tiny",
    "state": "serving",
    "in_flight": 1,
    "slots": 2,
    "waiting": 3,
    "queued": [
        {"priority": "high", "work": "tool", "waiting": 1},
        {"priority": "low", "work": "raw_long", "waiting": 2},
    ],
    "tokens_per_second": 28.123,
    "cache_hint": 0.5,
    "measured": 2**30,
    "until_seconds": 75,
}
EVENT = {"at": "2027-01-15T08:00:00.123456Z", "kind": "evicted", "model": "tiny", "cause": "idle", "why": ""}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_board_has_children_and_events():
    """As many of the newest events as there is room for; a small terminal gets the children."""
    head, row, blank, *events = board([ROW], [f"event {number}" for number in range(50)], "", 6)
    assert head.split() == ["NAME", "STATE", "BUSY", "SLOTS", "QUEUE", "TOK/S", "HIT", "MEASURED", "UNTIL"]
    assert " ".join(row.split()) == "tiny serving 1 2 3 (1 high tool, 2 low raw_long) 28.1 50% 1.00 GiB 1m 15s"
    assert (blank, events) == ("", ["event 47", "event 48", "event 49"])
    assert len(board([ROW] * 50, ["event"], "", 6)) == 6
    assert len(board([], [], "", 6)) == 1
    assert board([ROW], [], "trouble\x1b[31m", 6) == ["trouble?[31m"]


def test_it_is_drawn_over_what_was_drawn():
    """As many lines up as it had, and none is wider than the terminal."""
    stream = Terminal()
    view = Board(stream, lambda: (30, 8))
    view.show([ROW])
    stream.truncate(0)
    view.tell(EVENT)
    text = stream.getvalue()
    assert "\x1b[2A" in text
    assert "08:00:00 evicted model=tiny" in text
    view.lost("http://there")
    assert "the daemon at http://there" in stream.getvalue()


def test_lines_are_for_what_changed():
    """Events as they come; a child again when its figures are others, not because time goes by."""
    stream = io.StringIO()
    view = Lines(stream, as_json=False)
    view.show([ROW])
    view.show([{**ROW, "until_seconds": 74}])
    view.tell(EVENT)
    view.show([{**ROW, "in_flight": 2}])
    view.lost("http://there")
    view.lost("http://there")
    first, event, second, lost = stream.getvalue().splitlines()
    assert first == "tiny  serving busy=1 slots=2 queue=3 (1 high tool, 2 low raw_long) tok/s=28.1"
    assert event == "08:00:00 evicted model=tiny cause=idle"
    assert "busy=2" in second
    assert "http://there" in lost


def test_json_is_an_object_a_line():
    """Each says what it is."""
    stream = io.StringIO()
    view = Lines(stream, as_json=True)
    view.show([ROW])
    view.tell(EVENT)
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [row["type"] for row in rows] == ["child", "event"]
    assert (rows[0]["key"], rows[1]["cause"]) == ("tiny", "idle")


def test_what_was_missed_is_said():
    """A reader that is too slow learns how much it lost."""
    assert line_of({"kind": "dropped", "count": 12}) == "12 events were missed"


def test_an_event_is_a_line_of_short_words():
    """Numbers without their tail, lists without brackets, nothing for what is empty."""
    event = {"at": "2027-01-15T08:00:00Z", "kind": "serving", "seconds": 0.74793528, "why": "", "keys": ["a", "b"]}
    assert line_of(event) == "08:00:00 serving seconds=0.748 keys=a; b"


def test_a_second_of_watching(root: FakeRoot, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch):
    """Look, then hear; a daemon that is gone is waited for."""
    monkeypatch.setattr(watching, "EVERY_SECS", 0.3)
    root.use(stub)
    hold = threading.Event()
    stub.answers["GET", "/api/ps"] = (200, {"models": [ROW]})
    told = f"data: {json.dumps(EVENT)}\n\n".encode()
    stub.answers["GET", EVENTS] = (200, [told, lambda: hold.wait(60)])
    stream = io.StringIO()
    one = Watching(root, Lines(stream, as_json=True))
    try:
        while "event" not in stream.getvalue():
            one.step()
        stub.answers["GET", "/api/ps"] = (503, {"error": {"message": "starting"}})
        one.step()
    finally:
        hold.set()
        one.close()
    assert [json.loads(line)["type"] for line in stream.getvalue().splitlines()] == ["child", "event", "lost"]


def test_ctrl_c_is_130(cli: Cli, root: FakeRoot, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch):
    """And nothing is left behind."""
    root.use(stub)
    stub.answers["GET", "/api/ps"] = (200, {"models": []})
    stub.answers["GET", EVENTS] = (200, [b": \n\n"])

    def interrupted(_: Watching) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Watching, "step", interrupted)
    before = set(threading.enumerate())
    assert cli("watch").code == 130
    for thread in set(threading.enumerate()) - before:
        if thread.name == "events":
            thread.join(30)
            assert not thread.is_alive()


def test_who_is_not_there_or_refuses_says_so_at_once(cli: Cli, root: FakeRoot, stub: StubDaemon):
    """Exit 4 where nobody answers, 1 with the daemon's sentence."""
    assert cli("watch").code == 4
    root.use(stub)
    stub.answers["GET", "/api/ps"] = (200, {"models": []})
    stub.answers["GET", EVENTS] = (403, {"error": {"message": "only for managers"}})
    said = cli("watch")
    assert (said.code, said.err) == (1, "error: only for managers\n")
