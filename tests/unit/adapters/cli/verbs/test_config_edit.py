"""`blazar config edit`, with shell scripts in the place of an editor."""

import io
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.cli.following import FOLLOWED, Followed
from blazar.adapters.cli.verbs import config_edit
from blazar.adapters.cli.verbs.config_edit import editor
from blazar.domain import teaching
from blazar.domain.errors import Refusal, StoreTrouble
from tests.support.command_line import Cli, FakeRoot, Terminal

Editor = Callable[[str], None]


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that copies are made in."""
    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def edits(root: FakeRoot, copies: Path) -> Editor:
    """Make an editor of Python lines; `file` is the path of the copy."""

    def make(code: str) -> None:
        script = copies.parent / "editor.py"
        script.write_text(f"import sys; from pathlib import Path\nfile = Path(sys.argv[-1])\n{code}\n")
        root.env["VISUAL"] = shlex.join([sys.executable, str(script), "--wait"])

    return make


def test_a_valid_text_takes_the_files_place(cli: Cli, root: FakeRoot, edits: Editor, copies: Path) -> None:
    """What is edited is a copy for the owner alone, with the name of a TOML file; it is gone afterwards."""
    edits("assert file.suffix == '.toml' and file.stat().st_mode & 0o777 == 0o600\nfile.write_text('port = 2')")
    assert cli("config", "edit").out == f"{root.places.config_file} is changed and valid\n"
    assert root.settings.data == b"port = 2"
    assert list(copies.iterdir()) == []
    edits("file.write_text('port = 3')")
    assert cli("config", "edit", "--json").json() == {"path": str(root.places.config_file), "changed": True}


def test_an_unchanged_text_changes_nothing(cli: Cli, root: FakeRoot, edits: Editor, copies: Path) -> None:
    """And that is said."""
    edits("")
    assert cli("config", "edit").out == f"{root.places.config_file} is as it was: nothing was changed\n"
    assert cli("config", "edit", "--json").json()["changed"] is False
    assert list(copies.iterdir()) == []


def test_a_wrong_text_is_kept_aside(cli: Cli, root: FakeRoot, edits: Editor, copies: Path) -> None:
    """Every problem with its line, and where the text is; nothing is asked without a terminal."""
    edits("file.write_text('wrong')")
    said = cli("config", "edit")
    (copy,) = copies.iterdir()
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        f"error: {copy} line 1: wrong",
        f"error: {copy} line 2: worse",
        f"error: {root.places.config_file} is unchanged; what you wrote is kept in {copy}",
    ]
    assert (copy.read_text(), root.settings.data) == ("wrong", b"port = 1\n")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert "is kept in" in cli("config", "edit", "--json").err


@pytest.mark.parametrize(("answers", "code"), [("\n", 0), ("y\n", 0), ("n\n", 1), ("", 1)])
def test_on_a_terminal_it_can_be_edited_again(
    answers: str, code: int, *, cli: Cli, root: FakeRoot, edits: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same copy, until it is right or given up."""
    edits("file.write_text('port = 5' if file.read_text() == 'wrong' else 'wrong')")
    terminal = Terminal(answers)
    monkeypatch.setattr(sys, "stdin", terminal)
    said = cli("config", "edit")
    assert said.code == code
    assert "edit again? [Y/n] " in said.err
    assert said.err.count("line 2: worse") == 1
    assert root.settings.data == (b"port = 5" if code == 0 else b"port = 1\n")


def test_a_change_meanwhile_is_not_undone(cli: Cli, root: FakeRoot, edits: Editor, copies: Path) -> None:
    """What was written is kept aside."""
    root.settings.meanwhile = b"slots = 1"
    edits("file.write_text('port = 2')")
    said = cli("config", "edit")
    (copy,) = copies.iterdir()
    assert (said.code, root.settings.data) == (1, b"slots = 1")
    assert "was changed by something else meanwhile" in said.err
    assert str(copy) in said.err


@pytest.mark.parametrize(
    ("command", "why"), [("/nowhere/ed -x", "No such file or directory"), ("false", "exit code 1")]
)
def test_an_editor_that_fails_changes_nothing(cli: Cli, root: FakeRoot, copies: Path, command: str, why: str) -> None:
    """A sentence that names it and the variables."""
    root.env["EDITOR"] = command
    said = cli("config", "edit")
    name = command.partition(" ")[0]
    assert said.code == 1
    assert said.err == (
        f"error: the editor '{name}' failed ({why}): nothing was changed; VISUAL or EDITOR names another\n"
    )
    assert list(copies.iterdir()) == []


