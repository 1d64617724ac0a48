"""How far a pull is, for people and for logs."""

import argparse
import io
from threading import Event
from typing import Any

import pytest

from blazar.adapters.cli import pull_view as module
from blazar.adapters.cli.pull_view import Bars, Files, Lines, pulling, step_in
from blazar.application.models.pulling import Step

MIB = 1 << 20


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Time:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def words(**changes: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"json": False, "quiet": False, **changes})


def of(done: int, total: int = 100, name: str = "m.gguf") -> Step:
    return Step("pulling aa", f"sha256:{name}", total * MIB, done * MIB, name)


def test_a_daemon_s_line_is_a_step() -> None:
    """What it says beyond that, or wrongly, is not said."""
    line: dict[str, Any] = {"status": "pulling aa", "digest": "d", "total": 5, "completed": True, "file": 3, "x": 1}
    assert step_in(line) == Step("pulling aa", "d", 5)
    assert step_in({}) == Step("")


def test_a_log_gets_each_status_once_and_progress_every_few_seconds() -> None:
    """And a line when a file is there. No bar, no escape."""
    out, time = io.StringIO(), Time()
    with pulling(words(), out, time) as view:
        for said in (Step("pulling manifest"), Step("pulling manifest"), of(0)):
            view.tell(said)
        for done in range(1, 100):
            time.at = done / 10
            view.tell(of(done))
        view.tell(of(100))
        view.tell(of(100))
        view.tell(Step("verifying sha256 digest", note="one thing"))
        view.tell(Step("success"))
    assert out.getvalue().splitlines() == [
        "pulling manifest",
        "m.gguf: 0.0 MiB of 100.0 MiB",
        "m.gguf: 50.0 MiB of 100.0 MiB, 10.0 MiB/s, 5s",
        "m.gguf: 100.0 MiB",
        "note: one thing",
        "verifying sha256 digest",
    ]


@pytest.mark.parametrize("quiet", ["json", "quiet"])
def test_nobody_who_wants_no_words_gets_any(quiet: str) -> None:
    """Neither a line nor a bar."""
    out = Terminal()
    with pulling(words(**{quiet: True}), out) as view:
        view.tell(Step("pulling manifest", note="n"))
        view.tell(of(1))
    assert out.getvalue() == ""


