"""How log lines look."""

import logging
import sys

import pytest

from blazar.adapters.telemetry.lines import Access, Line, access_text, clean, line_text, stamp, traceback_text
from tests.fakes.telemetry import a_served

AT = 1_800_000_000.25


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (AT, "2027-01-15T08:00:00.250Z"),
        (1.9999999, "1970-01-01T00:00:02.000Z"),
        (1.9994, "1970-01-01T00:00:01.999Z"),
    ],
)
def test_a_stamp_is_utc_with_milliseconds(at, text):
    """A fraction that rounds up carries into the second."""
    assert stamp(at) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ä 漢", "plain text, ä 漢"),
        ("a\nb", "a\\x0ab"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\x85b\u2028c", "a\\x85b\\x2028c"),
        ("", ""),
    ],
)
def test_controls_cannot_forge_a_line(text, shown):
    """Newlines of every kind and escape sequences are spelled out."""
    assert clean(text) == shown
    assert len(clean(text).splitlines()) <= 1


def test_a_line_is_time_level_logger_message():
    """The message on one line."""
    line = Line(AT, logging.WARNING, "blazar.x", "two\nlines", None)
    assert line_text(line) == "2027-01-15T08:00:00.250Z WARNING blazar.x two\\x0alines"


def test_an_access_line_leaves_out_what_is_not_known():
    """And the query: clients put secrets there (case J12)."""
    bare = a_served(model="", dialect="", key="", queue_seconds=0.0, stream=False, completion_tokens=0, path="/a?key=x")
    assert access_text(Access(AT, bare)) == (
        "2027-01-15T08:00:00.250Z INFO blazar.access POST /a 200 250.0ms peer=127.0.0.1 trace=plm-0011-1"
    )


def test_an_access_line_with_everything():
    """In this order."""
    text = access_text(Access(AT, a_served()))
    assert [word.partition("=")[0] for word in text.split()[5:]] == [
        "200", "250.0ms", "model", "dialect", "key", "queue", "first", "tokens", "peer", "trace",
    ]  # fmt: skip


def test_long_paths_and_names_are_cut():
    """A client must not be able to fill the disk by the kilobyte."""
    served = a_served(path="/" + "x" * 60_000, model="m" * 60_000)
    assert len(access_text(Access(AT, served))) < 1_000


def test_a_traceback_is_indented():
    """No line of it passes for a log line; without one there is nothing."""
    try:
        int("2027-01-15 INFO forged\n2027-01-15 INFO forged")
    except ValueError:
        text = traceback_text(sys.exc_info())
    assert all(row.startswith("  ") for row in text.splitlines())
    assert text.endswith("\n")
    assert traceback_text(None) == traceback_text((None, None, None)) == ""
