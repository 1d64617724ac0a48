"""The end of a log."""

import io

from blazar.domain.tails import LONGEST_LINE, last_lines, tail


def test_the_last_bytes_as_text() -> None:
    """Of a short file all of it; a character that is cut through does no harm."""
    assert tail(io.BytesIO(b""), 4) == ""
    assert tail(io.BytesIO(b"abc"), 4) == "abc"
    assert tail(io.BytesIO("aé".encode()), 1) == "\ufffd"
    assert tail(io.BytesIO(b"0123456789"), 4) == "6789"


def test_the_last_lines_that_say_something() -> None:
    """Oldest first, without blank ones, each of a length that fits an error message."""
    text = "one\n\n  two  \r\n" + "x" * 1000 + "\n\n"
    assert last_lines(text, 2) == ["two", "x" * LONGEST_LINE]
    assert last_lines(text, 9)[0] == "one"
    assert last_lines(text, 0) == []
    assert last_lines("", 3) == []


def test_what_steers_a_terminal_is_left_out() -> None:
    """Colours and bars of progress, window titles, bells, both bytes of C1: what is left is what was said."""
    text = "\x1b[31merror:\x1b[0m no\x1b[K\n|=> | 9/60\x1b[K\r\x1b]0;title\x07ti\x9btle\x1b]8;;x\x1b\\\n\x1b[K\n"
    assert last_lines(text, 9) == ["error: no", "|=> | 9/60", "title"]
