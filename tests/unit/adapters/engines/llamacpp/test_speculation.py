"""Who guesses tokens ahead."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.engines.llamacpp.speculation import (
    AUTO,
    DRAFT,
    GUESSED,
    TYPES,
    choose,
    drafts,
    guesses,
    speculation,
)
from blazar.application.config.model import Config
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Task
from blazar.domain.launch import Beside, Brief, Drafts, Places
from blazar.domain.manifest import Manifest, Option, parse_help
from tests.fakes.catalog import a_model
from tests.fakes.hardware import a_machine
from tests.support.fit_shapes import DENSE, alternating

HELP = Path(__file__).parents[4] / "fixtures" / "help"
B11434 = parse_help((HELP / "llama-server-b11434.txt").read_text())
WHEEL = parse_help((HELP / "embedded.txt").read_text())
OLD = Manifest.spelled(["--model"])
TYPED = Manifest([Option(("--spec-type",), value="TYPE")])
NOTHING = Manifest([Option(("--spec-type",), value="none,draft-simple")])
DRAFTED = Beside(draft="/d.gguf", draft_family="eagle3")
HEADED = replace(DENSE, nextn=1)


def a_brief(manifest: Manifest = B11434, *, said: Any = None, **facts: Any) -> Brief:
    settings = {**Config().settings_for("m"), **(said or {})}
    return Brief(settings, a_model("m"), a_machine(), manifest, "b1", **{"shape": DENSE, **facts})


def why(name: str) -> str:
    return teaching.spec_reason(name)


@pytest.mark.parametrize(
    ("brief", "type_", "reason"),
    [
        (a_brief(), AUTO, "ngram"),
        (a_brief(shape=None), AUTO, "ngram"),
        (a_brief(shape=HEADED), "draft-mtp", "heads"),
        (a_brief(beside=DRAFTED), "draft-eagle3", "pair"),
        (a_brief(beside=Beside(draft="/d.gguf", draft_family="simple")), "draft-simple", "pair"),
        (a_brief(beside=Beside(draft="/d.gguf", draft_family="odd")), AUTO, "ngram"),
        (a_brief(said={"spec_auto_ngram": False}), "", "no-ngram"),
        (a_brief(said={"spec": "off"}), "", "off"),
        (a_brief(said={"deterministic": True}), "", "deterministic"),
        (a_brief(task=Task.EMBED), "", "embed"),
        (a_brief(task=Task.EMBED, said={"spec": "eagle3"}), "", "embed"),
        (a_brief(shape=alternating(4)), "", "stateful"),
        (a_brief(said={"extra_args": ("-md", "/d")}), "", "extra"),
        (a_brief(said={"extra_args": ("--spec-type", "none"), "spec": "ngram"}), "", "extra"),
        (a_brief(OLD), "", "build"),
        (a_brief(WHEEL), AUTO, "ngram"),
        (a_brief(Manifest()), "", "unasked"),
        (a_brief(TYPED, shape=HEADED), "draft-mtp", "heads"),
        (a_brief(TYPED), AUTO, "ngram"),
        (a_brief(NOTHING), "", "build"),
    ],
)
def test_auto_and_what_stands_in_its_way(brief, type_, reason):
    """Heads, then a draft, then what was said so far; each way that is not taken has a reason, and nothing is refused."""
    chosen = choose(brief)
    assert (chosen.type, chosen.reason) == (type_, why(reason))
    assert bool(chosen.note) == (reason == "ngram")


def test_the_fallback_names_the_knobs_that_switch_it_off():
    """A warning, where nobody asked for it (setup document)."""
    assert speculation(a_brief()).notes == (teaching.spec_fallback(),)
    assert 'spec = "off"' in teaching.spec_fallback()
    assert "spec_auto_ngram" in teaching.spec_fallback()
    assert speculation(a_brief(said={"spec": "ngram"})).notes == ()


def test_what_is_left_out_is_a_decision():
    """`explain` says why nothing guesses."""
    (left,) = speculation(a_brief(OLD)).choices
    assert (left.words, left.key, left.reason) == ((), "spec", why("build"))
    assert speculation(a_brief()).choices == ()


@pytest.mark.parametrize(
    ("facts", "set_", "silent"),
    [
        (
            {"said": {"spec": "off"}},
            ["lookup_cache_static", "spec_draft_ngl"],
            ["spec_draft_ngl", "lookup_cache_static"],
        ),
        ({"said": {"spec": "ngram-mod"}}, ["ngram_size_n", "ngram_mod_n_max"], ["ngram_size_n"]),
        ({"said": {"spec": "ngram-map-k"}}, ["ngram_size_n", "ngram_mod_n_max"], ["ngram_mod_n_max"]),
        ({"said": {"spec": "eagle3"}, "beside": DRAFTED}, ["spec_draft_p_min", "ngram_min_hits"], ["ngram_min_hits"]),
        ({}, ["lookup_cache_dynamic", "spec_draft_threads"], ["spec_draft_threads"]),
        ({}, ["spec", "threads", "spec_cache"], []),
        ({"task": Task.EMBED}, ["spec_draft_threads"], []),
        ({"said": {"extra_args": ("-md", "/d")}}, ["spec_draft_threads"], []),
    ],
)
def test_keys_of_another_way_are_named_where_somebody_set_them(facts, set_, silent):
    """In one note, with what is done instead; an embedding model misses nothing."""
    origins, said = dict.fromkeys(set_, "config.toml, line 1"), {**dict.fromkeys(set_, 7), "spec": "auto"}
    brief = a_brief(origins=origins, **{**facts, "said": said | facts.get("said", {})})
    chosen = choose(brief)
    wanted = (teaching.spec_silent(silent, chosen.type, chosen.reason),) if silent else ()
    assert tuple(note for note in speculation(brief).notes if note != chosen.note) == wanted


def test_a_default_in_so_many_words_is_no_key_of_another_way():
    """A file of all defaults chooses nothing."""
    origins = dict.fromkeys(["spec_draft_ngl", "ngram_size_n", "lookup_cache_static"], "config.toml, line 1")
    assert speculation(a_brief(said={"spec": "off"}, origins=origins)).notes == ()


@pytest.mark.parametrize("spec", ["ngram", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"])
def test_an_n_gram_type_that_is_asked_for(spec):
    """It needs nothing, also with deterministic answers; a build that could not be asked is trusted."""
    for brief in (a_brief(said={"spec": spec, "deterministic": True}), a_brief(Manifest(), said={"spec": spec})):
        chosen = choose(brief)
        assert chosen.type == TYPES.get(spec, spec)
        assert chosen.most == GUESSED[chosen.type]
        assert chosen.reason == teaching.flag_because("spec", "")


@pytest.mark.parametrize(
    ("brief", "sentence"),
    [
        (a_brief(said={"spec": "mtp"}), teaching.spec_needs_heads("mtp")),
        (a_brief(said={"spec": "eagle3"}), teaching.spec_needs_draft("eagle3")),
        (a_brief(said={"spec": "dflash"}, beside=DRAFTED), teaching.spec_needs_draft("dflash")),
        (a_brief(said={"spec": "dspark"}), teaching.spec_needs_draft("dspark")),
        (a_brief(OLD, said={"spec": "ngram"}), teaching.spec_unknown("ngram", "b1")),
        (a_brief(said={"spec": "mtp-adaptive"}, shape=HEADED), teaching.spec_adaptive_unknown("b1")),
        (a_brief(WHEEL, said={"spec": "mtp-adaptive"}, shape=HEADED), teaching.spec_adaptive_unknown("b1")),
        (a_brief(Manifest(), said={"spec": "mtp-adaptive"}, shape=HEADED), teaching.spec_adaptive_unknown("b1")),
    ],
)
def test_a_way_that_cannot_be_had_is_refused_with_a_remedy(brief, sentence):
    """Where somebody asked for it; the key is named."""
    with pytest.raises(Malformed) as caught:
        choose(brief)
    assert (str(caught.value), caught.value.field) == (sentence, "spec")


@pytest.mark.parametrize(
    ("brief", "type_", "draft"),
    [
        (a_brief(said={"spec": "eagle3"}, beside=DRAFTED), "draft-eagle3", "/d.gguf"),
        (a_brief(said={"spec": "mtp"}, shape=HEADED), "draft-mtp", ""),
        (a_brief(said={"spec": "mtp"}, shape=None), "draft-mtp", ""),
        (a_brief(said={"spec": "mtp"}, beside=Beside(draft="/h.gguf", draft_family="mtp")), "draft-mtp", "/h.gguf"),
        (a_brief(WHEEL, said={"spec": "mtp"}, shape=HEADED), "draft-mtp", ""),
    ],
)
def test_a_way_that_is_asked_for_and_can_be_had(brief, type_, draft):
    """With the draft of its own family; heads need none, and a file that nobody can read is believed to have them."""
    chosen = choose(brief)
    assert (chosen.type, chosen.draft, chosen.note) == (type_, draft, "")


@pytest.mark.parametrize(("heads", "most"), [(1, 8), (3, 3), (20, 8)])
def test_adaptive_mtp_waits_for_its_build(heads, most):
    """As soon as a build lists it: 8 tokens, and not more than there are heads, one of which may serve again and again."""
    build = Manifest([Option(("--spec-type",), value="none,draft-mtp,draft-mtp-adaptive")])
    told = speculation(a_brief(build, said={"spec": "mtp-adaptive"}, shape=replace(DENSE, nextn=heads))).told
    assert (told["spec_type"], told["draft_n_max"]) == ("draft-mtp-adaptive", most)


def test_only_the_chosen_family_s_keys_are_said():
    """Those of others would be words about nothing."""
    keys = {"ngram_size_n": 4, "ngram_mod_n_max": 9, "spec_draft_threads": 2}
    simple = speculation(a_brief(said={"spec": "ngram-map-k", **keys})).told
    assert (simple["ngram_size_n"], simple["ngram_mod_n_max"], simple["spec_draft_threads"]) == (
        ("ngram-map-k", 4),
        None,
        None,
    )
    mod = speculation(a_brief(said={"spec": "ngram-mod", **keys})).told
    assert (mod["ngram_size_n"], mod["ngram_mod_n_max"]) == (None, 9)
    # Left as they are: the plan may have placed the draft.
    assert not set(DRAFT) & set(speculation(a_brief(said=keys, beside=DRAFTED)).told)
    assert not set(DRAFT) & set(speculation(a_brief(said={"extra_args": ("-md", "/d"), **keys})).told)


def test_odd_lookup_caches_belong_to_one_type():
    """The model's own file is the refreshed one, unless configured or switched off."""
    places = Places(lookup_cache="/s/m.ngram")
    assert speculation(a_brief(places=places)).told["lookup_cache_dynamic"] == "/s/m.ngram"
    assert speculation(a_brief(places=places, said={"spec_cache": False})).told["lookup_cache_dynamic"] == ""
    own = {"lookup_cache_dynamic": "/x", "lookup_cache_static": "/y"}
    told = speculation(a_brief(places=places, said=own)).told
    assert (told["lookup_cache_dynamic"], told["lookup_cache_static"]) == ("/x", "/y")
    other = speculation(a_brief(places=places, said={"spec": "ngram-mod", **own})).told
    assert (other["lookup_cache_dynamic"], other["lookup_cache_static"]) == ("", "")


def test_what_memory_is_planned_with():
    """Rows of logits, a second model, or heads of the model's own."""
    assert drafts(a_brief()) == Drafts(8)
    assert drafts(a_brief(said={"spec": "ngram-simple", "ngram_size_m": 16})) == Drafts(16)
    assert drafts(a_brief(beside=DRAFTED)) == Drafts(3, "/d.gguf")
    assert drafts(a_brief(shape=HEADED)) == Drafts(3, "", heads=True)
    assert drafts(a_brief(said={"spec": "off"})) == Drafts()


def test_a_command_line_tells_whether_its_child_guesses():
    """The last word of the type counts; without one, a draft model decides it."""
    assert guesses(("--spec-type", "ngram-cache"))
    assert not guesses(("--spec-type", "ngram-cache", "--spec-type", "none"))
    assert not guesses(("--ctx-size", "5", "--model", "-md.gguf"))
    for words in (("-md", "/d.gguf"), ("--model-draft", "/d.gguf"), ("--spec-default",)):
        assert guesses(words)
        assert not guesses((*words, "--spec-type", "none"))
