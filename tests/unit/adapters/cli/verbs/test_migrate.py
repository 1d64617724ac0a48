"""`blazar migrate`."""

from tests.support.command_line import Cli, FakeRoot


def test_it_says_what_it_did(cli: Cli, root: FakeRoot) -> None:
    """Which keys moved, that a list was only dropped, or that there was nothing to do."""
    file = root.places.config_file
    assert cli("migrate").out == f"no configuration file at {file}: the defaults hold\n"
    file.touch()
    assert cli("migrate").out == f"nothing to migrate: {file} is written as it should be\n"
    root.settings.legacy = ("a", "b")
    assert cli("migrate").out == f"api_keys of {file} is as [[keys]]: a, b; the file as it was lies beside it\n"
    assert cli("migrate", "--json").json() == {"path": str(file), "changed": True, "keys": ["a", "b"]}
    root.settings.legacy = ()
    assert "is gone, for its keys were all under [[keys]]" in cli("migrate").out
