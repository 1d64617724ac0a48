"""How results look."""

import io

import pytest

from blazar.adapters.cli.render import (
    Column,
    Style,
    ago,
    clean,
    duration,
    facts,
    outline,
    safe_text,
    size,
    table,
)
from tests.support.command_line import Terminal


def test_a_table_aligns_and_leaves_no_trailing_blanks() -> None:
    """Text flush left, numbers flush right, two spaces between."""
    text = table((Column("NAME"), Column("N", right=True), Column("X")), [["a", "100", ""], ["long", "7", "y"]])
    assert text == "NAME    N  X\na     100\nlong    7  y"


def test_cells_cannot_drive_the_terminal() -> None:
    """Escape sequences in names become question marks."""
    assert clean("a\x1b[31mb\nc\x9b") == "a?[31mb?c?"
    assert "\x1b" not in table((Column("N"),), [["\x1b]0;title\x07"]])


def test_model_output_keeps_its_text_and_loses_its_escapes() -> None:
    """Newlines, tabs, joiners and no-break spaces are text; ESC and carriage returns are not."""
    assert safe_text("a\tb\nc\u00a0👩\u200d🚀\x1b[2J\r") == "a\tb\nc\u00a0👩\u200d🚀[2J"


def test_sizes_have_one_unit() -> None:
    """GiB everywhere (case B20)."""
    assert [size(n) for n in (0, 2**29, 2**30, 70 * 2**30)] == ["0.00 GiB", "0.50 GiB", "1.00 GiB", "70.00 GiB"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0.4, "0s"), (59.6, "1m"), (75, "1m 15s"), (3600, "1h"), (7500, "2h 5m"), (90000, "1d 1h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    """Rounded to whole seconds, never negative."""
    assert duration(seconds) == text


def test_never_is_a_dash() -> None:
    """A time that was not is shown as such."""
    assert ago(0) == "-"
    assert ago(100, now=160) == "1m ago"


def test_nested_answers_become_lines() -> None:
    """Objects are prefixed, word lists can be pasted into a shell, empty values are left out."""
    text = outline({"a_b": {"c": True, "d": None}, "argv": ["x", "y z"], "rows": [{"k": 1, "v": 0.5}], "none": []})
    assert text == "a b c  yes\nargv   x 'y z'\nrows   1  0.5"


def test_facts_of_nothing_are_nothing() -> None:
    """No rows, no text."""
    assert facts([]) == ""


@pytest.mark.parametrize(
    ("stream", "env", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_needs_a_terminal_and_consent(stream: io.StringIO, env: dict[str, str], coloured: bool) -> None:
    """NO_COLOR, a dumb terminal and a pipe are plain."""
    style = Style(stream, env)
    assert (style.bold("x") != "x") is coloured
    assert ("\x1b" in style.verdict("fail")) is coloured
    assert style.dim("") == ""


def test_a_closed_stream_is_no_terminal() -> None:
    """Asking does not raise."""
    stream = io.StringIO()
    stream.close()
    assert Style(stream, {}).on is False
