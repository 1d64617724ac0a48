"""The words of `keys`."""

from blazar.adapters.cli.completion import nodes, script
from blazar.adapters.cli.key_words import KEYS_EXAMPLES
from blazar.adapters.cli.parser import build_parser, parse


def test_the_family_is_the_surfaces() -> None:
    """add, list, rm, rotate, usage."""
    family = next(node for node in nodes() if node.path == "keys")
    assert set(family.verbs) == {"add", "list", "ls", "rm", "rotate", "usage"}


def test_no_option_takes_a_secret() -> None:
    """What is on a command line stands in the list of processes and in the shell's history."""
    words = {
        name for node in nodes() if node.path.startswith("keys") for option in node.options for name in option.names
    }
    assert not {"--key", "--secret", "--token", "--api-key"} & words


def test_limits_are_numbers_and_models_repeat() -> None:
    """What is left out is no limit."""
    words = ["keys", "add", "x", "--model", "a", "--model", "b", "--rpm", "3", "--daily-tokens", "9", "--weight", "0.5"]
    args = parse(words)
    assert (args.action, args.name, args.models, args.rpm, args.tpm) == ("keys-add", "x", ["a", "b"], 3, None)
    assert (args.daily_tokens, args.max_concurrent, args.weight) == (9, None, 0.5)


def test_names_of_keys_are_completed() -> None:
    """Where a key is meant that is there."""
    listed = {node.path: node.listed for node in nodes()}
    for verb in ("rm", "rotate", "usage"):
        assert listed[f"keys {verb}"] == ("blazar keys list --quiet 2>/dev/null",)
    assert listed["keys add"] == ("blazar list --quiet 2>/dev/null",) or listed["keys add"] == ()
    for shell in ("bash", "zsh", "fish"):
        assert "blazar keys list --quiet" in script(shell)


def test_examples_fit_a_terminal() -> None:
    """Lines are not wrapped, so they must be short."""
    assert KEYS_EXAMPLES.startswith("examples:\n")
    assert max(map(len, KEYS_EXAMPLES.splitlines())) <= 90


def test_other_verbs_do_not_pay_for_them() -> None:
    """With verbs named, only theirs are made."""
    assert "keys" not in build_parser(["ps"]).format_help().partition("options:")[0].partition("verbs")[2]
