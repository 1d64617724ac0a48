"""config.toml on disk."""

import os

import pytest

from blazar.adapters.files.configfile import (
    change_config,
    check_change,
    read_config,
    read_text,
    replace_config,
    write_new_keys,
)
from blazar.application.config.layers import Origin
from blazar.application.config.model import Config
from blazar.domain.errors import BadConfig, StoreTrouble


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


KEYS = {"BLAZAR_KEYS": "ed:plm_1, plm_2"}


def backups(path):
    return sorted(path.parent.glob(f"{path.name}.*.bak"))


def test_new_keys_make_a_file(tmp_path):
    """Without a file there is one afterwards, for its owner alone, and nothing beside it."""
    path = tmp_path / "blazar" / "config.toml"
    assert write_new_keys(path, KEYS) == ["ed", "env-2"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == '[[keys]]\nname = "ed"\nkey = "plm_1"\n\n[[keys]]\nname = "env-2"\nkey = "plm_2"\n'
    assert list(path.parent.iterdir()) == [path]


def test_keys_are_written_once(tmp_path):
    """A second start, with the same or a changed secret under a name, finds nothing to do and touches nothing."""
    path = tmp_path / "config.toml"
    write_new_keys(path, KEYS)
    before = path.stat()
    assert write_new_keys(path, KEYS) == write_new_keys(path, {"BLAZAR_KEYS": "ed:other"}) == []
    assert write_new_keys(path, {}) == []
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [key.key for key in read_config(path, KEYS).config.keys] == ["plm_1", "plm_2"]


@pytest.mark.parametrize(
    "text",
    [
        b"# mine\nport = 7 # seven\n\n[model_overrides.m]\nctx = 512\n",
        b"port = 7",
        "\ufeff# \u00fc\r\nport = 7\r\n".encode(),
        b'port = 7\n[[keys]]\nname = "a"\nkey = "b"\nmodels = ["m"]\n',
    ],
)
def test_what_was_in_the_file_stays(tmp_path, text):
    """Comments, line ends, mark and all: keys are appended, and the file as it was lies beside it, for its owner alone."""
    path = tmp_path / "config.toml"
    path.write_bytes(text)
    path.chmod(0o644)
    old = read_config(path, {}).config.keys
    assert write_new_keys(path, KEYS) == ["ed", "env-2"]
    assert path.read_bytes().startswith(text)
    assert (b"\r\n" in text) == (b"\r\n" in path.read_bytes()[len(text) :])
    loaded = read_config(path, {}).config
    assert loaded.port == 7
    assert [key.name for key in loaded.keys] == [*(key.name for key in old), "ed", "env-2"]
    (backup,) = backups(path)
    assert backup.read_bytes() == text
    assert {file.stat().st_mode & 0o777 for file in (path, backup)} == {0o600}
    assert sorted(tmp_path.iterdir()) == [path, backup]


def test_a_link_stays_a_link(tmp_path):
    """Dotfile managers link the file; what it points at is replaced."""
    real, path = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text("port = 7\n")
    path.symlink_to(real)
    write_new_keys(path, KEYS)
    assert path.is_symlink()
    assert len(read_config(real, {}).config.keys) == 2


def test_an_inline_list_is_left_alone(tmp_path):
    """TOML allows no tables behind it; the sentence says how to write them instead."""
    path = tmp_path / "config.toml"
    path.write_text("keys = []\n")
    with pytest.raises(StoreTrouble, match=r"hold until the daemon stops.*\[\[keys\]\] tables"):
        write_new_keys(path, KEYS)
    assert path.read_text() == "keys = []\n"
    assert len(read_config(path, KEYS).config.keys) == 2


def test_a_read_only_file_is_left_alone(tmp_path, monkeypatch):
    """Its owner means it; the keys hold from the variable."""
    path = tmp_path / "config.toml"
    path.write_text("port = 7\n")
    path.chmod(0o400)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever the mode says
    with pytest.raises(StoreTrouble, match="read-only"):
        write_new_keys(path, KEYS)
    assert list(tmp_path.iterdir()) == [path]
    assert len(read_config(path, KEYS).config.keys) == 2


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """A full disk costs neither the file nor a stray temporary one."""
    path = tmp_path / "config.toml"
    path.write_text("port = 7\n")

    def full(_number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreTrouble, match="No space left on device"):
        write_new_keys(path, KEYS)
    assert path.read_text() == "port = 7\n"
    assert not list(tmp_path.glob("*.tmp")) + list(tmp_path.glob(".*"))


def test_a_change_keeps_mark_and_line_ends(tmp_path):
    """Only the text is edited; what it is wrapped in stays."""
    path = tmp_path / "config.toml"
    path.write_bytes("\ufeffport = 1\r\n".encode())
    assert change_config(path, lambda text: text.replace("1", "2")) is True
    assert path.read_bytes() == "\ufeffport = 2\r\n".encode()
    assert change_config(path, lambda text: text) is False
    assert len(backups(path)) == 1


def test_only_a_valid_text_is_written(tmp_path):
    """Whatever the edit makes of it."""
    path = tmp_path / "config.toml"
    path.write_text("port = 1\n")
    with pytest.raises(BadConfig, match="line 2: unknown key 'prot'"):
        change_config(path, lambda text: text + "prot = 1\n")
    with pytest.raises(BadConfig, match="lookup_cache_static"):
        change_config(path, lambda text: f"lookup_cache_static = '{tmp_path}/none'\n")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("port = 1\n", [path])


def test_what_keeps_it_from_being_written_is_told(tmp_path, monkeypatch):
    """A full disk, a file that is no text."""
    path = tmp_path / "config.toml"
    path.write_text("port = 1\n")

    def full(_number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        StoreTrouble, match=r"config.toml is as it was: it cannot be written \(No space left on device\)"
    ):
        change_config(path, lambda text: text + "slots = 1\n")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("port = 1\n", [path])
    path.write_bytes(b"\xff")
    with pytest.raises(BadConfig, match="not UTF-8"):
        change_config(path, lambda text: text)


def test_a_whole_file_is_replaced_only_while_it_is_the_one_that_was_read(tmp_path):
    """An hour in an editor must not undo what was set meanwhile."""
    path = tmp_path / "config.toml"
    assert replace_config(path, b"", b"port = 1\n") is True
    assert replace_config(path, b"", b"port = 2\n") is False
    assert replace_config(path, b"port = 1\n", b"\xef\xbb\xbfport = 2\r\n") is True
    with pytest.raises(BadConfig):
        replace_config(path, path.read_bytes(), b"prot = 1\n")
    assert path.read_bytes() == b"\xef\xbb\xbfport = 2\r\n"


def test_where_no_key_is_new_a_read_only_folder_is_no_trouble(tmp_path, monkeypatch):
    """Every start has the variable."""
    path = tmp_path / "config.toml"
    write_new_keys(path, KEYS)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("nothing is to be written"))
    assert write_new_keys(path, KEYS) == []


