"""The bytes of the configuration file, whatever stands in its place."""

import os

import pytest

from blazar.adapters.files.configsource import source_of
from blazar.domain.errors import BadConfig


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nobody writes to it; the empty device is an empty file."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadConfig, match="not a regular file"):
        source_of(tmp_path / "pipe")
    (tmp_path / "none").symlink_to(os.devnull)
    assert source_of(tmp_path / "none") == b""
