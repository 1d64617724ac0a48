"""The logs verb: the end of a file, and what is added to it."""

import json
from pathlib import Path

import pytest

from blazar.adapters.cli.verbs.logs import log_of, read_log
from tests.support.command_line import Cli, FakeRoot, model


def test_the_end_of_the_daemons_log(cli: Cli, root: FakeRoot) -> None:
    """Lines as they are; broken bytes do not matter; 0 means all."""
    (root.places.run / "daemon.log").write_bytes(b"one\r\ntwo \xff\nthree")
    assert cli("logs", "-n", "2").out == "two \ufffd\nthree\n"
    assert cli("logs", "-n", "0").out.splitlines() == ["one", "two \ufffd", "three"]
    assert json.loads(cli("logs", "-n", "1", "--json").out) == {"line": "three"}


def test_the_log_of_a_model(cli: Cli, root: FakeRoot) -> None:
    """Under the name people use, though the file's name is encoded."""
    (root.places.run / "org%2Ftiny%23.log").write_text("encoded\n")
    (root.places.run / "tiny.log").write_text("hello\n")
    assert cli("logs", "tiny").out == cli("logs", "Tiny:latest").out == "hello\n"
    assert cli("logs", "org/tiny#").out == "encoded\n"


def test_a_log_that_is_not_there_says_why(cli: Cli, root: FakeRoot) -> None:
    """No daemon ever ran, the model was never loaded, or there is no such model."""
    said = cli("logs")
    assert (said.code, said.err.startswith("error: no daemon has run")) == (1, True)
    root.models.rows = {"tiny": model()}
    said = cli("logs", "tiny:latest")
    assert (said.code, said.err.startswith("error: 'tiny' has not been loaded yet")) == (1, True)
    said = cli("logs", "tinny")
    assert (said.code, said.err.startswith("error: model 'tinny' not found; did you mean tiny?")) == (1, True)
    assert cli("logs", "../daemon").code == 1
    assert log_of(root.places.run, "../x").parent == root.places.run


class Script:
    """What happens to the file at each pause; the test ends it by an exception of its own."""

    class Over(Exception):
        """The script has been played."""

    def __init__(self, *acts: object) -> None:
        self._acts = iter(acts)

    def __call__(self, _: float) -> None:
        act = next(self._acts, None)
        if act is None:
            raise Script.Over
        assert callable(act)
        act()


def followed(path: Path, lines: int, *acts: object) -> list[bytes]:
    """Everything that a follower prints."""
    got: list[bytes] = []
    with pytest.raises(Script.Over):
        got.extend(read_log(path, lines, follow=True, pause=Script(*acts)))
    return got


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of three lines, the last one half written."""
    file = tmp_path / "x.log"
    file.write_bytes(b"1\n2\nhalf")
    return file


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_following_prints_whole_lines(path: Path) -> None:
    """A line that is being written waits for its end."""
    got = followed(
        path, 2, lambda: append(path, b" done\n4\n"), lambda: append(path, b"5"), lambda: append(path, b"\n")
    )
    assert got == [b"2\n", b"half done\n", b"4\n", b"5\n"]


def test_following_survives_rotation(path: Path) -> None:
    """The old file is renamed and a new one begun: nothing is lost, nothing twice."""

    def rotate() -> None:
        append(path, b"\nlast\n")
        path.rename(path.with_suffix(".log.1"))

    got = followed(path, 0, rotate, lambda: path.write_bytes(b"new\n"), lambda: append(path, b"er\n"))
    assert got == [b"1\n", b"2\n", b"half\n", b"last\n", b"new\n", b"er\n"]


def test_following_survives_truncation(path: Path) -> None:
    """A file cut to nothing is read from its beginning again."""
    got = followed(path, 0, lambda: path.write_bytes(b"n\n"))
    assert got == [b"1\n", b"2\n", b"half", b"n\n"]
