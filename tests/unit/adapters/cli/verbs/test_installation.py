"""Verbs about the program itself."""

import pytest

from blazar import __version__
from tests.support.command_line import Cli


def test_version_in_every_spelling(cli: Cli) -> None:
    """A verb and an option, with JSON."""
    assert cli("version").out == cli("--version").out == f"blazar {__version__}\n"
    assert cli("--version", "--json").json() == cli("version", "--json").json() == {"version": __version__}


def test_there_are_no_accounts(cli: Cli) -> None:
    """Refused by design, in one sentence (contract)."""
    for verb in ("login", "signin", "logout"):
        said = cli(verb)
        assert said.code == 1
        assert said.err.startswith("error: Blazar has no accounts")


@pytest.mark.parametrize("verb", [(), ("run",), ("engine", "install")])
def test_help_is_a_verb_too(cli: Cli, capfd: pytest.CaptureFixture[str], verb: tuple[str, ...]) -> None:
    """The same text as --help behind the verb."""
    said = []
    for words in (("help", *verb), (*verb, "--help")):
        with pytest.raises(SystemExit) as ended:
            cli(*words)
        assert not ended.value.code
        said.append(capfd.readouterr().out)
    assert said[0] == said[1] != ""


def test_help_on_what_is_no_verb(cli: Cli) -> None:
    """As if it had been typed."""
    assert cli("help", "nope").code == 2
