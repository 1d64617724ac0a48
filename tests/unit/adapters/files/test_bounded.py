"""Small files of strangers' making."""

import os
from pathlib import Path

import pytest

from blazar.adapters.files.bounded import (
    object_in,
    open_regular,
    read_exactly,
    read_object,
    read_object_if_there,
    stamp_of,
)
from blazar.domain.errors import BadWeights, NotFound


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"[1]", "no JSON object"),
        (b"null", "no JSON object"),
        (b'{"a":', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a":' + b"[" * 100_000, "nested too deeply"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"a": "' + b"x" * 100 + b'"}', "larger than 0 MiB"),
    ],
)
def test_what_is_no_object_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    """Each with its reason, and never by a traceback."""
    path = tmp_path / "config.json"
    path.write_bytes(data)
    with pytest.raises(BadWeights, match=why):
        read_object(str(path), 64 if b"xxx" in data else 1 << 20)
    assert read_object_if_there(str(path)) == {} or b"xxx" in data


def test_odd_nan_and_infinity_are_taken() -> None:
    """Published configurations hold them."""
    assert object_in("c", b'{"time_step_limit": [0.0, Infinity], "x": NaN}')["time_step_limit"][1] == float("inf")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A pipe without a writer would be waited for, a device never ends."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(BadWeights, match=r"not a regular file|Is a directory"):
            open_regular(str(path))
    with pytest.raises(NotFound):
        open_regular(str(tmp_path / "gone"))
    with pytest.raises(BadWeights):
        open_regular(str(tmp_path / "nul\0"))


def test_a_short_read_is_continued(tmp_path: Path) -> None:
    """Up to the end of the file and no further."""
    (tmp_path / "f").write_bytes(b"abc")
    with open_regular(str(tmp_path / "f")) as file:
        assert read_exactly(file, 2) == b"ab"
        assert read_exactly(file, 9) == b"c"


def test_a_file_that_is_gone_has_a_stamp_too(tmp_path: Path) -> None:
    """Its reader complains."""
    assert stamp_of(str(tmp_path / "gone")) == (-1, -1)
