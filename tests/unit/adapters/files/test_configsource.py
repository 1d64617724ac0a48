"""The bytes of the configuration file, whatever stands in its place."""

import os

import pytest

from blazar.adapters.files.configsource import LARGEST, source_of
from blazar.domain.errors import BadConfig


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nobody writes to it; the empty device is an empty file."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadConfig, match="not a regular file"):
        source_of(tmp_path / "pipe")
    (tmp_path / "none").symlink_to(os.devnull)
    assert source_of(tmp_path / "none") == b""


def test_a_gigabyte_is_not_read(tmp_path):
    """It would be parsed for hours; as much as ten thousand overrides have is no trouble."""
    with (tmp_path / "c.toml").open("wb") as file:
        file.truncate(LARGEST)
    assert len(source_of(tmp_path / "c.toml")) == LARGEST
    with (tmp_path / "c.toml").open("ab") as file:
        file.truncate(2**30)
    with pytest.raises(BadConfig, match="more than 4194304 bytes"):
        source_of(tmp_path / "c.toml")
