"""The words of `pull`."""

from blazar.adapters.cli.completion import nodes, script
from blazar.adapters.cli.parser import parse
from blazar.adapters.cli.pull_words import PULL_EXAMPLES


def test_parts_repeat_and_a_draft_may_be_named() -> None:
    """`--draft` alone is the one that is known to go with it."""
    args = parse(["pull", "a/b", "--with", "vae=c", "--with", "llm=d", "--draft=e/f"])
    assert (args.reference, args.parts, args.draft) == ("a/b", ["vae=c", "llm=d"], "e/f")
    assert parse(["pull", "a/b", "--draft"]).draft == "auto"


def test_its_options_are_completed() -> None:
    """In every shell, by their names; a reference is not a model of the catalog."""
    (pull,) = [node for node in nodes() if node.path == "pull"]
    assert {"--name", "--with", "--draft"} <= {name for option in pull.options for name in option.names}
    assert pull.listed == ()
    for shell in ("bash", "zsh", "fish"):
        assert "draft" in script(shell)


def test_no_option_takes_a_token() -> None:
    """What is on a command line stands in the list of processes and in the shell's history."""
    (pull,) = [node for node in nodes() if node.path == "pull"]
    assert not {"--token", "--key", "--password"} & {name for option in pull.options for name in option.names}
    assert "HF_TOKEN" in PULL_EXAMPLES
