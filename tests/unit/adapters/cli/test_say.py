"""How verbs speak."""

import argparse
import io
import json
import sys

import pytest

from blazar.adapters.cli.root import Pruning
from blazar.adapters.cli.say import confirm, put_json, say_pruned, working


class Terminal(io.StringIO):
    """Where a person reads."""

    def isatty(self) -> bool:
        return True


def asked(*, as_json: bool = False, quiet: bool = False) -> argparse.Namespace:
    return argparse.Namespace(json=as_json, quiet=quiet)


def test_json_is_one_readable_document(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is, without escapes for letters of other languages."""
    put_json({"name": "ünï", "rows": [1, None]})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": "ünï", "rows": [1, None]}
    assert "ünï" in out


def test_what_was_done_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence; facts with --json; nothing with --quiet, but --json wins."""
    confirm(asked(), "done", name="m")
    assert capsys.readouterr().out == "done\n"
    confirm(asked(quiet=True), "done", name="m")
    assert capsys.readouterr().out == ""
    confirm(asked(as_json=True, quiet=True), "done", name="m")
    assert json.loads(capsys.readouterr().out) == {"name": "m"}


def test_what_was_done_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A path or a name in the sentence may try to; its lines stay lines."""
    confirm(asked(), "set in \x1b[2Ja\nwarning: b")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.count("\n") == 2


def test_waiting_is_shown_on_a_terminal_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when what was waited for fails."""
    monkeypatch.setattr(sys, "stderr", Terminal())

    def failing() -> None:
        with working(asked(), "loading m"):
            assert "loading m" in sys.stderr.getvalue()  # type: ignore[attr-defined]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")  # type: ignore[attr-defined]


@pytest.mark.parametrize("args", [asked(as_json=True), asked(quiet=True)])
def test_waiting_is_not_shown_to_programs(monkeypatch: pytest.MonkeyPatch, args: argparse.Namespace) -> None:
    """With --json or --quiet, terminal or not; nor into a pipe."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    with working(args, "loading m"):
        pass
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with working(asked(), "loading m"):
        pass
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_what_an_install_pushed_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Said where somebody reads; what stays for now is a warning in every case, and drives no terminal."""
    pruning = Pruning(("b1",), ("it serves x\x1b[2J",), 2)
    say_pruned(asked(), pruning)
    said = capsys.readouterr()
    assert said.out == "removed older builds: b1 (keep_tags = 2)\n"
    assert said.err.startswith("warning: an older build stays for now: it serves x")
    assert "\x1b" not in said.err
    say_pruned(asked(as_json=True), Pruning(("b1",)))
    say_pruned(asked(quiet=True), Pruning(("b1",)))
    say_pruned(asked(), Pruning())
    assert capsys.readouterr() == ("", "")