def test_keys_are_not_written_into_a_file_that_is_wrong(tmp_path):
    """What is wrong is told, and not that its keys were inline."""
    path = tmp_path / "config.toml"
    path.write_text("port = 'x'\n")
    with pytest.raises(StoreTrouble, match="'port' must be a whole number"):
        write_new_keys(path, {"BLAZAR_KEYS": "a:secret"})
    assert path.read_text() == "port = 'x'\n"


def test_where_nothing_is_to_be_changed_a_read_only_file_is_no_trouble(tmp_path, monkeypatch):
    """What it should say, it says; who wants something else is told why that cannot be."""
    path = tmp_path / "config.toml"
    path.write_text("port = 1\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert change_config(path, lambda text: text) is False
    with pytest.raises(StoreTrouble, match="read-only"):
        change_config(path, lambda _: "port = 2\n")
    assert path.read_text() == "port = 1\n"


BROKEN = "port = 1\na = [\n"


def test_a_text_that_breaks_off_is_changed_by_nobody(tmp_path, monkeypatch):
    """A person is typing there: where it breaks off is told, whether the file may be written or not."""
    path = tmp_path / "config.toml"
    path.write_text(BROKEN)
    for _ in range(2):
        for change in (change_config, check_change):
            with pytest.raises(BadConfig, match="not valid TOML"):
                change(path, lambda _: pytest.fail("there are no tables to edit"))
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(StoreTrouble, match="read-only"):
            change_config(path, lambda _: pytest.fail("there are no tables to edit"))
        monkeypatch.undo()
    assert (path.read_text(), list(tmp_path.iterdir())) == (BROKEN, [path])


def test_a_change_is_checked_without_writing(tmp_path, monkeypatch):
    """What would be refused is, and the file stays; where nothing is to be changed it may be read-only."""
    path = tmp_path / "config.toml"
    path.write_text("port = 1\n")
    check_change(path, lambda text: text + "slots = 1\n")
    with pytest.raises(BadConfig, match="unknown key 'prot'"):
        check_change(path, lambda text: text + "prot = 1\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    check_change(path, lambda text: text)
    with pytest.raises(StoreTrouble, match="read-only"):
        check_change(path, lambda text: text + "slots = 1\n")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("port = 1\n", [path])
