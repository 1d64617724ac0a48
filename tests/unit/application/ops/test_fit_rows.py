"""Rows of a fit answer: one machine, one configuration, several shapes."""

from dataclasses import replace
from typing import Any

from blazar.application.config.model import Config
from blazar.application.ops.fit_rows import Judge, Unjudged, Weighed
from blazar.application.supervise.preparation import prepare
from blazar.domain import teaching
from blazar.domain.fit.machine import imagined
from blazar.domain.fit.shape import Projector
from tests.fakes.weights import MemoryWeightFiles, some_shape

GIB = 2**30


def judge(**settings: Any) -> Judge:
    prepared = prepare(Config().settings_for("") | settings, MemoryWeightFiles({}), ())
    return Judge("hf:me/m", imagined((8,), 32), prepared)


def weighed(quant: str, gib: float, **more: Any) -> Weighed:
    size = int(gib * GIB)
    facts = {"shape": some_shape(blocks=32, width=4096, weights=size), "projector": None, **more}
    return Weighed(quant, size, 1, **facts)


def test_a_row_is_a_plan_and_its_largest_window() -> None:
    """The default window, clamped to what the model was trained for; and how far it could be raised."""
    row = judge(default_ctx=1024).row(weighed("Q4_K_M", 4))
    assert (row.candidate.verdict.ctx, row.up_to) == (1024, 4096)
    assert (row.candidate.whole, row.candidate.roomy) == (True, True)
    assert judge().row(weighed("Q4_K_M", 4)).candidate.verdict.ctx == 4096


def test_a_window_that_somebody_chose_is_kept() -> None:
    """Also where it costs layers; then it is not whole, but roomy."""
    row = judge(ctx=4096, slots=4, kv_unified=False, cache_type_k="f16", cache_type_v="f16").row(weighed("Q8_0", 6))
    assert row.candidate.verdict.ctx == 4096
    assert (row.candidate.whole, row.candidate.roomy) == (False, True)


def test_a_row_goes_up_to_what_it_was_asked_for_at_least() -> None:
    """Also with layers in main memory, where an open window would stop at the default."""
    asked = judge(ctx=32768, slots=1, cache_type_k="f16", cache_type_v="f16")
    shape = some_shape(blocks=32, width=4096, weights=9 * GIB)
    row = asked.row(weighed("Q8_0", 9, shape=replace(shape, trained_ctx=131072)))
    assert row.candidate.verdict.fits
    assert not row.candidate.whole
    assert row.up_to >= row.candidate.verdict.ctx == 32768


def test_the_projector_is_part_of_the_plan() -> None:
    """F8: what would be loaded beside it may push layers off the card."""
    plain = judge(ctx=1024).row(weighed("Q4_K_M", 6))
    seeing = judge(ctx=1024).row(weighed("Q4_K_M", 6, projector=Projector("clip", GIB, GIB // 2)))
    assert (plain.candidate.whole, seeing.candidate.whole) == (True, False)
    assert teaching.fit_note("projector-with") in seeing.candidate.verdict.notes


def test_a_projector_that_nothing_attaches_is_not_counted_for_a_served_model() -> None:
    """As its spawn would leave it out; a note says what would attach it."""
    served = replace(judge(ctx=1024), attached=True)
    verdict = served.row(weighed("Q4_K_M", 6, projector=Projector("clip", GIB, 0))).candidate.verdict
    assert verdict.memory.projector_bytes == 0
    assert teaching.fit_note("projector-apart") in verdict.notes


def test_the_answer_marks_what_to_take() -> None:
    """Every row is JSON; one verdict in full, about the row that is shown."""
    asked = judge(ctx=1024)
    rows = [
        asked.row(weighed("Q2_K", 3, estimated=True)),
        asked.row(weighed("Q4_K_M", 5)),
        asked.row(weighed("Q8_0", 9)),
    ]
    answer = asked.answer("hf", "hf:me/m", rows, rows[0])
    assert (answer["take"], answer["quant"], answer["target"]) == ("Q4_K_M", "Q2_K", "hf:me/m")
    assert [row["take"] for row in answer["quants"]] == [False, True, False]
    assert [row["estimated"] for row in answer["quants"]] == [True, False, False]
    assert answer["verdict"]["exact_bytes"] == answer["quants"][0]["exact_bytes"]
    assert answer["machine"]["ram_total"] == 32 * GIB


def test_only_what_does_better_is_recommended() -> None:
    """Another quantisation of the same verdict, or one that needs more, is smaller for nothing; then that is said."""
    tight = judge(ctx=1024)
    found = tight.alone("file", "m", weighed("F16", 14))
    (arrow,) = [row for row in found["alternatives"] if row["take"]]
    assert (arrow["whole"], found["quants"][0]["whole"], found["notes"]) == (True, False, [])
    hopeless = replace(tight, machine=imagined((), 64)).alone("file", "m", weighed("F16", 200))
    assert hopeless["alternatives"]
    best = [row["quant"] for row in hopeless["alternatives"] if row["take"]]
    said = teaching.fit_none_better() in hopeless["notes"]
    assert said is not bool(best)
    small = replace(tight, machine=imagined((), 1)).alone("file", "m", weighed("F16", 200))
    assert [row for row in small["alternatives"] if row["take"]] == []
    assert small["notes"] == [teaching.fit_none_better()]


def test_a_refusal_of_settings_has_no_alternatives() -> None:
    """The engine would refuse them with every quantisation."""
    found = judge(ctx=1).alone("file", "m", weighed("F16", 4))
    assert (found["verdict"]["outcome"], found["alternatives"], found["notes"]) == ("refused", [], [])


def test_alternatives_are_for_as_many_requests_as_the_model_itself() -> None:
    """What is compared differs in the quantisation only."""
    found = judge(ctx=1024).alone("file", "m", weighed("F16", 14))
    assert {row["slots"] for row in (*found["quants"], *found["alternatives"])} == {1}


def test_a_negligible_encoder_is_not_talked_about() -> None:
    """Less than a hundredth of the model; it counts all the same."""
    for size, words in ((GIB // 100, 0), (GIB, 1)):
        verdict = (
            judge(ctx=1024).row(weighed("Q4_K_M", 5, projector=Projector("clip", size, 0, True))).candidate.verdict
        )
        assert any("projector" in note for note in verdict.notes) == bool(words)
        assert verdict.memory.projector_bytes == size


def test_a_row_that_is_not_judged_has_the_fields_of_one_that_is() -> None:
    """Readers of JSON need no second form."""
    row = judge(ctx=1024).row(weighed("Q4_K_M", 4)).json(None)
    other = Unjudged("Q5_K_M", 5, 1, "unreadable", "why").json()
    assert {name: type(value) for name, value in row.items()} == {name: type(value) for name, value in other.items()}
