"""The compiler: settings, extra words and a build's options to one command line with its reasons."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.argv import FLOOR, Decision, Flag, Missing, adapters, fixed, scaled, switch, tristate
from blazar.domain.errors import Malformed
from blazar.domain.launch import (
    Brief,
    Resolved,
    as_configured,
    check_extra,
    compile_launch,
    flags_of,
    said_values,
    together,
)
from blazar.domain.manifest import Manifest, Option, ValueKind
from tests.fakes.catalog import a_model
from tests.fakes.hardware import a_machine


class Rules:
    """A kind with a few flags and two lists of extra words."""

    flags = (
        Flag("--floor", FLOOR, fixed("on"), "it is always said"),
        Flag("--size", "size"),
        Flag("--fast", "fast", tristate),
        Flag("--add", "add", adds=True),
        Flag("--must", "must", missing=Missing.REFUSE),
        Flag("--other", "other", switch),
    )
    server = "some-server"
    joins = False
    reserved = frozenset({"--port", "-p", "--verbose"})
    because: Mapping[str, str] = {"--port": "door", "--verbose": "log"}
    repeats = frozenset({"--many"})
    extra_keys = ("everywhere", "extra_args")
    resolve = staticmethod(as_configured)


def a_brief(manifest: Manifest | None = None, **settings: Any) -> Brief:
    said = {"everywhere": (), "extra_args": (), **settings}
    return Brief(said, a_model("m"), a_machine(), manifest or Manifest(), "b1")


def words(rules: Any = Rules, manifest: Manifest | None = None, **settings: Any) -> str:
    return " ".join(compile_launch(rules, a_brief(manifest, **settings)).words)


def test_rows_in_their_order_and_extra_words_last():
    """The later list of extra words wins, so that it stands last."""
    said = {"other": True, "size": 3, "extra_args": ("--temp", "1"), "everywhere": ("--seed", "2")}
    assert words(**said) == "--floor on --size 3 --other --seed 2 --temp 1"


def test_every_word_has_a_decision_with_a_reason():
    """A row's own, the resolution's, or who set it; in the order of the words."""
    brief = replace(a_brief(size=3, fast=False, extra_args=("--x", "1")), origins={"fast": "config.toml, line 7"})
    rules = type("R", (Rules,), {"resolve": staticmethod(lambda one: Resolved(one.settings, {"size": "it fits"}))})
    assert compile_launch(rules, brief).decisions == (
        Decision(("--floor", "on"), "", "it is always said"),
        Decision(("--size", "3"), "size", "it fits"),
        Decision(("--no-fast",), "fast", teaching.flag_because("fast", "config.toml, line 7")),
        Decision(("--x", "1"), "extra_args", teaching.flag_because("extra_args", "")),
    )


def test_what_a_person_says_is_not_said_twice():
    """Ours is left out, with a decision and a note that name the flag; also for the other half of a pair."""
    came = compile_launch(Rules, a_brief(size=3, fast=True, extra_args=("--size", "9", "--no-fast")))
    assert came.words == ("--floor", "on", "--size", "9", "--no-fast")
    left = [teaching.flag_given_way(flag, "extra_args") for flag in ("--size", "--fast")]
    assert list(came.notes) == left
    assert [one.reason for one in came.decisions if not one.words] == left


def test_a_build_tells_that_two_spellings_are_one_flag():
    """`-s` gives way to nobody where the build could not be asked."""
    known = Manifest([Option(("-s", "--size"), value="N"), Option(("--floor",), value="W")])
    assert words(manifest=known, size=3, extra_args=("-s", "9")) == "--floor on -s 9"
    assert words(size=3, extra_args=("-s", "9")) == "--floor on --size 3 -s 9"


def test_what_would_be_silent_gives_way_without_a_word():
    """Nothing of ours is lost where nothing was to be said."""
    assert compile_launch(Rules, a_brief(size=0, extra_args=("--size", "9"))).notes == ()


def test_flags_that_the_engine_adds_up_are_said_beside_a_person_s():
    """Giving way would take ours away from it. That there are two is noted."""
    assert words(add=1, extra_args=("--add", "2")) == "--floor on --add 1 --add 2"
    came = compile_launch(Rules, a_brief(add=1, extra_args=("--add", "2")))
    assert came.notes == (teaching.extra_arg_added("--add", "add", "extra_args"),)
    assert compile_launch(Rules, a_brief(add=0, extra_args=("--add", "2"))).notes == ()


def test_a_resolution_may_give_way_or_stay_silent_itself():
    """It knows spellings that no help lists, and flags of ours that exclude each other."""
    rules = type("R", (Rules,), {})
    rules.resolve = staticmethod(
        lambda one: Resolved({"size": 1, "other": True}, silent={"--other"}, given={"--size": "everywhere"})
    )
    came = compile_launch(rules, a_brief())
    assert came.words == ("--floor", "on")
    assert came.notes == (teaching.flag_given_way("--size", "everywhere"),)


def test_a_flag_in_both_lists_is_noted():
    """The engine takes the last one; that there are two should be known."""
    came = compile_launch(Rules, a_brief(everywhere=("--x", "1"), extra_args=("--x", "2")))
    assert came.words[-4:] == ("--x", "1", "--x", "2")
    assert came.notes == (teaching.extra_arg_twice("--x", "everywhere", "extra_args"),)


def test_unknown_flags_are_left_out_or_refuse_the_load():
    """By their row; a build that could not be asked is trusted."""
    known = Manifest.spelled(["--floor"])
    came = compile_launch(Rules, a_brief(known, size=1))
    assert (came.words, came.notes) == (("--floor", "on"), (teaching.flag_unknown_to_engine("--size", "b1"),))
    with pytest.raises(Malformed) as caught:
        compile_launch(Rules, a_brief(known, must=1))
    assert str(caught.value) == teaching.flag_needed("--must", "b1")
    with pytest.raises(Malformed) as caught:
        compile_launch(Rules, replace(a_brief(known, must=1), origins={"must": "config.toml, line 3"}))
    because = teaching.flag_because("must", "config.toml, line 3")
    assert str(caught.value) == teaching.flag_needed_by(because, "must", "--must", "b1")
    assert caught.value.field == "must"
    assert words(must=1) == "--floor on --must 1"


def test_odd_a_negative_number_is_a_value():
    """Never a flag (case I4); a repeated flag stays repeated (case I5)."""
    said = ["--cache-ram", "-1", "--temp", "-0.5", "-x", "-.5", "-", "--", "--lora", "a", "--lora", "b"]
    assert flags_of(said) == ["--cache-ram", "--temp", "-x", "--lora", "--lora"]
    assert words(extra_args=tuple(said)).endswith(" ".join(said))


@pytest.mark.parametrize(
    ("word", "known", "sentence"),
    [
        ("--port", (), teaching.extra_arg_reserved("--port")),
        ("-p", ("-p",), teaching.extra_arg_reserved("-p")),
        ("--port=1", (), teaching.extra_arg_reserved("--port")),
        ("--temp=1", ("--temp",), teaching.extra_arg_joined("--temp=1", "--temp", "some-server")),
        ("--temprature", ("--temp",), teaching.extra_arg_unknown("--temprature", "b1")),
        ("--verbose", (), teaching.extra_arg_reserved("--verbose", "log")),
        ("--port 1", (), teaching.extra_arg_reserved("--port 1")),
        ("--temp 0", (), teaching.extra_arg_spaced("--temp 0", "extra_args")),
        ("--temp 0", ("--temp",), teaching.extra_arg_spaced("--temp 0", "extra_args")),
    ],
)
def test_extra_words_that_cannot_stand_there(word, known, sentence):
    """Ours to say, joined, or unknown to the build; the key is named."""
    brief = a_brief(Manifest.spelled(known))
    with pytest.raises(Malformed) as caught:
        check_extra((word, "x"), "extra_args", brief, Rules)
    assert (str(caught.value), caught.value.field) == (sentence, "extra_args")


VALUED = Manifest(
    [
        Option(("--temp",), value="N", kind=ValueKind.FLOAT),
        Option(("--prompt",), value="TEXT", kind=ValueKind.TEXT),
        Option(("--mmap",), ("--no-mmap",)),
        Option(("--list",), value="[X ...]", kind=ValueKind.TEXT),
    ]
)


@pytest.mark.parametrize(
    ("said", "flag", "then"),
    [
        (("--temp",), "--temp", ""),
        (("--temp", "--mmap"), "--temp", "--mmap"),
        (("--temp", "--port", "1"), "--temp", "--port"),
        (("--mmap", "--prompt"), "--prompt", ""),
    ],
)
def test_a_flag_without_its_value_is_refused(said, flag, then):
    """The engine would take the next flag for it; which flags take one, and which words are flags, the build says."""
    with pytest.raises(Malformed) as caught:
        check_extra(said, "extra_args", a_brief(VALUED), Rules)
    assert str(caught.value) == teaching.extra_arg_needs_value(flag, then, "extra_args")


@pytest.mark.parametrize("said", [("--prompt", "-0.5"), ("--prompt", "text"), ("--no-mmap", "--mmap"), ("--mmap",)])
def test_what_is_no_flag_of_the_build_may_be_a_value(said):
    """Numbers below zero and plain text; switches take none."""
    check_extra(said, "extra_args", a_brief(VALUED), Rules)


def test_a_list_that_may_be_empty_needs_no_value():
    """Brackets mark what may be left out in argparse's pages; where flags and values are never joined they mean nothing."""
    joining = type("R", (Rules,), {"joins": True})
    check_extra(("--list", "--mmap"), "extra_args", a_brief(VALUED), joining)
    with pytest.raises(Malformed):
        check_extra(("--list", "--mmap"), "extra_args", a_brief(VALUED), Rules)


