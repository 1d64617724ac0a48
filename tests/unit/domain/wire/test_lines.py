"""Bytes into lines."""

import pytest

from blazar.domain.wire.lines import LineSplitter

TEXT = "a\nbé\r\n\r\n\rc\r\rd🙂".encode()
LINES = ["a", "bé", "", "", "c", "", "d🙂"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_all_three_line_ends_at_any_slice(size: int) -> None:
    r"""`\n`, `\r\n` and a lone `\r` end a line, wherever the bytes were cut."""
    splitter = LineSplitter()
    lines = [line for at in range(0, len(TEXT), size) for line in splitter.feed(TEXT[at : at + size])]
    assert [line.decode() for line in lines + splitter.flush()] == LINES


def test_nothing_is_left_after_a_whole_line() -> None:
    """`idle` says whether bytes wait for their line end."""
    splitter = LineSplitter()
    assert splitter.idle
    assert splitter.feed(b"a") == []
    assert not splitter.idle
    assert splitter.feed(b"\n") == [b"a"]
    assert splitter.idle
    assert splitter.flush() == []


def test_an_empty_slice_changes_nothing() -> None:
    """A read of nothing between carriage return and newline does not make a line of them."""
    splitter = LineSplitter()
    assert splitter.feed(b"a\r") == [b"a"]
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\n") == []
    assert splitter.feed(b"b\n") == [b"b"]


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_line_above_the_bound_ends_the_reading(size: int) -> None:
    """The lines before it come, nothing after, and nothing is held: the same for every slicing."""
    data = b"ok\n" + b"x" * 10 + b"\n" + b"y" * 11 + b"\nlater\n"
    splitter = LineSplitter(limit=10)
    lines = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    assert lines == [b"ok", b"x" * 10]
    assert splitter.overflowed
    assert splitter.flush() == []


def test_an_endless_line_is_not_kept() -> None:
    """Without a line end the bound holds too."""
    splitter = LineSplitter(limit=10)
    for _ in range(5):
        assert splitter.feed(b"xxxx") == []
    assert splitter.overflowed
    assert splitter.flush() == []
