"""How far a pull is, for people and for logs."""

import argparse
import io
from typing import Any

import pytest

from blazar.adapters.cli.pull_view import Bars, Files, Lines, Said, pulling, sized

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


def of(done: int, total: int = 100, name: str = "m.gguf") -> Said:
    return Said("pulling aa", f"sha256:{name}", total * MIB, done * MIB, name)


def test_a_daemon_s_line_is_a_step() -> None:
    """What it says beyond that, or wrongly, is not said."""
    line: dict[str, Any] = {"status": "pulling aa", "digest": "d", "total": 5, "completed": True, "file": 3, "x": 1}
    assert Said.of(line) == Said("pulling aa", "d", 5)
    assert Said.of({}) == Said("")


def test_a_log_gets_each_status_once_and_progress_every_few_seconds() -> None:
    """And a line when a file is there. No bar, no escape."""
    out, time = io.StringIO(), Time()
    with pulling(words(), out, time) as view:
        for said in (Said("pulling manifest"), Said("pulling manifest"), of(0)):
            view.tell(said)
        for done in range(1, 100):
            time.at = done / 10
            view.tell(of(done))
        view.tell(of(100))
        view.tell(of(100))
        view.tell(Said("verifying sha256 digest", note="one thing"))
        view.tell(Said("success"))
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
        view.tell(Said("pulling manifest", note="n"))
        view.tell(of(1))
    assert out.getvalue() == ""


def test_a_terminal_gets_a_line_for_the_file_and_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn in place, with rate and time; gone afterwards."""
    monkeypatch.setenv("COLUMNS", "80")
    out, time = Terminal(), Time()
    with pulling(words(), out, time) as view:
        view.tell(Said("pulling manifest"))
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
    view.tell(Said("pulling manifest", note="one thing"))
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
    assert files.figures(Said("", "", 0, 5 * MIB)).startswith("5.0 MiB")
    assert files.whole.completed == 150 * MIB


def test_names_cannot_drive_the_terminal() -> None:
    """They come from a registry."""
    out = io.StringIO()
    view = Lines(out, Time())
    view.tell(of(1, name="f\x1b[2J.gguf"))
    view.tell(Said("x\x1b[2J", note="y\x1b[2J"))
    assert "\x1b" not in out.getvalue()
    shown = Terminal()
    bars = Bars(shown, Time())
    bars.tell(of(1, name="f\x1b[2J.gguf"))
    bars.tell(Said("x\x1b[2J", note="y\x1b[2J"))
    assert "\x1b[2J" not in shown.getvalue()


def test_sizes_of_one_line_have_one_unit() -> None:
    """That of the whole; models of less than a gibibyte in mebibytes."""
    assert [sized(MIB, 2 << 30), sized(3 << 30, 3 << 30), sized(MIB, 3 * MIB)] == ["0.00 GiB", "3.00 GiB", "1.0 MiB"]
    assert sized(2 << 30, 0) == "2.00 GiB"


def test_the_last_step_is_the_verb_s_to_tell() -> None:
    """In a sentence that says what came."""
    for stream in (io.StringIO(), Terminal()):
        with pulling(words(), stream, Time()) as view:
            view.tell(Said("success"))
        assert stream.getvalue() == ""
