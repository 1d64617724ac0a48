"""`engine build`."""

from pathlib import Path

import pytest

from blazar.domain.building import Backend
from tests.support.command_line import Cli, FakeRoot


def test_a_build(cli: Cli, root: FakeRoot) -> None:
    """The release is in the archive's name; progress is a line for every tenth where nobody draws."""
    said = cli("engine", "build", "cuda", "--source", "llama.cpp-b11434.tar.gz", "--sha256", "ab", "--jobs", "3")
    assert (said.code, said.out) == (0, "built and installed b11434-cuda, now active\n")
    assert root.engines.asked == [(Backend.CUDA, str(Path.cwd() / "llama.cpp-b11434.tar.gz"), "ab", "b11434", 3)]
    lines = said.err.splitlines()
    assert lines[:2] == ["building b11434-cuda: 0 % (0 of 300)", "building b11434-cuda: 10 % (30 of 300)"]
    assert len(lines) == 11


@pytest.mark.parametrize("tag", ["b7", "b7-cpu"])
def test_a_release_that_is_named(cli: Cli, root: FakeRoot, tag: str) -> None:
    """As upstream calls it, or as the build will be called; as many jobs as there are processors."""
    assert cli("engine", "build", "cpu", "--source", "~/src", "--tag", tag, "-q").out == ""
    assert root.engines.asked == [(Backend.CPU, str(Path("~/src").expanduser()), "", "b7", 0)]


def test_a_release_of_its_own_source(cli: Cli, root: FakeRoot) -> None:
    """Without --source it is fetched; the newest of the channel, or the one that is named, by either word."""
    said = cli("engine", "build", "cpu")
    assert (said.code, said.out) == (0, "built and installed b11500-cpu, now active\n")
    lines = said.err.splitlines()
    assert lines[:2] == ["downloading ggml-org/llama.cpp@b11500: 5.0 MiB", "building b11500-cpu: 0 % (0 of 300)"]
    assert len(lines) == 12
    cli("engine", "build", "cuda", "--release", "b7", "--sha256", "ab", "--jobs", "3")
    assert cli("engine", "build", "cuda", "--tag", "b7", "--json").err == ""
    assert root.engines.asked == [
        (Backend.CPU, "", "", 0),
        (Backend.CUDA, "b7", "ab", 3),
        (Backend.CUDA, "b7", "", 0),
    ]


def test_as_json(cli: Cli) -> None:
    """The row as `engine list` has it, how long it took, and no progress."""
    said = cli("engine", "build", "cpu", "--source", "b11434.zip", "--json")
    assert said.json()["tag"] == "b11434-cpu"
    assert said.json()["build_seconds"] >= 0
    assert said.err == ""


def test_wrong_use(cli: Cli, root: FakeRoot, tmp_path: Path) -> None:
    """With sources of no name or release, with sources that are not there, another backend or no number of jobs: nothing is built."""
    (there := tmp_path / "x.tar.gz").touch()
    for words, sentence in (
        (("cpu", "--source", " "), "say what to build of: --source ARCHIVE"),
        (("cpu", "--source", str(there)), "does not say which release it is: add --tag"),
        (("cpu", "--source", "/nope"), "there is nothing at /nope"),
        (("rocm", "--source", "b11434.zip"), "invalid choice"),
        (("cpu", "--source", "b11434.zip", "--jobs", "0"), "--jobs"),
        ((), "cpu|cuda"),
    ):
        said = cli("engine", "build", *words)
        assert said.code == 2
        assert sentence in said.err
    assert root.engines.asked == []
