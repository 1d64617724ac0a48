"""The words of `engine`."""

from blazar.adapters.cli.completion import nodes
from blazar.adapters.cli.engine_words import KINDS
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


def test_other_verbs_do_not_pay_for_them() -> None:
    """With verbs named, only theirs are made."""
    assert "engine" not in build_parser(["ps"]).format_help().partition("options:")[0].partition("verbs")[2]
