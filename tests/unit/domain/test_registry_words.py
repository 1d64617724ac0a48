"""What a registry says beside the weights, as far as it can be said here."""

import time

from blazar.domain import teaching
from blazar.domain.overlay import LONGEST, Overlay
from blazar.domain.parcels import Words
from blazar.domain.registry_words import LONGEST_STOP, MOST_STOPS, laid, sifted

OWN = "{{ messages }}"
GO = "{{ if .System }}{{ .System }} {{ end }}{{ .Prompt }} "
RANGE = "{{ range .Messages }}{{ .Content }}{{ end }}"


def test_nothing_said_is_no_overlay() -> None:
    """A licence alone is the row's."""
    assert laid(Words(licence="MIT"), OWN) == (None, {}, ())


def test_what_is_said_means_what_it_means_in_create() -> None:
    """The same keys of the same override."""
    words = Words(GO, "Be brief.", {"temperature": 0.5, "num_ctx": 4096}, ({"role": "user", "content": "hi"},), "MIT")
    said = laid(words, OWN)
    assert said.overlay == Overlay(
        template=GO, system="Be brief.", parameters={"temperature": 0.5, "num_ctx": 4096}, messages=(("user", "hi"),)
    )
    assert set(said.settings) == {"ctx", "extra_args", "chat_template"}
    assert said.notes == ()


def test_a_template_that_engines_do_not_read_gives_way() -> None:
    """To that of the weights; without one it is said what serves."""
    assert laid(Words(RANGE), OWN) == (None, {}, (teaching.pull_template_left(),))
    said = laid(Words(RANGE, system="x"), "")
    assert said.notes == (teaching.pull_template_lacking(),)
    assert said.overlay == Overlay(system="x")


def test_each_parameter_is_judged_by_itself() -> None:
    """One that means nothing takes no other along; of stop words those that an engine can be told stay."""
    said = laid(Words(parameters={"odd": 1, "top_k": 20, "seed": "x", "stop": ["<end>", "-n", "<end>"]}), OWN)
    assert said.overlay == Overlay(parameters={"top_k": 20, "stop": ["<end>"]})
    assert said.notes == (teaching.pull_parameters_left(("odd", "seed", "stop")),)


def test_messages_of_unknown_roles_are_passed_by() -> None:
    """So are those without a text."""
    words = Words(messages=({"role": "tool", "content": "x"}, {"role": "user"}, {"role": "user", "content": "y"}))
    said = laid(words, OWN)
    assert said.overlay is not None
    assert said.overlay.messages == (("user", "y"),)


def test_words_too_long_for_a_command_line_are_left_out() -> None:
    """With a sentence; parameters stay."""
    said = laid(Words(system="x" * (LONGEST + 1), parameters={"top_k": 1}), OWN)
    assert said.overlay == Overlay(parameters={"top_k": 1})
    assert len(said.notes) == 1
    assert "left out" in said.notes[0]
    assert laid(Words(system="x" * (LONGEST + 1)), OWN).overlay is None


def test_a_list_of_stop_words_without_end_costs_nothing() -> None:
    """An engine bears some hundreds; the others are told of."""
    began = time.process_time()
    said = laid(Words(parameters={"stop": [f"<{number}>" for number in range(300_000)]}), OWN)
    assert time.process_time() - began < 2.0
    assert said.overlay is not None
    assert said.overlay.parameters["stop"] == [f"<{number}>" for number in range(MOST_STOPS)]
    assert said.notes == (teaching.pull_stops_left(MOST_STOPS),)
    alike = laid(Words(parameters={"stop": ["a"] * 60_000}), OWN)
    assert (alike.overlay, alike.notes) == (Overlay(parameters={"stop": ["a"]}), ())  # all of it was taken
    assert laid(Words(parameters={"stop": ["x" * (LONGEST_STOP + 1)]}), OWN).notes == (
        teaching.pull_parameters_left(("stop",)),
    )


def test_a_template_too_long_for_a_command_line_is_not_even_read() -> None:
    """However its braces nest."""
    began = time.process_time()
    said = laid(Words("{{ if .System }}" * 60_000), OWN)
    assert time.process_time() - began < 2.0
    assert said == (None, {}, (teaching.pull_template_left(),))


def test_what_cannot_be_written_is_left_out_at_the_door() -> None:
    """Half of a surrogate pair, wherever it stands; a conversation goes whole."""
    half = "a\ud800"
    talk = ({"role": "user", "content": "hi"}, {"role": "assistant", "content": half})
    words, left = sifted(Words(half, half, {"seed": 1, "stop": ["x", half], half: 1}, talk, half))
    assert words == Words(parameters={"seed": 1})
    assert left == ("template", "system", "licence", "stop", "a parameter", "messages")
    whole = Words("t", "s", {"stop": ["x"]}, talk[:1], "MIT")
    assert sifted(whole) == (whole, ())