def test_what_was_written_before_a_failure_is_kept(
    cli: Cli, root: FakeRoot, edits: Editor, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor that ends with an error, or a disk that is full: the text is somewhere, and that is said."""
    edits("file.write_text('port = 2'); sys.exit(3)")
    said = cli("config", "edit")
    (copy,) = copies.iterdir()
    assert (said.code, copy.read_text(), root.settings.data) == (1, "port = 2", b"port = 1\n")
    assert said.err.endswith(f"what you wrote is kept in {copy}\n")
    copy.unlink()

    def full(*_: object) -> bool:
        raise StoreTrouble("it cannot be written")

    edits("file.write_text('port = 2')")
    monkeypatch.setattr(root.settings, "replace", full)
    said = cli("config", "edit")
    (copy,) = copies.iterdir()
    assert said.err == f"error: it cannot be written; what you wrote is kept in {copy}\n"


def test_the_environment_names_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VISUAL, then EDITOR, each with its options, then what is usual; none is a sentence."""
    assert editor({"VISUAL": "code --wait", "EDITOR": "ed"}) == ["code", "--wait"]
    assert editor({"VISUAL": " ", "EDITOR": "'my ed'"}) == ["my ed"]
    nano = tmp_path / "nano"
    nano.touch(mode=0o755)
    assert editor({"PATH": str(tmp_path)}) == [str(nano)]
    nano.rename(tmp_path / "vi")
    assert editor({"PATH": str(tmp_path)}) == [str(tmp_path / "vi")]
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(Refusal, match="no editor was found: set VISUAL or EDITOR"):
        editor({})


@pytest.mark.parametrize(
    ("stdin", "stdout", "term"), [(False, True, "xterm"), (True, False, "xterm"), (True, True, "dumb")]
)
def test_what_is_usual_needs_a_terminal(
    cli: Cli,
    root: FakeRoot,
    copies: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    stdin: bool,
    stdout: bool,
    term: str,
) -> None:
    """To type at and to draw on; without, another verb is named, and nothing is left or changed."""
    usual = copies.parent / "vi"
    usual.write_text("#!/bin/sh\necho 'port = 2' > \"$1\"\n")
    usual.chmod(0o755)
    root.env.update(PATH=str(copies.parent), TERM=term)
    asked = {sys.stdin: stdin, sys.stdout: stdout}
    monkeypatch.setattr(config_edit, "is_terminal", lambda stream: asked.get(stream, stdout))
    said = cli("config", "edit")
    assert (said.code, said.err) == (1, f"error: {teaching.editor_without_terminal(str(root.places.config_file))}\n")
    assert (root.settings.data, [*copies.iterdir()]) == (b"port = 1\n", [])
    root.env["EDITOR"] = str(usual)
    assert cli("config", "edit").code == 0


def test_what_an_editor_leaves_beside_the_copy_goes_too(cli: Cli, edits: Editor, copies: Path) -> None:
    """A swap file holds what the configuration holds; it stays only with a text that is kept."""
    leave = "file.with_name(f'.{file.name}.swp').touch(); file.with_name(f'{file.name}~').touch()"
    edits(f"{leave}; sys.exit(1)")
    assert cli("config", "edit").code == 1
    assert [*copies.iterdir()] == []
    edits(f"{leave}; file.write_text('wrong')")
    cli("config", "edit")
    assert len([*copies.iterdir()]) == 3


def test_an_edit_waits_for_the_running_daemon(cli: Cli, edits: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it does not follow in time, that is said; an edit that changes nothing asks nobody."""
    monkeypatch.setattr(config_edit, "follow", lambda _: Followed(there=True, late=True))
    edits("file.write_text('port = 2')")
    assert cli("config", "edit").out.endswith(f"\n{teaching.config_followed_soon(FOLLOWED)}\n")
    edits("")
    assert teaching.config_followed_soon(FOLLOWED) not in cli("config", "edit").out


def test_an_editor_that_is_no_command_line_is_a_sentence() -> None:
    """A quotation mark too many: the variable is named."""
    for name in ("VISUAL", "EDITOR"):
        with pytest.raises(Refusal, match=f"environment variable {name} names no editor"):
            editor({name: "vi 'x"})


def test_no_stdin_is_no_terminal(cli: Cli, edits: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service manager starts programs without one."""
    edits("file.write_text('wrong')")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert cli("config", "edit").code == 1
    monkeypatch.setattr(sys, "stdin", None)
    assert cli("config", "edit").code == 1


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os; file.unlink(); os.mkfifo(file)", "it is not a regular file"),
        ("file.unlink(); file.symlink_to('/dev/zero')", "it is not a regular file"),
        (
            "import os, socket; file.unlink(); os.chdir(file.parent); socket.socket(socket.AF_UNIX).bind(file.name)",
            "it is not a regular file",
        ),
        ("file.unlink(); file.mkdir()", "it is not a regular file"),
        ("file.unlink()", "No such file or directory"),
    ],
    ids=["pipe", "device", "socket", "folder", "gone"],
)
def test_only_a_regular_file_is_read_again(
    cli: Cli, root: FakeRoot, edits: Editor, copies: Path, *, code: str, why: str
) -> None:
    """What an editor leaves in the place of the copy is told in a sentence, and waited for by nobody."""
    edits(code)
    done = cli("config", "edit")
    assert done.code == 1
    assert done.err == f"error: the editor left nothing that can be read ({why}): nothing was changed\n"
    assert root.settings.data == b"port = 1\n"
    assert [path for path in copies.iterdir() if not path.is_dir()] == []
