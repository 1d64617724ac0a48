"""How SGLang is told to guess tokens."""

from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.engines.sglang.spec import SGLANG
from blazar.adapters.engines.sglang.speculation import GRAPHS, GUESSED, Needs, algorithm, needs
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Task, Weights
from blazar.domain.launch import Beside, Brief, Compiled, compile_launch
from tests.support.lane_briefs import brief

PAIR = Beside(draft="/models/m-eagle3", draft_family="eagle3")


def of(beside: Beside | None = None, **said: Any) -> Brief:
    found = brief(Weights.SAFETENSORS, ("/models/m/model.safetensors",), said)
    return replace(found, ctx=8192, ctx_size=8192, beside=beside or Beside())


def said(compiled: Compiled) -> str:
    """The words about speculation."""
    words = " ".join(compiled.words)
    return words[words.index("--spec") : words.index(" --enable-metrics")] if "--spec" in words else ""


def test_speculation_is_opt_in() -> None:
    """`auto` guesses nothing, not even with a draft at hand: measured to lose at every load."""
    for beside in (Beside(), PAIR):
        result = compile_launch(SGLANG, of(beside))
        assert said(result) == ""
        assert teaching.spec_opt_in("SGLang") in {decision.reason for decision in result.decisions}
        assert result.notes == ()


def test_ngram_is_chosen_in_the_table() -> None:
    """With its two depths."""
    result = compile_launch(
        SGLANG, of(sglang__spec_algorithm="ngram", sglang__spec_num_steps=2, sglang__spec_num_draft_tokens=8)
    )
    words = "--speculative-algorithm NGRAM --speculative-num-steps 2 --speculative-num-draft-tokens 8"
    assert said(result) == words
    assert result.notes == ()


def test_eagle3_is_a_draft_pair() -> None:
    """The family of llama.cpp's lane; it wins over n-grams."""
    result = compile_launch(SGLANG, of(PAIR, spec="eagle3", sglang__spec_algorithm="ngram"))
    assert said(result) == "--speculative-algorithm EAGLE3 --speculative-draft-model-path /models/m-eagle3"


def test_eagle3_without_its_draft_is_refused() -> None:
    """As in llama.cpp's lane: also where the draft at hand is another family's."""
    for beside in (Beside(), Beside("", "/models/d", "dflash")):
        with pytest.raises(Malformed, match="eagle3"):
            compile_launch(SGLANG, of(beside, spec="eagle3"))


def test_odd_the_depths_of_a_draft_are_said_together_or_not_at_all() -> None:
    """The engine asserts it; a lone one is left out with a note that names what is missing."""
    depths = {"sglang__spec_num_steps": 3, "sglang__speculative_eagle_topk": 4, "sglang__spec_num_draft_tokens": 16}
    whole = said(compile_launch(SGLANG, of(PAIR, spec="eagle3", **depths)))
    assert whole.endswith("--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 16")
    lone = compile_launch(SGLANG, of(PAIR, spec="eagle3", sglang__speculative_eagle_topk=4))
    assert "topk" not in said(lone)
    (note,) = lone.notes
    assert note == teaching.setting_needs(
        "sglang.speculative_eagle_topk", "sglang.spec_num_steps and sglang.spec_num_draft_tokens"
    )


def test_branches_mean_nothing_to_ngram() -> None:
    """The engine would overwrite them."""
    result = compile_launch(SGLANG, of(sglang__spec_algorithm="ngram", sglang__speculative_eagle_topk=4))
    assert said(result) == "--speculative-algorithm NGRAM"
    assert result.notes == (teaching.setting_needs("sglang.speculative_eagle_topk", "spec = eagle3"),)


@pytest.mark.parametrize("key", ["single", "acc"])
def test_thresholds_are_said_with_speculation_only(key: str) -> None:
    """Spec arms only (setup document); 0 is a choice."""
    named = {f"sglang__speculative_accept_threshold_{key}": 0.0}
    assert said(compile_launch(SGLANG, of(sglang__spec_algorithm="ngram", **named))).endswith(f"-{key} 0.0")
    without = compile_launch(SGLANG, of(**named))
    assert said(without) == ""
    (note,) = without.notes
    assert "sglang.spec_algorithm" in note


def test_spec_off_parks_both() -> None:
    """It is what the governor says to run a model dense."""
    result = compile_launch(SGLANG, of(PAIR, spec="off", sglang__spec_algorithm="ngram"))
    assert said(result) == ""
    assert teaching.spec_reason("off") in {decision.reason for decision in result.decisions}


@pytest.mark.parametrize("family", ["dflash", "dspark", "mtp", "ngram"])
def test_families_that_are_not_offered_run_dense_with_a_note(family: str) -> None:
    """A key for all models is no mistake of the one that another kind serves."""
    result = compile_launch(SGLANG, of(spec=family))
    assert said(result) == ""
    assert result.notes == (teaching.setting_no_word(f"spec = {family}", "SGLang"),)


def test_an_embedding_model_guesses_nothing() -> None:
    """And nobody is told that a key for all models has no effect on it."""
    found = replace(of(spec="ngram", sglang__spec_algorithm="ngram"), task=Task.EMBED)
    assert algorithm(found) == ""
    assert compile_launch(SGLANG, found).notes == ()


def test_what_speculation_needs_is_counted() -> None:
    """Graphs, and cells of the tokens that are checked, for each request; nothing where nobody guesses."""
    assert needs(of(), 100, 4) == Needs()
    assert needs(of(sglang__spec_algorithm="ngram"), 100, 4).beside == GRAPHS + 100 * 4 * GUESSED
    own = of(sglang__spec_algorithm="ngram", sglang__spec_num_draft_tokens=5)
    assert needs(own, 100, 4) == Needs(GRAPHS + 100 * 4 * 5)


def test_a_draft_that_nobody_counted_is_known_as_such() -> None:
    """Its weights would lie inside the share of the memory."""
    assert not needs(of(PAIR, spec="eagle3"), 100, 4).counted
