"""How far a download is, for people and for logs."""

import argparse
import io

import pytest

from blazar.adapters.cli.progress import LONGEST, Bar, Lines, aside, downloading, redrawn


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def words(**changes: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"json": False, "quiet": False, **changes})


def test_a_pipe_gets_a_line_for_every_tenth() -> None:
    """Not one for every block, and none twice."""
    out = io.StringIO()
    with downloading(words(), out) as told:
        for done in range(1001):
            told("f.zip", done << 20, 1000 << 20)
    lines = out.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[5] == "downloading f.zip: 500.0 MiB of 1000.0 MiB (50 %)"


def test_a_size_that_is_not_known() -> None:
    """One line that it began."""
    out = io.StringIO()
    Lines(out).tell("f.zip", 1 << 20, 0)
    assert out.getvalue() == "downloading f.zip: 1.0 MiB\n"


@pytest.mark.parametrize("quiet", ["json", "quiet"])
def test_nobody_who_wants_no_words_gets_any(quiet: str) -> None:
    """Neither a line nor a bar."""
    out = Terminal()
    with downloading(words(**{quiet: True}), out) as told:
        told("f.zip", 1, 2)
    aside(words(**{quiet: True}), "comparing", out)
    assert out.getvalue() == ""


def test_a_terminal_gets_one_line_that_is_wiped() -> None:
    """Drawn in place, and gone afterwards."""
    out = Terminal()
    with downloading(words(), out) as told:
        told("f.zip", 1 << 20, 4 << 20)
        told("f.zip", 4 << 20, 4 << 20)
    text = out.getvalue()
    assert "\n" not in text
    assert "4.0 MiB of 4.0 MiB" in text
    assert text.endswith("\r\x1b[K")


def test_speed_and_what_is_left() -> None:
    """Of what came since this run began: a resumed download is not that fast. Seldom enough to be read."""
    moments = iter([10.0, 10.05, 12.0, 12.0])
    out = Terminal()
    bar = Bar(out, lambda: next(moments))
    bar.tell("f.zip", 50 << 20, 100 << 20)
    drawn = out.getvalue()
    bar.tell("f.zip", 51 << 20, 100 << 20)
    assert out.getvalue() == drawn
    bar.tell("f.zip", 70 << 20, 100 << 20)
    assert "10.0 MiB/s  3s" in out.getvalue()


def test_names_cannot_drive_the_terminal() -> None:
    """They come from a feed."""
    out = io.StringIO()
    Lines(out).tell("f\x1b[2J.zip", 1, 1)
    aside(words(), "x\x1b[2J", out)
    assert "\x1b" not in out.getvalue()


def test_a_line_between_bars() -> None:
    """On a terminal it takes the bar's place."""
    out = Terminal()
    aside(words(), "comparing", out)
    assert out.getvalue() == "\r\x1b[Kcomparing\n"


def test_a_line_that_is_drawn_anew_is_gone_afterwards() -> None:
    """On a terminal it is cut, so that it does not wrap; piped it is a line like any other; with --quiet it is nothing."""
    terminal, pipe, silence = Terminal(), io.StringIO(), io.StringIO()
    for stream, quiet in ((terminal, False), (pipe, False), (silence, True)):
        with redrawn(words(quiet=quiet), stream) as say:
            say("a" * (LONGEST + 1))
    assert "a" * (LONGEST + 1) not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert pipe.getvalue() == "a" * (LONGEST + 1) + "\n"
    assert silence.getvalue() == ""
