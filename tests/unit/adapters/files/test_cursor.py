"""Buffered reading with bounds."""

import struct

import pytest

from blazar.adapters.files.cursor import CHUNK, Cursor
from blazar.domain.errors import BadModelFile
from tests.support.counted import CountedFile


def _cursor(data: bytes) -> tuple[Cursor, CountedFile]:
    file = CountedFile(data)
    return Cursor(file, len(data), "m.gguf"), file


def test_small_values_share_one_read() -> None:
    """A thousand numbers cost one system call."""
    cursor, file = _cursor(struct.pack("<1000Q", *range(1000)))
    assert [cursor.length() for _ in range(1000)] == list(range(1000))
    assert file.reads == 1
    assert cursor.remaining == 0


def test_a_value_across_two_reads_is_whole() -> None:
    """The rest of one buffer and the start of the next belong together."""
    data = bytes(CHUNK - 3) + struct.pack("<Q", 0x0102030405060708) + b"end"
    cursor, file = _cursor(data)
    cursor.take(CHUNK - 3)
    assert cursor.length() == 0x0102030405060708
    assert cursor.take(3) == b"end"
    assert file.reads == 2


def test_skipping_reads_nothing() -> None:
    """Whatever lies between is not fetched."""
    cursor, file = _cursor(bytes(5 * CHUNK) + b"end")
    cursor.take(1)
    cursor.skip(5 * CHUNK - 1)
    assert cursor.take(3) == b"end"
    assert file.bytes_read == CHUNK + 3


@pytest.mark.parametrize("move", ["take", "skip"])
def test_no_move_leaves_the_file(move: str) -> None:
    """The sentence says by how much the file is too short."""
    cursor, file = _cursor(bytes(10))
    with pytest.raises(BadModelFile, match="ends 2 bytes early"):
        getattr(cursor, move)(12)
    assert file.reads == 0


def test_a_string_is_measured_before_it_is_read() -> None:
    """The length is compared with what is left and with the bound for its kind."""
    cursor, _ = _cursor(struct.pack("<Q", 4) + b"abcd" + struct.pack("<Q", 9) + b"efgh")
    assert cursor.string("a name", longest=4) == b"abcd"
    with pytest.raises(BadModelFile, match="a name claims 9 bytes and 4 are left"):
        cursor.string("a name", longest=4)
    cursor, _ = _cursor(struct.pack("<Q", 5) + b"abcde")
    with pytest.raises(BadModelFile, match="a name claims 5 bytes, more than 4"):
        cursor.string("a name", longest=4)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1000, CHUNK - 8, CHUNK - 1, CHUNK, CHUNK + 1])
def test_strings_are_walked_whatever_their_length(length: int) -> None:
    """Wherever the buffer ends, the walk arrives after the last string."""
    count = max(3, 3 * CHUNK // (length + 8)) if length < 1000 else 5
    cursor, _ = _cursor((struct.pack("<Q", length) + b"x" * length) * count + b"end")
    cursor.skip_strings(count, "a text")
    assert cursor.take(3) == b"end"
