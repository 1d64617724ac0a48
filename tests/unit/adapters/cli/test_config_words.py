"""The words of `config`."""

from blazar.adapters.cli.completion import nodes
from blazar.adapters.cli.config_words import CONFIG_EXAMPLES, CONFIG_GET_EXAMPLES, CONFIG_SET_EXAMPLES
from blazar.adapters.cli.parser import build_parser


def test_the_family_names_every_verb_of_its_own() -> None:
    """`config --help` lists what there is, in one line and in words."""
    family = next(node for node in nodes() if node.path == "config")
    parser = build_parser(["config"]).format_help()
    assert set(family.verbs) == {
        "get", "set", "unset", "list", "ls", "defaults", "schema", "edit", "path", "validate",
    }  # fmt: skip
    assert "config" in parser


def test_examples_fit_a_terminal() -> None:
    """Lines are not wrapped, so they must be short."""
    for text in (CONFIG_EXAMPLES, CONFIG_GET_EXAMPLES, CONFIG_SET_EXAMPLES):
        assert text.startswith("examples:\n")
        assert max(map(len, text.splitlines())) <= 90


def test_other_verbs_do_not_pay_for_them() -> None:
    """With verbs named, only theirs are made."""
    assert "config" not in build_parser(["ps"]).format_help().partition("options:")[0].partition("verbs")[2]
