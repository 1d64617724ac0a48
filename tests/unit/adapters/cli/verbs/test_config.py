"""The config verbs."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from blazar.adapters.cli import following
from blazar.adapters.cli.following import FOLLOWED
from blazar.adapters.cli.root import Changed
from blazar.adapters.cli.verbs import config
from blazar.adapters.files.daemonfiles import DaemonNote
from blazar.domain import teaching
from tests.support.command_line import Cli, FakeRoot, StubDaemon


def test_get_prints_bare_text_and_toml(cli: Cli) -> None:
    """A string without quotes (scripts use it), other values as the file spells them, JSON where asked."""
    assert cli("config", "get", "host").out == "127.0.0.1\n"
    assert cli("config", "get", "port").out == "11435\n"
    assert cli("config", "get", "unset").out == "\n"
    assert cli("config", "get", "host", "--json").json() == "127.0.0.1"
    assert cli("config", "get", "unset", "--json").json() is None


def test_list_names_who_set_what(cli: Cli) -> None:
    """Key, value and layer."""
    lines = cli("config", "list").out.splitlines()
    assert lines[0].split() == ["KEY", "VALUE", "FROM"]
    assert lines[2].split() == ["port", "1", "file", "line", "2"]
    assert cli("config", "list", "--json").json() == {"host": "127.0.0.1", "port": 1}


def test_defaults_path_and_validate(cli: Cli, root: FakeRoot) -> None:
    """A file to begin with, where it goes, and whether it is right."""
    assert cli("config", "defaults").out == 'host = "127.0.0.1"\n'
    assert "toml" in cli("config", "defaults", "--json").json()
    assert cli("config", "path").out == f"{root.places.config_file}\n"
    assert cli("config", "path", "--json").json()["exists"] is False
    assert cli("config", "validate").out == f"no configuration file at {root.places.config_file}: the defaults hold\n"
    assert cli("config", "validate", "--json").json()["exists"] is False
    root.places.config_file.touch()
    assert cli("config", "validate").out == f"{root.places.config_file} is valid\n"


def test_validate_tells_everything_that_is_wrong(cli: Cli, root: FakeRoot) -> None:
    """One line each; as JSON a list."""
    root.settings.problems = ["line 1: a", "line 2: b"]
    assert cli("config", "validate") == (1, "", "error: line 1: a\nerror: line 2: b\n")
    said = cli("config", "validate", "--json")
    assert (said.code, said.json()["valid"], said.json()["problems"]) == (1, False, ["line 1: a", "line 2: b"])


def test_validate_tells_what_is_accepted_and_should_be_known(cli: Cli, root: FakeRoot) -> None:
    """It is valid all the same."""
    root.places.config_file.touch()
    root.settings.warned = ["a key in clear"]
    assert cli("config", "validate") == (0, f"{root.places.config_file} is valid\nwarning: a key in clear\n", "")
    said = cli("config", "validate", "--json").json()
    assert (said["valid"], said["warnings"]) == (True, ["a key in clear"])


def test_list_quiet_is_for_completion(cli: Cli, root: FakeRoot) -> None:
    """Names only, whatever is wrong with the file."""
    root.settings.problems = ["line 1: a"]
    assert cli("config", "list", "--quiet").out == "host\nport\n"


def test_schema_is_json(cli: Cli) -> None:
    """With and without --json."""
    assert cli("config", "schema").json() == cli("config", "schema", "--json").json() == {"type": "object"}


def test_set_says_what_changed(cli: Cli, root: FakeRoot) -> None:
    """What it was, what it is, and where; the second time that nothing was changed."""
    file = root.places.config_file
    assert cli("config", "set", "slots", "2").out == f"slots = 2 (before: 0) in {file}\n"
    assert cli("config", "set", "slots", "2").out == f"{file} says slots = 2 already: nothing was changed\n"
    said = cli("config", "set", "slots", "3", "--json").json()
    assert said == {
        "key": "slots",
        "value": "3",
        "before": "2",
        "changed": True,
        "path": str(file),
        "shadowed_by": None,
        "restart": False,
        "warnings": [],
    }
    assert cli("config", "set", "slots", "4", "-q") == (0, "", "")


def test_unset_says_what_holds(cli: Cli, root: FakeRoot) -> None:
    """Or that it was not set."""
    file = root.places.config_file
    cli("config", "set", "slots", "2")
    assert cli("config", "unset", "slots").out == f"slots is no longer in {file}: 0 holds\n"
    assert cli("config", "unset", "slots").out == f"'slots' is not set in {file}: 0 holds\n"
    assert cli("config", "unset", "slots", "--json").json()["changed"] is False


def test_what_is_read_at_the_start_needs_another_one(cli: Cli, root: FakeRoot) -> None:
    """Said only where a daemon runs."""
    assert "restart" not in cli("config", "set", "port", "1").out
    pid = os.getpid()
    start = root.processes.start_time(pid)
    DaemonNote(root.places.run).write("http://127.0.0.1:9", pid, start)
    said = cli("config", "set", "port", "2").out
    assert said.endswith("\n'port' is read when the daemon starts: blazar restart makes the running one follow\n")
    assert cli("config", "set", "port", "3", "--json").json()["restart"] is True
    assert "restart" not in cli("config", "set", "slots", "3").out


def test_several_keys_are_set_and_unset_at_once(cli: Cli, root: FakeRoot) -> None:
    """As KEY=VALUE; a value may hold the sign too."""
    file = root.places.config_file
    assert cli("config", "set", "a=1", "b=x=y").out == f"a = 1 (before: 0) in {file}\nb = x=y (before: 0) in {file}\n"
    said = cli("config", "set", "a=2", "b=3", "--json").json()
    assert (said["path"], [(row["key"], row["value"]) for row in said["changes"]]) == (
        str(file),
        [("a", "2"), ("b", "3")],
    )
    assert cli("config", "set", "a=4", "--json").json()["key"] == "a"
    assert cli("config", "unset", "a", "b").out.count("is no longer in") == 2
    said = cli("config", "set", "a=1", "b")
    assert (said.code, said.err) == (2, f"error: {teaching.config_pairs('b')}\n")
    said = cli("config", "set", "a")
    assert (said.code, teaching.config_value_missing("a") in said.err) == (2, True)


@pytest.fixture
def running(root: FakeRoot, stub: StubDaemon) -> Callable[..., None]:
    """A daemon that tells its configuration."""

    def told(values: dict[str, Any], **origins: dict[str, str]) -> None:
        pid = os.getpid()
        DaemonNote(root.places.run).write(stub.url, pid, root.processes.start_time(pid))
        root.use(stub)
        shown = {"path": str(root.places.config_file), "values": values, "origins": origins}
        stub.answers["GET", "/api/config"] = (200, shown)

    return told


def test_a_variable_of_the_running_daemon_is_named(cli: Cli, running: Callable[..., None]) -> None:
    """The shell that sets a key need not be the one that started it; not where both say the same."""
    running({"default_ctx": 256}, default_ctx={"layer": "environment", "where": "BLAZAR_DEFAULT_CTX"})
    told = teaching.config_shadowed_there("default_ctx", "environment", "BLAZAR_DEFAULT_CTX")
    assert cli("config", "set", "default_ctx", "512").out.endswith(f"\n{told}\n")
    assert "slots" in cli("config", "set", "slots", "1").out
    running({"default_ctx": "600"}, default_ctx={"layer": "environment", "where": "BLAZAR_DEFAULT_CTX"})
    assert told not in cli("config", "set", "default_ctx", "600").out
    running({"port": 1}, port={"layer": "command line", "where": ""})
    assert teaching.config_shadowed_there("port", "command line", "") in cli("config", "set", "port", "2").out


def test_what_runs_already_needs_no_restart(cli: Cli, running: Callable[..., None]) -> None:
    """The file was changed and changed back."""
    running({"port": "7"})
    cli("config", "set", "port", "6")
    assert "restart" not in cli("config", "set", "port", "7").out
    assert "restart" in cli("config", "set", "port", "8").out


def test_a_daemon_that_does_not_tell_holds_nothing_up(cli: Cli, running: Callable[..., None], stub: StubDaemon) -> None:
    """Or one with another file: the key is set all the same."""
    running({"port": "7"})
    stub.answers["GET", "/api/config"] = (200, {"path": "/elsewhere", "values": {"port": "7"}})
    assert "restart" in cli("config", "set", "port", "7").out
    stub.answers["GET", "/api/config"] = (500, {"error": "no"})
    assert cli("config", "set", "port", "9").out.endswith(f"{teaching.config_needs_restart('port')}\n")
    said = cli("config", "set", "slots", "9")
    assert (said.code, said.out.splitlines()[-1]) == (0, teaching.config_followed_soon(FOLLOWED))


def test_setting_returns_once_the_daemon_has_read_the_file(
    cli: Cli, running: Callable[..., None], stub: StubDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes next finds the new value in force; nothing is asked where nothing was changed."""
    running({"slots": "1"})
    shown = stub.answers["GET", "/api/config"][1]
    shown["behind"] = True
    monkeypatch.setattr(following.time, "sleep", lambda _: shown.update(behind=False))
    assert teaching.config_followed_soon(FOLLOWED) not in cli("config", "set", "slots", "1").out
    assert len(stub.asked) == 2
    cli("config", "set", "slots", "1")
    assert len(stub.asked) == 2


