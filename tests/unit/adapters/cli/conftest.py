"""Fixtures for every test of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.cli.shell import run_words
from tests.support.command_line import Cli, FakeRoot, Said, StubDaemon


@pytest.fixture
def stub() -> Iterator[StubDaemon]:
    """A running stub daemon."""
    daemon = StubDaemon()
    yield daemon
    daemon.close()


@pytest.fixture
def root(tmp_path: Path) -> FakeRoot:
    """A fake root without a daemon."""
    return FakeRoot(tmp_path)


@pytest.fixture
def cli(root: FakeRoot, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Run words against the fake root."""

    def run(*words: str) -> Said:
        code = run_words(words, lambda _: root)
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return run
