"""Errors as a shell sees them."""

import io
import json

import pytest

from blazar.adapters.cli.client import DaemonFailed, DaemonRefused
from blazar.adapters.cli.exits import NotStarted, WrongUse, exit_code, report
from blazar.domain.errors import (
    BindConflict,
    BlazarError,
    Busy,
    DataDirLocked,
    Fault,
    ModelNotFound,
    Refusal,
    Unreachable,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refusal("no"), 1),
        (Fault("broke"), 1),
        (ModelNotFound("m"), 1),
        (Busy("later"), 1),
        (DaemonRefused("no", 404), 1),
        (DaemonFailed("broke", 502), 1),
        (WrongUse("what"), 2),
        (BindConflict("taken"), 3),
        (DataDirLocked("taken"), 3),
        (Unreachable("nobody"), 4),
        (NotStarted("taken", 3), 3),
    ],
)
def test_each_class_has_its_exit_code(error: BlazarError, code: int) -> None:
    """The table of the surface: 1 refused or failed, 2 usage, 3 taken, 4 unreachable."""
    assert exit_code(error) == code


def test_an_error_is_one_line() -> None:
    """Line breaks inside a sentence do not reach the terminal."""
    stream = io.StringIO()
    assert report("one\n  two", 1, as_json=False, stream=stream) == 1
    assert stream.getvalue() == "error: one two\n"


def test_with_json_the_error_is_the_native_envelope() -> None:
    """The shape of D10 with the exit code where the API has its status."""
    stream = io.StringIO()
    report("größer", 4, as_json=True, stream=stream)
    error = json.loads(stream.getvalue())["error"]
    assert error == {"message": "größer", "type": "blazar_error", "param": None, "code": 4}
    assert "größer" in stream.getvalue()


def test_a_closed_stderr_changes_nothing_about_the_code() -> None:
    """The code is returned even where the sentence cannot be printed."""
    stream = io.StringIO()
    stream.close()
    assert report("x", 3, as_json=False, stream=stream) == 3


def test_a_name_does_not_steer_the_terminal():
    """Files and names hold what anybody put there."""
    out = io.StringIO()
    report("unknown key '\x1b[31m\udcff'", 1, as_json=False, stream=out)
    assert out.getvalue() == "error: unknown key '\ufffd[31m\ufffd'\n"
