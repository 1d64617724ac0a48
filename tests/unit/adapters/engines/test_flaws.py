"""What keeps a build from running, by its files."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.engines.flaws import flaw_of
from blazar.domain import teaching
from blazar.domain.kinds import Provenance
from blazar.domain.records import Engine
from tests.fakes.engines import an_engine


@pytest.fixture
def build(tmp_path: Path) -> Engine:
    program = tmp_path / "llama-server"
    program.write_bytes(b"#!/bin/true")
    program.chmod(0o755)
    (tmp_path / "libggml.so.0.1").write_bytes(b"library")
    (tmp_path / "libggml.so").symlink_to("libggml.so.0.1")
    (tmp_path / "LICENSE").touch()
    return an_engine(server_path=str(program))


def test_a_whole_build(build: Engine) -> None:
    """Has none; nor has a wheel, which has no file of its own."""
    assert flaw_of(build) == ""
    assert flaw_of(an_engine("embedded-1", provenance=Provenance.EMBEDDED, server_path="")) == ""


def test_a_program_that_is_gone_or_empty(build: Engine) -> None:
    """Each with its path."""
    Path(build.server_path).write_bytes(b"")
    assert flaw_of(build) == teaching.flaw_empty(build.server_path)
    Path(build.server_path).unlink()
    assert flaw_of(build) == teaching.flaw_gone(build.server_path)


@pytest.mark.skipif(os.name == "nt", reason="there is no such permission")
def test_a_program_that_may_not_be_executed(build: Engine) -> None:
    """A copy by hand may lose it."""
    Path(build.server_path).chmod(0o644)
    assert flaw_of(build) == teaching.flaw_not_executable(build.server_path)


def test_a_script_is_started_by_its_interpreter(build: Engine) -> None:
    """What need be executable is the first word of the command."""
    Path(build.server_path).chmod(0o644)
    assert flaw_of(replace(build, command=(sys.executable, build.server_path))) == ""
    gone = f"{build.server_path}-interpreter"
    assert flaw_of(replace(build, command=(gone, build.server_path))) == teaching.flaw_not_executable(gone)


def test_libraries_without_a_byte(build: Engine) -> None:
    """Beside a build of ours; what lies beside the user's own binary is not known to be its."""
    (Path(build.server_path).parent / "libggml.so.0.1").write_bytes(b"")
    assert flaw_of(build) == teaching.flaw_libraries(["libggml.so", "libggml.so.0.1"])
    assert flaw_of(an_engine("local", provenance=Provenance.LOCAL, server_path=build.server_path)) == ""


def test_a_path_that_is_none() -> None:
    """Is a flaw, and no end of the report."""
    assert flaw_of(an_engine(server_path="/\0")) != ""
