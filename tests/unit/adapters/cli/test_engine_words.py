"""The words of `engine`."""

import re
import shlex

import pytest

from blazar.adapters.cli.completion import ENGINE_TAGS, nodes
from blazar.adapters.cli.engine_words import EXAMPLES, KINDS
from blazar.adapters.cli.parser import build_parser, parse
from blazar.domain.kinds import EngineKind


def test_every_kind_can_be_named() -> None:
    """And llama.cpp need not be."""
    assert set(KINDS) == set(EngineKind)
    for kind in EngineKind:
        assert parse(["engine", "rollback", "--kind", kind]).kind == kind
    assert parse(["engine", "install", "f.zip"]).kind == "llamacpp"


def test_the_family_names_every_verb_of_its_own() -> None:
    """`engine --help` lists what there is."""
    family = next(node for node in nodes() if node.path == "engine")
    said = build_parser(["engine"]).format_help()
    assert "engine" in said
    assert {"list", "install", "use", "rollback", "pin", "unpin", "rm"} <= set(family.verbs)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_every_verb_has_an_example_that_can_be_typed(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its `--help` shows it, unwrapped; whoever types one means that verb."""
    with pytest.raises(SystemExit):
        parse(["engine", verb, "--help"])
    shown = capsys.readouterr().out
    lines = [line for line in EXAMPLES[verb].splitlines() if line.startswith("  blazar ")]
    assert lines
    assert max(map(len, EXAMPLES[verb].splitlines())) <= 90
    for line in lines:
        assert line in shown
        words = shlex.split(re.split(r" {3,}", line.strip())[0])  # what follows says what it does
        assert parse(words[1:]).action == f"engine-{verb}"


def test_no_verb_is_without_one() -> None:
    """And tags are offered to whoever has to say one."""
    family = next(node for node in nodes() if node.path == "engine")
    assert set(EXAMPLES) == set(family.verbs) - {"ls"}
    by_path = {node.path: node.listed for node in nodes()}
    for verb in ("use", "rm"):
        assert by_path[f"engine {verb}"] == (ENGINE_TAGS,)
    # Of these, not every build is for them.
    for verb, option in (("pin", "--pinnable"), ("unpin", "--pinned")):
        assert by_path[f"engine {verb}"] == (ENGINE_TAGS.replace("--quiet", f"--quiet {option}"),)


def test_other_verbs_do_not_pay_for_them() -> None:
    """With verbs named, only theirs are made."""
    assert "engine" not in build_parser(["ps"]).format_help().partition("options:")[0].partition("verbs")[2]
