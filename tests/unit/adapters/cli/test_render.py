"""How results look."""

import io
import re

import pytest

from blazar.adapters.cli.render import (
    Column,
    Style,
    ago,
    clean,
    duration,
    facts,
    moment,
    outline,
    safe_text,
    size,
    table,
)
from blazar.domain import teaching
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
    """GiB everywhere (case B20); a smaller one where that would read as next to nothing, and the same that sentences have."""
    sizes = (1, 5 << 20, 2**30 // 100, 25_270_682, 2**30 // 10, 2**29, 0)
    assert [size(n) for n in sizes] == [
        *("1 byte", "5.0 MiB", "10.2 MiB", "24.1 MiB", "0.10 GiB", "0.50 GiB", "0.00 GiB"),
    ]
    for count in sizes:
        for sentence in (teaching.pulled("m", count, "use it"), teaching.doctor_unlisted("/m", count)):
            assert size(count) in sentence
    assert [size(n) for n in (0, 2**29, 2**30, 70 * 2**30)] == ["0.00 GiB", "0.50 GiB", "1.00 GiB", "70.00 GiB"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0.4, "0s"), (59.6, "1m"), (75, "1m 15s"), (3600, "1h"), (7500, "2h 5m"), (90000, "1d 1h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    """Rounded to whole seconds, never negative."""
    assert duration(seconds) == text


def test_a_moment_is_a_date_and_a_time() -> None:
    """As this machine's clock shows it."""
    assert moment(0) == "-"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", moment(1.8e9))


def test_never_is_a_dash() -> None:
    """A time that was not is shown as such."""
    assert ago(0) == "-"
    assert ago(100, now=160) == "1m ago"


def test_nested_answers_become_lines() -> None:
    """Objects are prefixed, names are those of the JSON, empty values are left out."""
    text = outline({"a_b": {"c_d": True, "d": None}, "rows": [{"k": 1, "v": 0.5}], "none": [], "no": ()})
    assert text == "a_b c_d  yes\nrows     1  0.5"


def test_only_command_lines_are_quoted() -> None:
    """They are there to be pasted into a shell; sentences are there to be read, one below the other."""
    answer = {"argv": ["x", "y z"], "notes": ["it's slow", "it's old"], "tags": ["a", "b"], "langs": ("en",)}
    assert outline(answer, commands=("argv",)).splitlines() == [
        "argv   x 'y z'",
        "notes  it's slow",
        "       it's old",
        "tags   a, b",
        "langs  en",
    ]


def test_texts_of_several_lines_keep_them() -> None:
    """A chat template is no row of question marks; what drives a terminal is one still."""
    assert (
        outline({"template": "{% a %}\n\tb\x1b[0m\n", "n": 1}) == "template  {% a %}\n              b?[0m\nn         1"
    )


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


@pytest.mark.parametrize("turn", ["\u202e", "\u202a", "\u2066", "\u2069", "\u200f", "\u061c"])
def test_nothing_turns_the_text_round(turn: str) -> None:
    """A licence that reads backwards, a name that looks like another's; letters of such scripts stay."""
    assert clean(f"MIT{turn}abc") == "MIT?abc"
    assert clean("שלום") == "שלום"
