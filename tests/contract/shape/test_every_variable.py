"""Every environment variable with what nobody should put into it: a sentence that names the variable, and never a traceback.

What a good value does is held with the keys (test_every_key.py) and where each of the other variables is read.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.cli import exits
from blazar.adapters.cli.locate import find_target
from blazar.adapters.cli.shell import run_words
from blazar.application.config.environment import SWITCHES, from_environment, variables
from blazar.application.config.variables import VARIABLES
from blazar.composition.client import ClientRoot
from blazar.domain.errors import Malformed
from tests.fakes.processes import FakeProcesses

GARBAGE = {
    "empty": "",
    "white space": " \t\n ",
    "digits": "9" * 100_000,
    "letters": "x" * 100_000,
    "negative": "-1",
    "far below": "-" + "9" * 30,
    "other digits": "\u0663\U0001f600",
    "no UTF-8": "\udcff\udcfe",
    "steers a terminal": "\x1b[2J\x07",
    "nowhere": "/no/such/path",
    "never ends": "/dev/zero",
    "nobody's": "~nobody-of-that-name/x",
    "folder": "/",
    "commas": ",,,",
    "colons": "::::",
    "format": "{}{0}%s%(a)s",
    "infinite": "1e999",
    "no number": "nan",
    "half a URL": "http://[::1",
    "two lines": "a\nb",
    "a flag": "--help",
    **{word: word.upper() for word in SWITCHES},
}
SETTING = dict(variables())
OTHERS = {variable.name for variable in VARIABLES}
VERBS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SETTING, ("config", "validate")),
    "BLAZAR_KEYS": ("config", "validate"),
    "BLAZAR_ENGINE_PATH": ("engine", "list"),
}
LATER = {"BLAZAR_SYSTEMCTL"}
"""Read by nothing yet."""
ELSEWHERE = {
    "BLAZAR_HOST",  # below
    "BLAZAR_API_KEY",  # tests/unit/adapters/cli/test_client.py: what no header can carry
    "BLAZAR_DEBUG",  # any text means yes
    "BLAZAR_ENGINE_GATE",  # tests/unit/domain/test_gate.py: what is no switch and no percentage
    "BLAZAR_GH_BASE",  # tests/unit/adapters/net/test_github.py and tests/faults/test_engine_releases.py: what is no address
    "BLAZAR_INSTALL_BASE_URL",
    "BLAZAR_REPO",  # tests/unit/domain/test_releases.py: what is no repository
    "BLAZAR_REGISTRY_BASE",  # tests/unit/adapters/net: what is no address
    "BLAZAR_REGISTRY_TOKEN",
}
LONGEST = 1000
"""Characters of an answer: a sentence, not the value once more."""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Folders of nobody; what is made in them stays for all rows."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def said(home: Path, words: tuple[str, ...], variable: str, value: str) -> int:
    """Exit code of one verb; an exception that comes through is a failure of the test."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("BLAZAR_", "RUST_LOG"))}
    folders = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data")}
    return run_words(words, lambda args: ClientRoot(args, {**clean, **folders, variable: value}))


def test_every_variable_is_in_this_table() -> None:
    """A new one has to be thought of here."""
    assert set(VERBS) | LATER | ELSEWHERE == set(SETTING) | OTHERS


@pytest.mark.parametrize("variable", VERBS)
@pytest.mark.parametrize("value", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_refused_by_name(home: Path, capfd: pytest.CaptureFixture[str], variable: str, value: str) -> None:
    """Or it means something: nothing that is said is long, steers a terminal or is Python's."""
    code = said(home, VERBS[variable], variable, value)
    out, err = capfd.readouterr()
    assert code in (exits.OK, exits.FAILED)
    assert (code == exits.OK) or (variable in err and err.startswith("error: ") and err.count("\n") == 1)
    assert len(out + err) < LONGEST
    assert "\x1b" not in out + err
    assert "Traceback" not in err
    assert "unexpected" not in err


@pytest.mark.parametrize("value", GARBAGE.values(), ids=GARBAGE)
def test_an_address_of_no_daemon_is_refused_by_name(home: Path, value: str) -> None:
    """What may be the name of a host is one; nothing is looked up here."""
    said, url, explicit = told(value, home)
    assert not said or said.startswith("environment variable BLAZAR_HOST: ")
    assert explicit == bool(value and not said)
    assert url.isprintable()
    assert len(said + url) < LONGEST


def told(value: str, home: Path) -> tuple[str, str, bool]:
    """The sentence that refuses it, or the daemon that it means."""
    try:
        target = find_target(None, {"BLAZAR_HOST": value}, home, FakeProcesses())
    except Malformed as wrong:
        return str(wrong), "", False
    return "", target.url, target.explicit


@pytest.mark.parametrize("variable", SETTING)
def test_every_switch_word_and_no_other_is_a_switch(variable: str) -> None:
    """true, yes, on and 1 are one value for a key that is true or false; for any other they are its text or its number."""
    values = {word: [found.value for found in from_environment({variable: word})] for word in SWITCHES}
    if values["true"] == [True]:
        assert values == {word: [meant] for word, meant in SWITCHES.items()}
    else:
        assert not any(isinstance(value, bool) for found in values.values() for value in found)
