"""Which daemon is meant, and with which key."""

import json
from pathlib import Path

import pytest

from blazar.adapters.cli.locate import Note, api_key, find_target, normal_url, read_note
from blazar.domain.errors import Malformed
from tests.fakes.processes import FakeProcesses

URL = "http://127.0.0.1:4321"


PROCESSES = FakeProcesses({7: "5"})


def write(run: Path, **facts: object) -> None:
    """A note as the daemon writes it, of the only process that runs unless said otherwise."""
    said = {"url": URL, "pid": 7, "start_time": "5", **facts}
    (run / "daemon.json").write_text(json.dumps(said))


def test_the_order_of_finding_a_daemon(tmp_path: Path) -> None:
    """--host, BLAZAR_HOST, the note of this data folder, the default (D3)."""
    assert find_target(None, {}, tmp_path, PROCESSES) == ("http://127.0.0.1:11435", False, None)
    write(tmp_path)
    found = find_target(None, {}, tmp_path, PROCESSES)
    assert (found.url, found.explicit) == (URL, False)
    assert found.note is not None
    assert find_target(None, {"BLAZAR_HOST": "h:1"}, tmp_path, PROCESSES) == ("http://h:1", True, None)
    assert find_target("i:2", {"BLAZAR_HOST": "h:1"}, tmp_path, PROCESSES) == ("http://i:2", True, None)


def test_an_empty_variable_names_no_daemon(tmp_path: Path) -> None:
    """BLAZAR_HOST= is as good as unset."""
    assert find_target(None, {"BLAZAR_HOST": ""}, tmp_path, PROCESSES).explicit is False


def test_a_note_of_a_dead_process_is_none(tmp_path: Path) -> None:
    """A daemon that was killed leaves its note; it must not be believed."""
    write(tmp_path, pid=8)
    assert read_note(tmp_path, PROCESSES) is None


def test_a_recycled_pid_is_another_process(tmp_path: Path) -> None:
    """Pid and start time must agree: the pid of a dead daemon may be anybody's by now."""
    write(tmp_path, start_time="6")
    assert read_note(tmp_path, PROCESSES) is None
    write(tmp_path, start_time="")
    assert read_note(tmp_path, PROCESSES) is None
    write(tmp_path, start_time=5)
    assert read_note(tmp_path, PROCESSES) == Note(URL, 7, "5")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"url": "x"}', '{"url": "x", "pid": "p"}', '{"url": 1, "pid": -1}']
)
def test_a_broken_note_is_none(tmp_path: Path, text: str) -> None:
    """Half a file, or another program's, never breaks a verb."""
    (tmp_path / "daemon.json").write_text(text)
    assert read_note(tmp_path, PROCESSES) is None


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:1234", "http://127.0.0.1:1234"),
        ("box", "http://box:11435"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0:11435", "http://127.0.0.1:11435"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("http://box:9/", "http://box:9"),
        ("::1", "http://[::1]:11435"),
        ("[::1]:7", "http://[::1]:7"),
        ("[::]:7", "http://[::1]:7"),
        (" box:1 ", "http://box:1"),
    ],
)
def test_every_spelling_of_an_address(text: str, url: str) -> None:
    """Host, host and port, port alone, URL, IPv6; an any-address means this machine."""
    assert normal_url(text) == url


@pytest.mark.parametrize(
    "text",
    ["box:port", "box:99999", "box:0", "ftp://box", "http://box/path", "a b", " ", "http://[::1", "box?x=1", "http://"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """With a sentence that shows how to write one."""
    with pytest.raises(Malformed, match="HOST:PORT"):
        normal_url(text)


CONFIG = """
[[keys]]
name = "scoped"
key = "plm_scoped"
models = ["a"]

[[keys]]
name = "whole"
key = "plm_whole"
"""


def test_the_key_comes_from_the_environment_or_the_file(tmp_path: Path) -> None:
    """BLAZAR_API_KEY wins; of the file's keys the first without a scope, which management needs."""
    file = tmp_path / "config.toml"
    assert api_key({}, file, URL) is None
    file.write_text(CONFIG)
    assert api_key({}, file, URL) == "plm_whole"
    assert api_key({}, file, "http://localhost:1") == api_key({}, file, "http://[::1]:1") == "plm_whole"
    assert api_key({"BLAZAR_API_KEY": "k"}, file, URL) == "k"
    file.write_text(CONFIG.split("\n\n", maxsplit=1)[0])
    assert api_key({}, file, URL) == "plm_scoped"


def test_a_key_of_the_file_never_leaves_this_machine(tmp_path: Path) -> None:
    """--host of a stranger must not be told our secret; one given for the purpose is."""
    file = tmp_path / "config.toml"
    file.write_text(CONFIG)
    assert api_key({}, file, "http://elsewhere:11435") is None
    assert api_key({"BLAZAR_API_KEY": "k"}, file, "http://elsewhere:11435") == "k"


def test_a_key_of_the_bootstrap_variable_is_found(tmp_path: Path) -> None:
    """BLAZAR_KEYS holds for the daemon, so also for the verbs beside it; the file's word about a name wins, and a stranger learns none."""
    file = tmp_path / "config.toml"
    env = {"BLAZAR_KEYS": "whole:plm_old, ci:plm_env"}
    assert api_key(env, file, URL) == "plm_old"
    assert api_key(env, file, "http://elsewhere:11435") is None
    assert api_key({**env, "BLAZAR_API_KEY": "k"}, file, URL) == "k"
    file.write_text(CONFIG)
    assert api_key(env, file, URL) == "plm_whole"
    file.write_text(CONFIG.split("\n\n", maxsplit=1)[0])
    assert api_key({"BLAZAR_KEYS": "ci:plm_env"}, file, URL) == "plm_env"
    assert api_key({"BLAZAR_KEYS": " , "}, file, URL) == "plm_scoped"


@pytest.mark.parametrize("text", ["keys = 3", "keys = [1]", "[[keys]\n", "keys", "[[keys]]\nname = 'x'"])
def test_a_file_that_cannot_be_read_has_no_keys(tmp_path: Path, text: str) -> None:
    """The daemon judges the file; a thin verb does not fail on it."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    assert api_key({}, file, URL) is None


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("port = 11999\n", 11999),
        ("[gateway]\nport = 11998\n", 11998),
        ("port = 0\n", 11435),
        ('port = "x"\n', 11435),
        ("port = \n", 11435),
        ("", 11435),
    ],
)
def test_without_a_daemon_the_configured_port_is_meant(tmp_path: Path, text: str, port: int) -> None:
    """It is where one would listen, and what is said to be silent."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    assert find_target(None, {}, tmp_path, PROCESSES, file).url == f"http://127.0.0.1:{port}"
