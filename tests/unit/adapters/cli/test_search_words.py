"""The words of `search`."""

from blazar.adapters.cli.parser import build_parser, parse


def test_several_words_are_one_search() -> None:
    """With the limit before or behind them."""
    args = parse(["search", "qwen3", "coder", "--limit", "3"])
    assert (args.action, args.words, args.limit, args.local) == ("search", ["qwen3", "coder"], 3, True)
    assert parse(["search", "-n", "5", "x"]).limit == 5
    assert parse(["search", "x"]).limit == 10


def test_its_help_has_examples_that_parse() -> None:
    """As they stand there."""
    verbs = build_parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    examples = [
        line.split("  ")[1] for line in str(verbs["search"].epilog).splitlines() if line.startswith("  blazar search")
    ]  # type: ignore[index]
    assert len(examples) == 2
    for example in examples:
        assert parse(example.split()[1:]).action == "search"
