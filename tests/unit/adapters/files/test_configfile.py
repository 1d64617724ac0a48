"""config.toml on disk."""

import os

import pytest

from blazar.adapters.files.configfile import read_config, read_text
from blazar.application.config.layers import Origin
from blazar.application.config.model import Config
from blazar.domain.errors import BadConfig


def test_a_missing_file_means_defaults(tmp_path):
    """No file is no mistake."""
    assert read_config(tmp_path / "none" / "config.toml", {}).config == Config()


def test_a_file_is_read(tmp_path):
    """File, environment and options arrive in one configuration."""
    path = tmp_path / "config.toml"
    path.write_text("port = 7\n")
    loaded = read_config(path, {"BLAZAR_DEFAULT_CTX": "512"}, {"host": "::1"})
    assert (loaded.config.port, loaded.config.default_ctx, loaded.config.host) == (7, 512, "::1")
    assert loaded.origins["port"] == Origin("file", "line 1")


def test_an_editors_mark_is_skipped(tmp_path):
    """A UTF-8 byte-order mark and CRLF are what Windows editors write."""
    path = tmp_path / "config.toml"
    path.write_bytes("\ufeff# ü\r\nport = 7\r\n".encode())
    assert read_config(path, {}).config.port == 7


def test_what_is_not_text_is_told_with_its_line(tmp_path):
    """Bytes that are no UTF-8 give the file and the line."""
    path = tmp_path / "config.toml"
    path.write_bytes(b"port = 1\nhost = '\xff'\n")
    with pytest.raises(BadConfig, match=r"config.toml cannot be read: it is not UTF-8 text \(line 2\)"):
        read_text(path)


def test_a_folder_is_no_file(tmp_path):
    """What cannot be opened is told, not guessed to be empty."""
    with pytest.raises(BadConfig, match="cannot be read: "):
        read_text(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_told(tmp_path):
    """A file without permission is refused, not treated as missing."""
    path = tmp_path / "config.toml"
    path.write_text("port = 7\n")
    path.chmod(0)
    with pytest.raises(BadConfig, match="Permission denied"):
        read_text(path)


def test_the_sentence_names_the_file(tmp_path):
    """A mistake is told with the whole path, so that it can be opened."""
    path = tmp_path / "config.toml"
    path.write_text("listen = 8081")
    with pytest.raises(BadConfig) as caught:
        read_config(path, {})
    assert caught.value.problems == (f"{path} line 1: unknown key 'listen'; did you mean port or host?",)
