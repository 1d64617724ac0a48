"""The config verbs."""

from tests.support.command_line import Cli, FakeRoot


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