def test_what_should_be_known_since_is_told(cli: Cli, root: FakeRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind what was done, which is no refusal."""
    done = Changed("host", "h", "i", "h", "i", changed=True, shadow="", restart=False, warnings=["open"])
    monkeypatch.setattr(root.settings, "change", lambda _: [done])
    assert cli("config", "set", "host", "h").out.endswith("\nwarning: open\n")
    assert cli("config", "set", "host", "h", "--json").json()["warnings"] == ["open"]


def test_a_variable_that_wins_is_named(cli: Cli, root: FakeRoot) -> None:
    """Else a person would wonder why nothing happens."""
    root.settings.shadow = "BLAZAR_DEFAULT_CTX"
    said = cli("config", "set", "default_ctx", "512").out.splitlines()[1]
    assert said == "here environment variable BLAZAR_DEFAULT_CTX says something else about 'default_ctx', and wins"
    assert cli("config", "unset", "default_ctx", "--json").json()["shadowed_by"] == "BLAZAR_DEFAULT_CTX"


def test_a_value_steers_no_terminal(cli: Cli, root: FakeRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program gets it as it is, a person without what would move the cursor."""
    monkeypatch.setattr(root.settings, "get", lambda _: ("a\x1b[2Jb", ""))
    assert cli("config", "get", "host").out == "a\x1b[2Jb\n"
    monkeypatch.setattr(config, "is_terminal", lambda _: True)
    assert "\x1b" not in cli("config", "get", "host").out
