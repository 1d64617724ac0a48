"""Completion scripts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from blazar.adapters.cli.completion import nodes, script
from blazar.domain.kinds import EngineKind
from tests.support.command_line import Cli

SHELLS = ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_option_is_in_every_script(shell: str) -> None:
    """They are made from the parser; nothing is listed twice."""
    text = script(shell)
    for node in nodes():
        for word in (*node.verbs, *node.words):
            assert word in text
        for option in node.options:
            long = next(name for name in option.names if name.startswith("--"))
            assert (long if shell != "fish" else f"-l {long[2:]}") in text


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_parse(shell: str, tmp_path: Path) -> None:
    """By the shell itself where it is installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    file = tmp_path / "script"
    file.write_text(script(shell))
    done = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def completed(tmp_path: Path, *words: str) -> list[str]:
    """What bash would offer behind these words; `blazar` itself answers with two models, or keys."""
    program = tmp_path / "blazar"
    cases = "*--pinned*) echo held ;; *--pinnable*) echo loose ;; *) printf 'tiny\\nteeny\\n' ;;"
    program.write_text(f'#!/bin/sh\ncase "$*" in {cases} esac\n')
    program.chmod(0o755)
    (tmp_path / "script").write_text(script("bash"))
    code = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _blazar; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", code, str(tmp_path / "script"), *words],
        capture_output=True,
        text=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["blazar", "eng"], {"engine"}),
        (
            ["blazar", "engine", ""],
            {*["list", "ls", "install", "update", "check", "build", "use", "rollback", "pin", "unpin", "rm"]},
        ),
        (["blazar", "--host", "ps", "engine", "us"], {"use"}),
        (["blazar", "engine", "rm", "t"], {"tiny", "teeny"}),
        (["blazar", "ps", "--re"], {"--reset"}),
        (["blazar", "run", "t"], {"tiny", "teeny"}),
        (["blazar", "completion", ""], {"bash", "zsh", "fish"}),
        (["blazar", "config", "get", "t"], {"tiny", "teeny"}),
        (["blazar", "config", "unset", "te"], {"teeny"}),
        (["blazar", "import", "x"], set()),
        (["blazar", "engine", "update", "--kind", ""], {"llamacpp", "sglang", "mistralrs", "mlx", "sdcpp"}),
        (["blazar", "engine", "rollback", "--kind", "s"], {"sglang", "sdcpp"}),
        (["blazar", "engine", "install", "--backend", ""], {"cpu", "cuda", "metal"}),
        (["blazar", "engine", "pin", ""], {"loose"}),
        (["blazar", "engine", "unpin", ""], {"held"}),
    ],
)
def test_bash_offers_what_fits(tmp_path: Path, words: list[str], offered: set[str]) -> None:
    """Verbs, options and models, each where it belongs; files everywhere else."""
    assert set(completed(tmp_path, *words)) == offered


def test_values_of_an_option_are_in_every_script() -> None:
    """Where there is a closed set of them."""
    kinds = " ".join(EngineKind)
    for shell in ("bash", "zsh"):
        assert f'case "$before" in --kind) found="{kinds}" ;;' in script(shell)
    assert f"-l kind -x -a '{kinds}'" in script("fish")


def test_the_verb_prints_the_script(cli: Cli) -> None:
    """Ready for `source <(…)`."""
    assert cli("completion", "bash").out == script("bash")
    assert cli("completion", "zsh").out.startswith("#compdef blazar\n")
    assert cli("completion", "fish", "--json").json()["shell"] == "fish"