def test_a_terminal_gets_a_line_for_the_file_and_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn in place, with rate and time; gone afterwards."""
    monkeypatch.setenv("COLUMNS", "80")
    out, time = Terminal(), Time()
    with pulling(words(), out, time) as view:
        view.tell(Step("pulling manifest"))
        view.tell(of(0, name="a.gguf"))
        view.tell(of(0, 300, name="b.gguf"))
        time.at = 1.0
        view.tell(of(50, name="a.gguf"))
        drawn = out.getvalue()
        view.tell(of(51, name="a.gguf"))
        assert out.getvalue() == drawn  # seldom enough to be read
        view.tell(of(100, name="a.gguf"))
    text = out.getvalue()
    first, whole = drawn.rpartition("\x1b[K")[2].split("\n")
    assert first.startswith("a.gguf  █")
    assert first.endswith("50.0 MiB of 100.0 MiB  50.0 MiB/s  1s")
    assert whole.startswith("0 of 2 files  █")
    assert whole.endswith("50.0 MiB of 400.0 MiB  50.0 MiB/s  7s")
    assert "1 of 2 files" in text
    assert text.endswith("\r\x1b[K\x1b[1A\x1b[K")


def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that wrapped could not be wiped."""
    for columns in (10, 30, 60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = Terminal()
        monkeypatch.setenv("NO_COLOR", "1")
        Bars(out, Time()).tell(of(50, name="a-rather-long-name-of-a-file-of-a-model-00001-of-00002.gguf"))
        assert len(out.getvalue()) < columns


def test_notes_stay_on_the_screen() -> None:
    """Above what is drawn anew."""
    out = Terminal()
    view = Bars(out, Time())
    view.tell(of(1))
    view.tell(Step("pulling manifest", note="one thing"))
    assert "\r\x1b[Knote: one thing\n" in out.getvalue()


def test_what_was_there_already_counts_for_no_speed() -> None:
    """Files that are told for the first time were not fetched so far."""
    time = Time()
    files = Files(time)
    files.tell(of(50))
    time.at = 1.0
    files.tell(of(90, name="b"))
    time.at = 2.0
    files.tell(of(60))
    assert "5." in files.figures(of(60))
    assert files.figures(Step("", "", 0, 5 * MIB)).startswith("5.0 MiB")
    assert files.whole.completed == 150 * MIB


def test_names_cannot_drive_the_terminal() -> None:
    """They come from a registry."""
    out = io.StringIO()
    view = Lines(out, Time())
    view.tell(of(1, name="f\x1b[2J.gguf"))
    view.tell(Step("x\x1b[2J", note="y\x1b[2J"))
    assert "\x1b" not in out.getvalue()
    shown = Terminal()
    bars = Bars(shown, Time())
    bars.tell(of(1, name="f\x1b[2J.gguf"))
    bars.tell(Step("x\x1b[2J", note="y\x1b[2J"))
    assert "\x1b[2J" not in shown.getvalue()


@pytest.mark.parametrize("out", [io.StringIO(), Terminal()], ids=["log", "terminal"])
def test_a_note_is_shown_once(out: io.StringIO) -> None:
    """Daemons say their last line again while nothing happens; the verb tells at the end what was not shown."""
    with pulling(words(), out, Time()) as view:
        for _ in range(3):
            view.tell(Step("pulling manifest", note="one thing"))
    assert out.getvalue().count("one thing") == 1
    assert view.noted == {"one thing"}


@pytest.mark.parametrize("kind", [Lines, Bars])
def test_a_download_that_stalls_says_so(kind: type[Lines | Bars], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line every five seconds in a log, the figure on a terminal; until more comes, which is a speed again."""
    monkeypatch.setenv("COLUMNS", "80")
    out, time = io.StringIO(), Time()
    view = kind(out, time)
    view.tell(of(0))
    time.at = 1.0
    view.tell(of(10))
    for second in range(2, 14):
        time.at = float(second)
        view.tick()
    said = out.getvalue()
    assert "10.0 MiB of 100.0 MiB" in said
    assert "stalled for 10s" in said
    if kind is Lines:
        assert [line.rpartition(" ")[2] for line in said.splitlines()] == ["MiB", "5s", "10s"] or said.count(
            "stalled"
        ) == 2
    time.at = 20.0
    view.tell(of(20))
    time.at = 20.1
    view.tell(of(100))
    view.tick()
    view.tell(Step("verifying sha256 digest"))
    time.at = 90.0
    before = out.getvalue()
    view.tick()
    assert out.getvalue() == before


def test_time_passes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is told while nothing comes."""
    monkeypatch.setattr(module, "TICK_SECS", 0.01)
    out, time = io.StringIO(), Time()
    with pulling(words(), out, time) as view:
        view.tell(of(10))
        time.at = 30.0
        for _ in range(500):
            if "stalled for 30s" in out.getvalue():
                break
            Event().wait(0.02)
    assert out.getvalue().count("stalled for 30s") == 1


def test_the_last_step_is_the_verb_s_to_tell() -> None:
    """In a sentence that says what came."""
    for stream in (io.StringIO(), Terminal()):
        with pulling(words(), stream, Time()) as view:
            view.tell(Step("success"))
        assert stream.getvalue() == ""


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_wait_for_a_registry_is_shown_when_it_begins(kind: type[io.StringIO]) -> None:
    """In a log and on a terminal, where the status stays below it."""
    out = kind()
    with pulling(words(), out, Time()) as view:
        view.tell(Step("pulling manifest"))
        before = out.getvalue()
        view.tell(Step("pulling manifest", note="asking again in 7 s"))
        assert "note: asking again in 7 s\n" in out.getvalue()[len(before) :]
        assert ("pulling manifest" in out.getvalue()[len(before) :]) == (kind is Terminal)
