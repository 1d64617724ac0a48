"""Settings to words, emitter by emitter."""

from typing import Any

import pytest

from blazar.domain.argv import (
    Emit,
    Flag,
    always,
    beginnings,
    compile_argv,
    joined,
    repeat,
    switch,
    tristate,
    unless,
    value,
)


@pytest.mark.parametrize(
    ("emit", "setting", "words"),
    [
        (value, 3, ("--x", "3")),
        (value, "a", ("--x", "a")),
        (value, 0, ()),
        (value, "", ()),
        (value, None, ()),
        (always, 0, ("--x", "0")),
        (always, False, ("--x", "False")),
        (always, None, ()),
        (switch, True, ("--x",)),
        (switch, False, ()),
        (switch, None, ()),
        (tristate, True, ("--x",)),
        (tristate, False, ("--no-x",)),
        (tristate, None, ()),
        (repeat, ["a", 2], ("--x", "a", "--x", "2")),
        (repeat, None, ()),
        (joined, ["a", 2], ("--x", "a,2")),
        (joined, [], ()),
    ],
)
def test_each_emitter_says_its_setting(emit: Emit, setting: Any, words: tuple[str, ...]) -> None:
    """What is said for a setting, and when nothing is."""
    assert emit("--x", setting) == words


def test_beginnings_of_a_flag() -> None:
    """From the first letter on; two dashes alone are none."""
    assert beginnings("--abc") == {"--a", "--ab", "--abc"}


def test_odd_unset_is_not_false() -> None:
    """Off is said, unset is the engine's to decide."""
    assert tristate("--x", None) == ()
    assert tristate("--x", False) == ("--no-x",)


def test_odd_0_may_be_a_real_choice() -> None:
    """Only the engine's own default is silent, whichever number that is."""
    assert unless(-1)("--x", 0) == ("--x", "0")
    assert unless(-1)("--x", -1) == unless(0)("--x", 0) == unless(-1)("--x", None) == unless(-1)("--x", "") == ()


TABLE = (Flag("--a", "a"), Flag("--b", "b", tristate), Flag("--c", "c", switch))


def test_words_follow_the_table() -> None:
    """The table's order decides, settings without a flag are passed over."""
    assert compile_argv(TABLE, {"c": True, "a": 1, "z": 9}, ()).words == ("--a", "1", "--c")


def test_unknown_flags_are_reported_and_never_sent() -> None:
    """A build that does not list a spelling does not get it, negatives counted by themselves; nothing is guessed."""
    argv = compile_argv(TABLE, {"a": 1, "b": False, "c": True}, {"--a", "--b"})
    assert argv.words == ("--a", "1")
    assert argv.unknown == ("--no-b", "--c")


def test_a_build_that_cannot_be_asked_gets_everything() -> None:
    """Without a probe nothing is filtered."""
    assert compile_argv(TABLE, {"c": True}, ()).unknown == ()
