"""From words to an exit code."""

import json
from pathlib import Path

import pytest

from blazar.adapters.cli import shell
from blazar.adapters.cli.shell import run_words
from blazar.domain import teaching
from tests.support.command_line import Cli, FakeRoot


def test_no_verb_is_usage_with_help_on_stderr(cli: Cli) -> None:
    """A script that forgot its verb must not read help as a result."""
    said = cli()
    assert (said.code, said.out) == (2, "")
    assert "usage: blazar" in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lst"], "error: blazar has no verb 'lst'; did you mean list or ls? (blazar --help lists them)\n"),
        (["engine", "instal"], "error: blazar engine has no verb 'instal'; did you mean install"),
        (["ps", "--nope"], "error: unrecognized arguments: --nope (see blazar ps --help)\n"),
        (
            ["config", "set", "a", "x", "--b"],
            "error: unrecognized arguments: --b; words that begin with a dash stand behind --: blazar config set a -- --b (see blazar config set --help)\n",
        ),
        (["qqqqq"], "error: blazar has no verb 'qqqqq' (blazar --help lists them)\n"),
    ],
)
def test_wrong_words_are_one_line_and_exit_2(cli: Cli, words: list[str], sentence: str) -> None:
    """With what was probably meant, and where help is."""
    said = cli(*words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(sentence)


@pytest.mark.parametrize(
    "words",
    [["show", "\udcff"], ["run", "m", "a", "\udcff b"], ["rm", "m", "\udcff"], ["load", "m", "--keep-alive", "\udcff"]],
)
def test_an_argument_that_is_no_text_is_refused(cli: Cli, words: list[str]) -> None:
    """Bytes that are not UTF-8 have no place in a name or a prompt; neither SQLite nor JSON could hold them."""
    said = cli(*words)
    assert (said.code, said.out, said.err) == (2, "", f"error: {teaching.argument_not_text()}\n")


def test_a_path_may_hold_any_bytes(cli: Cli, tmp_path: Path) -> None:
    """A file's name is what the file system says it is."""
    said = cli("import", str(tmp_path / "\udcff.gguf"))
    assert teaching.argument_not_text() not in said.err


def test_with_json_errors_are_json_too(cli: Cli) -> None:
    """Wherever --json stands, and even when the words do not parse."""
    for words in (["--json", "status"], ["status", "--json"]):
        error = json.loads(cli(*words).err)["error"]
        assert (error["code"], error["type"]) == (4, "blazar_error")
    assert json.loads(cli("lst", "--json").err)["error"]["code"] == 2


@pytest.mark.parametrize("words", ["import x", "engine list", "config path", "stop", "restart", "logs"])
def test_verbs_of_this_machine_refuse_a_host(cli: Cli, words: str) -> None:
    """`--host elsewhere import x` must not import here."""
    said = cli("--host", "elsewhere", *words.split())
    assert said.code == 2
    assert "leave out --host" in said.err


def test_the_root_is_closed_whatever_happens(cli: Cli, root: FakeRoot) -> None:
    """An open database is let go of."""
    cli("list")
    cli("rm", "nope")
    assert root.closed == 2


@pytest.mark.parametrize(
    ("trouble", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (KeyboardInterrupt("interrupted: half of it is there"), 130, "error: interrupted: half of it is there"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (PermissionError(13, "Permission denied", "/data/x"), 1, "error: access to /data/x failed: Permission denied"),
        (OSError(28, "No space left on device"), 1, "error: reading or writing failed: No space left on device"),
    ],
)
def test_what_happens_to_any_verb(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], trouble: BaseException, code: int, sentence: str
) -> None:
    """Interrupts, readers that left and disks that are full are foreseen once, here."""

    def make_root(_: object) -> FakeRoot:
        raise trouble

    monkeypatch.setattr(shell, "_silence_stdout", lambda: None)
    assert run_words(["list"], make_root) == code
    assert capfd.readouterr().err.strip() == sentence


def test_what_nobody_foresaw_goes_on_up(cli: Cli, root: FakeRoot) -> None:
    """It is the entry point's to report."""
    root.serving = lambda _: 1 // 0
    with pytest.raises(ZeroDivisionError):
        cli("serve")


def test_a_full_disk_behind_stdout_is_noticed(
    root: FakeRoot, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Output is buffered: the last flush tells whether it arrived."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    stream = full.open("w")
    monkeypatch.setattr("sys.stdout", stream)
    code = run_words(["version"], lambda _: root)
    monkeypatch.undo()
    stream.close()
    assert code == 1
    assert "No space left" in capfd.readouterr().err
