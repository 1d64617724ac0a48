"""The root of the thin verbs: what is built, and only when it is asked for."""

import json
import os
from pathlib import Path

import pytest

from blazar.adapters.cli.client import DaemonRefused
from blazar.adapters.cli.parser import parse
from blazar.composition.client import ClientRoot
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Unreachable
from tests.support.command_line import StubDaemon


def root_of(home: Path, *words: str, **env: str) -> ClientRoot:
    """A root as `__main__` makes it, in folders of its own."""
    folders = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "c"), "XDG_DATA_HOME": str(home / "d")}
    return ClientRoot(parse([*words, "ps"]), {**folders, **env})


def test_looking_creates_nothing(tmp_path: Path) -> None:
    """Asking where the daemon is must not make folders."""
    root = root_of(tmp_path)
    assert root.target().url == "http://127.0.0.1:11435"
    root.client()
    root.close()
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_file_can_be_named(tmp_path: Path) -> None:
    """--config before or behind the verb."""
    root = root_of(tmp_path, "--config", str(tmp_path / "x.toml"))
    assert root.places.config_file == tmp_path / "x.toml"


def test_the_host_option_wins_over_the_variable(tmp_path: Path) -> None:
    """D3."""
    assert root_of(tmp_path, BLAZAR_HOST="h:1").target().url == "http://h:1"
    assert root_of(tmp_path, "--host", "i:2", BLAZAR_HOST="h:1").target().url == "http://i:2"


def test_the_program_is_this_one(tmp_path: Path) -> None:
    """A folder called blazar in the current directory is not run instead of it."""
    assert root_of(tmp_path).program[1:] == ("-P", "-m", "blazar")


@pytest.fixture
def stub() -> object:
    """A daemon with canned answers."""
    daemon = StubDaemon()
    yield daemon
    daemon.close()


def test_the_live_daemon_tells_what_an_engine_serves(tmp_path: Path, stub: StubDaemon) -> None:
    """With the key of the configuration; without a daemon nothing is served."""
    root = root_of(tmp_path)
    assert root.models_served_by("b1") == []
    root.places.ensure()
    root.places.config_file.parent.mkdir(parents=True)
    root.places.config_file.write_text('[[keys]]\nname = "n"\nkey = "plm_x"\n')
    note = {"url": stub.url, "pid": os.getpid(), "start_time": root.processes.start_time(os.getpid())}
    (root.places.run / "daemon.json").write_text(json.dumps(note))
    rows = [{"name": "a", "engine": "b1"}, {"name": "b", "engine": "b2"}]
    stub.answers["GET", "/api/ps"] = (200, {"models": rows})
    assert root.models_served_by("b1") == ["a"]
    assert stub.asked[-1].headers["authorization"] == "Bearer plm_x"


def test_what_a_daemon_would_only_log_is_known_to_who_starts_it(tmp_path: Path) -> None:
    """Its options count; a file that has become unusable meanwhile is another matter."""
    root = root_of(tmp_path)
    assert root.start_warnings(None, None) == []
    assert root.start_warnings("0.0.0.0", None) == [teaching.open_to_others("0.0.0.0")]
    named = tmp_path / "x.toml"
    named.write_text("deterministic = true\nslots = 2\n")
    assert root.start_warnings(None, str(named)) == [teaching.slots_without_effect(2)]
    named.write_text("prot = 1\n")
    assert root.start_warnings("0.0.0.0", str(named)) == []


def test_nobody_is_unreachable(tmp_path: Path) -> None:
    """Through the whole root."""
    with pytest.raises(Unreachable):
        root_of(tmp_path, "--host", "127.0.0.1:9").client().call("GET", "/api/ps")


@pytest.mark.parametrize(
    "text", ["[[keys]]\nname = 'n'\nkey = 'plm_x'\n[broken\n", "[[keys]]\nname = 'n'\nkey = 'plm_x'\nprot = 1\n"]
)
def test_a_refused_key_of_a_file_that_cannot_be_used_is_told_as_that(
    tmp_path: Path, stub: StubDaemon, text: str
) -> None:
    """The daemon goes on with what it read before: what is wrong is the file, and its line is told as `config validate` does."""
    stub.answers["GET", "/api/ps"] = (401, {"error": {"message": "missing or invalid API key"}})
    root = root_of(tmp_path, "--host", stub.url)
    root.places.config_file.parent.mkdir(parents=True)
    root.places.config_file.write_text(text)
    with pytest.raises(BadConfig) as wrong:
        root.settings.plain()
    with pytest.raises(DaemonRefused) as refused:
        root.client().call("GET", "/api/ps")
    assert str(refused.value) == f"{wrong.value}{teaching.cli_key()}"
    assert "line 4" in str(refused.value)


def test_a_named_file_that_is_not_there_is_why_a_key_is_missing(tmp_path: Path, stub: StubDaemon) -> None:
    """`--config` with a slip of the pen."""
    stub.answers["GET", "/api/ps"] = (401, {"error": {"message": "missing or invalid API key"}})
    file = str(tmp_path / "x.toml")
    with pytest.raises(DaemonRefused, match="there is no configuration file at"):
        root_of(tmp_path, "--config", file, "--host", stub.url).client().call("GET", "/api/ps")


def test_the_file_is_not_blamed_for_a_key_that_came_from_elsewhere(tmp_path: Path, stub: StubDaemon) -> None:
    """A key of the environment, and a file that is in order."""
    stub.answers["GET", "/api/ps"] = (401, {"error": {"message": "missing or invalid API key"}})
    root = root_of(tmp_path, "--host", stub.url)
    root.places.config_file.parent.mkdir(parents=True)
    root.places.config_file.write_text("port = 1\n")
    with pytest.raises(DaemonRefused, match="missing or invalid API key"):
        root.client().call("GET", "/api/ps")
    root.places.config_file.write_text("[broken\n")
    with pytest.raises(DaemonRefused, match="missing or invalid API key"):
        root_of(tmp_path, "--host", stub.url, BLAZAR_API_KEY="plm_y").client().call("GET", "/api/ps")