def test_a_flag_that_stands_twice_in_one_list_is_noted():
    """Once, in whatever spelling; one that the engine collects is not (case I5), and its opposite is the same question."""
    known = Manifest([Option(("-s", "--seed"), value="N"), Option(("--fast",), ("--no-fast",)), Option(("--floor",))])
    twice = compile_launch(Rules, a_brief(known, extra_args=("--seed", "1", "-s", "2", "-s", "3")))
    assert twice.notes == (teaching.extra_arg_repeated("-s", "-s", "extra_args"),)
    turned = compile_launch(Rules, a_brief(known, extra_args=("--fast", "--no-fast")))
    assert turned.notes == (teaching.extra_arg_repeated("--fast", "--no-fast", "extra_args"),)
    assert compile_launch(Rules, a_brief(extra_args=("--many", "1", "--many", "2"))).notes == ()
    assert compile_launch(Rules, a_brief(everywhere=("--many", "1"), extra_args=("--many", "2"))).notes == ()


def test_values_of_flags_are_read_as_the_engine_reads_them():
    """Joined or apart; a number below zero is a value, the next flag is not."""
    said = said_values(("--a", "1", "--b=2", "--c", "-3", "--d", "--e"))
    assert list(said) == [("--a", "1"), ("--b", "2"), ("--c", "-3"), ("--d", ""), ("--e", "")]


