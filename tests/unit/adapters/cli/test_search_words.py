"""The words of `search`."""

import pytest

from blazar.adapters.cli.parser import parse


def test_several_words_are_one_search() -> None:
    """With the limit before or behind them."""
    args = parse(["search", "qwen3", "coder", "--limit", "3"])
    assert (args.action, args.words, args.limit, args.local) == ("search", ["qwen3", "coder"], 3, True)
    assert parse(["search", "-n", "5", "x"]).limit == 5
    assert parse(["search", "x"]).limit == 10


def test_its_help_has_examples_that_parse(capsys: pytest.CaptureFixture[str]) -> None:
    """As they stand there."""
    with pytest.raises(SystemExit):
        parse(["search", "--help"])
    lines = capsys.readouterr().out.splitlines()
    examples = [line.strip().split("  ")[0] for line in lines if line.startswith("  blazar search")]
    assert len(examples) == 2
    for example in examples:
        assert parse(example.split()[1:]).action == "search"