def test_a_parser_that_takes_one_word_is_told_one():
    """Not so what is ours, or unknown to the build."""
    joining = type("R", (Rules,), {"joins": True})
    known = Manifest.spelled(("--temp",))
    assert words(joining, known, extra_args=("--temp=1",)).endswith("--temp=1")
    for word in ("--port=1", "--temprature=1"):
        with pytest.raises(Malformed):
            words(joining, known, extra_args=(word,))


def test_resolutions_are_put_together():
    """Of what is said twice the later holds; warnings and choices add up in their order."""
    one = Resolved({"a": 1, "b": 1}, {"a": "x"}, {"E": "1"}, ("n",), {"--s"}, {"--g": "k"}, (Decision((), "a", "r"),))
    two = Resolved({"b": 2}, {"a": "y"}, {"F": "2"}, ("m",))
    assert together(one, two) == Resolved(
        {"a": 1, "b": 2},
        {"a": "y"},
        {"E": "1", "F": "2"},
        ("n", "m"),
        frozenset({"--s"}),
        {"--g": "k"},
        (Decision((), "a", "r"),),
    )


def test_odd_a_colon_that_no_number_follows_belongs_to_the_path():
    """Of a Windows path too."""
    assert scaled("C:\\a.gguf") == ("C:\\a.gguf", "")
    assert scaled("C:\\a.gguf:0.5") == ("C:\\a.gguf", "0.5")


def test_odd_one_flag_for_all_adapters():
    """Repeated, the engine's last one could win; their order is their numbers."""
    assert adapters("--lora", None) == adapters("--lora", ()) == ()
    assert adapters("--lora", ("b", "a")) == ("--lora", "b,a")
    assert adapters("--lora", ("b", "a:-2", "c:0.5")) == ("--lora-scaled", "b:1,a:-2,c:0.5")
